//! The page of one job.

use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::NodeId;
use atelier_domain::compute::job::JobState;
use atelier_domain::compute::verb::JobVerb;
use atelier_domain::history::Topic;
use atelier_domain::{Money, paths};
use atelier_studio::jobs::detail::{JobDetail, Look, job};
use atelier_studio::secret::random_token;
use leptos::prelude::*;

use crate::components::{
    Crumb, Icon, LinkButton, Look as Loudness, NavItem, Page, PostForm, Query, StateTag, StateWord, SubmitButton, Tone,
    Why,
};
use crate::frame::{Place, Visit, load, param, studio};
use crate::jobs::pages::{attempts, chart, confirm, eta, log, outputs, side, timeline, turn};
use crate::server::caller::here;

/// One job: state and why, its log, its life, its files, what it used and cost.
#[component]
pub fn JobPage() -> impl IntoView {
    studio(Place::own(NavItem::Jobs, Action::JobRead, &[Topic::Jobs, Topic::Environments]), |visit| {
        let id = param("id");
        let query = Query::here();
        let look = look(&query);
        let read = async move { job(&here()?, &id, &look).await };
        load(visit.viewer.clone(), read, move |detail| show(&visit, &query, detail))
    })
}

/// What the address asks for; what it says wrongly is left out.
fn look(query: &Query) -> Look {
    let number = |key: &str| query.get(key).parse::<u64>().ok();
    Look {
        attempt: number("attempt").and_then(|number| u32::try_from(number).ok()),
        node: number("node").map(NodeId),
        from: number("from"),
        until: number("until"),
        find: query.get("find").chars().take(200).collect(),
    }
}

fn show(visit: &Visit, query: &Query, detail: JobDetail) -> AnyView {
    let slug = visit.slug();
    let row = &detail.row;
    let refused = visit.refused(&["cancel_jobs", "run_job_again", "hold_jobs", "release_jobs", "evict_jobs"]);
    let tier = crate::components::tier_tag(detail.standing.tier);
    let held = row.job.held.is_some().then(|| view! { <span class="tag" data-state="warning">"Held"</span> });
    let beside = view! {
        <span class="row-tight" data-live="state">
            <StateTag state=StateWord::of_job(row.state) pill=true/>
            {held}
            {tier}
        </span>
    };
    let actions = view! { <div class="row" data-live="verbs">{actions(visit, &detail)}</div> };
    let mut crumbs = vec![Crumb::new("Jobs", paths::jobs(slug))];
    if let Some(place) = row.job.array {
        let first = place.first.to_string();
        crumbs.push(Crumb::new(format!("Array from {first}"), paths::job_array(slug, &first)));
    }
    let meta = meta(visit, &detail);
    let why = why(visit, &detail);
    let log = log::panel(visit, query, &detail);
    let timeline = timeline::card(visit, &detail);
    let attempts = attempts::card(visit, &detail);
    let outputs = outputs::cards(visit, &detail);
    let (chart, facts) = (chart::card(visit, &detail), side::cards(visit, &detail));
    let (place, dependencies) = (turn::card(visit, &detail), turn::dependencies(visit, &detail));
    html! {
        <Page
            heading=row.name.clone() title=format!("{} {}", row.job.id, row.name) crumbs=crumbs
            beside=beside.into_any() actions=actions.into_any()
        >
            {refused}
            <div class="job-why" data-live="why">{meta}{why}</div>
            <div class="split">
                <div class="stack">
                    {log}
                    <div data-live="timeline">{timeline}</div>
                    <div data-live="attempts">{attempts}</div>
                    <div data-live="outputs" class="stack">{outputs}</div>
                </div>
                <aside class="stack">
                    <div data-live="turn" class="stack">{place}{dependencies}</div>
                    <div data-live="metrics">{chart}</div>
                    <div data-live="facts" class="stack">{facts}</div>
                </aside>
            </div>
        </Page>
    }
}

/// The line under the name: where, whose, how long, how much.
fn meta(visit: &Visit, detail: &JobDetail) -> AnyView {
    let row = &detail.row;
    let place = crate::jobs::pages::row::compute(visit.slug(), &detail.standing.compute);
    let ran = row.job.when.started.map(|started| {
        let to = row.job.when.ending.or(row.ended).unwrap_or(visit.viewer.now);
        let word = if row.ended.is_some() { "ran" } else { "runs for" };
        view! {
            <span><Icon name="clock"/>{format!("{word} {}", crate::jobs::pages::words::lasted(started, to))}</span>
        }
    });
    let cost = detail.cost.filter(|cost| *cost > Money::ZERO);
    let cost = cost.map(|cost| view! { <span><Icon name="cost"/>{cost.said(&detail.currency)}</span> });
    let (id, owner) = (row.job.id.to_string(), detail.owner_name.clone());
    html! {
        <p class="meta">
            <span class="mono">{id}</span>
            <span><Icon name="cluster"/>{place}</span>
            <span><Icon name="user"/>{owner}</span>
            {ran}
            {cost}
        </p>
    }
}

/// Why it is in its state, and what can be done about it.
fn why(visit: &Visit, detail: &JobDetail) -> AnyView {
    let Some(why) = &detail.why else { return ().into_any() };
    let tone = match detail.row.state {
        state if !state.is_over() => return eta::waiting(&visit.viewer, detail, why),
        JobState::Canceled => Tone::Neutral,
        _ => Tone::Failed,
    };
    html! { <Why tone=tone title=why.sentence.clone() text=why.next_step.clone().unwrap_or_default()/> }
}

/// Hold or release, evict, run again, copy, cancel: what the state allows.
fn actions(visit: &Visit, detail: &JobDetail) -> AnyView {
    let (viewer, slug) = (&visit.viewer, visit.slug());
    let row = &detail.row;
    let id = row.job.id.to_string();
    let submit = viewer.refused(Action::JobSubmit, Whose::Own);
    let copying = submit.clone();
    let again = if row.job.array.is_some() { "Run array again" } else { "Run again" };
    let hidden = vec![("command_id", random_token()), ("job", id.clone())];
    let copy = format!("{}?clone={id}", paths::new_job(slug));
    let refusal = |verb: JobVerb| detail.verbs.denied(verb).map(|denied| viewer.why_not(denied));
    let is_offered = |verb: JobVerb| verb.why_not(row.state, row.job.held.is_some()).is_none();
    let asks = |verb: JobVerb, look: Loudness, label: &'static str| {
        is_offered(verb).then(|| {
            let (href, icon) = (format!("{}?id={id}", confirm::asks_at(slug, verb)), confirm::icon(verb));
            view! {
                <LinkButton href=href look=look icon=icon disabled_because=refusal(verb) dialog=true>
                    {label}
                </LinkButton>
            }
        })
    };
    let hold = asks(JobVerb::Hold, Loudness::Plain, JobVerb::Hold.verb().label());
    let release = is_offered(JobVerb::Release).then(|| {
        let hidden = vec![("command_id", random_token()), ("ids[]", id.clone())];
        let (icon, label) = (confirm::icon(JobVerb::Release), JobVerb::Release.verb().label());
        let because = refusal(JobVerb::Release);
        view! {
            <PostForm function="release_jobs" hidden=hidden class="inline-form">
                <SubmitButton look=Loudness::Plain icon=icon disabled_because=because>{label}</SubmitButton>
            </PostForm>
        }
    });
    let (evict, ends) = (
        asks(JobVerb::Evict, Loudness::Plain, "Evict now"),
        asks(JobVerb::Cancel, Loudness::DangerQuiet, "Cancel job"),
    );
    html! {
        {hold}
        {release}
        {evict}
        <PostForm function="run_job_again" hidden=hidden class="inline-form">
            <SubmitButton look=Loudness::Plain icon="restart" pending="Submitting…" disabled_because=submit>
                {again}
            </SubmitButton>
        </PostForm>
        <LinkButton href=copy icon="copy" disabled_because=copying>"Copy and change"</LinkButton>
        {ends}
    }
}
