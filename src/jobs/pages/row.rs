//! One job, or one array, as a row of the list.

use atelier_domain::compute::job::JobState;
use atelier_domain::text::{counted, grouped, shortened_to};
use atelier_domain::{Money, Timestamp, paths};
use atelier_studio::jobs::list::{ArrayView, JobView, JobsPage};
use atelier_studio::jobs::view::Compute;
use leptos::prelude::*;

use crate::components::{Card, Pager, PickCell, Query, StateTag, StateWord, TableWrap, ago};
use crate::frame::Visit;
use crate::jobs::pages::words::lasted;
use crate::viewer::Viewer;

/// The row of one line.
pub fn row(job: JobView, viewer: &Viewer, query: &Query) -> impl IntoView + use<> {
    let slug = &viewer.workspace.slug;
    let id = job.array.as_ref().map_or_else(|| job.id.to_string(), |array| format!("array-{}", array.first.0));
    let pick = view! { <PickCell id=id.clone() label=format!("Select {} ({id})", job.name)/> };
    let href = match &job.array {
        Some(array) => paths::job_array(slug, &array.first.to_string()),
        None => paths::job(slug, &job.id.to_string()),
    };
    let number = match (&job.array, job.index) {
        (Some(array), _) => format!("array of {} from {}", grouped(array.count), array.first),
        (None, Some(index)) => format!("{}, number {index} of its array", job.id),
        (None, None) => job.id.to_string(),
    };
    let tags: Vec<_> = job
        .tags
        .0
        .iter()
        .map(|(name, value)| {
            let tag = if value.is_empty() { name.clone() } else { format!("{name}={value}") };
            let href = query.clone().from_the_start().with("tag", &tag).url();
            view! { <a class="tag" href=href>{shortened_to(&tag, 40)}</a> }
        })
        .collect();
    let tags = (!tags.is_empty()).then(|| view! { <span class="row-tight tags">{tags}</span> });
    let state = match &job.array {
        Some(array) => states(array),
        None => {
            let held = job.is_held.then(|| view! { <span class="tag" data-state="warning">"Held"</span> });
            let reason = [job.reason.clone(), crate::jobs::pages::eta::brief(viewer, job.eta.as_ref())];
            let reason = reason.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
            html! { <StateTag state=StateWord::of_job(job.state) reason=reason/>{held} }
        }
    };
    let (compute, tier) = (compute(slug, &job.compute), crate::components::tier_tag(job.tier));
    let ran = if job.array.is_some() { String::new() } else { ran(job.ran, viewer.now) };
    let owner = if job.owner == viewer.id { "you".to_owned() } else { job.owner_name };
    let cost = job.cost.filter(|cost| *cost > Money::ZERO).map(|cost| cost.said(&job.currency));
    view! {
        <tr data-key=id>
            {pick}
            <th scope="row"><a class="name" href=href>{job.name}</a><span class="l2 mono">{number}</span>{tags}</th>
            <td class="wide-cell">{state}</td>
            <td class="c-size">{compute}{tier}</td>
            <td class="c-owner">{owner}</td>
            <td data-label="Submitted">{ago(viewer, job.submitted)}</td>
            <td class="right nowrap c-cpu">{ran}</td>
            <td class="right nowrap num c-cpu">{cost}</td>
        </tr>
    }
}

/// How long a job ran, or has been running.
fn ran(ran: Option<(Timestamp, Option<Timestamp>)>, now: Timestamp) -> String {
    ran.map(|(from, to)| lasted(from, to.unwrap_or(now))).unwrap_or_default()
}

/// How many jobs of an array are where.
fn states(array: &ArrayView) -> AnyView {
    let words: Vec<String> = array
        .states
        .iter()
        .map(|(state, count)| format!("{} {}", grouped(*count), StateWord::of_job(*state).word().to_lowercase()))
        .collect();
    let unmade = (array.unmade > 0).then(|| format!("{} not made yet", grouped(array.unmade)));
    let words: Vec<String> = words.into_iter().chain(unmade).collect();
    let word = if array.states.keys().any(|state| !state.is_over()) {
        let runs = array.states.keys().any(|state| !state.is_over() && *state != JobState::Queued);
        if runs { StateWord::Running } else { StateWord::Queued }
    } else if array.states.contains_key(&JobState::Failed) {
        StateWord::Failed
    } else if array.states.contains_key(&JobState::Canceled) {
        StateWord::Canceled
    } else {
        StateWord::Completed
    };
    html! { <StateTag state=word reason=words.join(", ")/> }
}

/// Where a job runs, with the way there.
pub fn compute(slug: &str, compute: &Compute) -> AnyView {
    match compute {
        Compute::Cluster(name) => {
            let (href, name) = (paths::cluster(slug, name), name.clone());
            html! { <a href=href>{name}</a> }
        }
        Compute::Instance(name) => {
            let (href, name) = (paths::instance(slug, name), name.clone());
            html! { <a href=href>{name}</a> }
        }
        Compute::Serverless(size) => {
            let (href, size) = (paths::compute(slug, "serverless"), size.clone());
            html! { <a href=href>"Serverless"</a><span class="l2">{size}</span> }
        }
        other => html! { <span class="faint">{other.label()}</span> },
    }
}

/// A few jobs in short lines, for Home.
pub fn brief(jobs: Vec<JobView>, viewer: &Viewer) -> AnyView {
    let slug = &viewer.workspace.slug;
    let rows: Vec<_> = jobs
        .into_iter()
        .map(|job| {
            let href = match &job.array {
                Some(array) => paths::job_array(slug, &array.first.to_string()),
                None => paths::job(slug, &job.id.to_string()),
            };
            let state = match &job.array {
                Some(array) => states(array),
                None => html! { <StateTag state=StateWord::of_job(job.state)/> },
            };
            view! {
                <tr data-key=job.id.to_string()>
                    <th scope="row">
                        <a class="name" href=href>{job.name}</a>
                        <span class="l2">{job.owner_name}</span>
                    </th>
                    <td>{state}</td>
                    <td class="right">{ago(viewer, job.submitted)}</td>
                </tr>
            }
        })
        .collect();
    html! {
        <table class="table tight">
            <caption class="sr">"The newest jobs"</caption>
            <thead class="sr">
                <tr><th scope="col">"Job"</th><th scope="col">"State"</th><th scope="col">"Submitted"</th></tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
}

/// The jobs of one compute, with the ways to more of them.
pub fn of_compute(visit: &Visit, page: JobsPage, back: Option<String>, next: Option<String>) -> AnyView {
    if page.lines.is_empty() {
        return html! {
            <div data-live="jobs"><Card heading="Jobs"><p class="muted">"No job has run here."</p></Card></div>
        };
    }
    let text = counted(page.lines.len() as u64, "line", "lines");
    let rows = brief(page.lines, &visit.viewer);
    html! {
        <div data-live="jobs" data-announce="job|jobs">
            <Card heading="Jobs" note="what ran here" flush=true>
                <TableWrap>{rows}<Pager text=text back=back next=next/></TableWrap>
            </Card>
        </div>
    }
}
