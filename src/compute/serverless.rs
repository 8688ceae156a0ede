//! The tab of serverless jobs: what runs now and what waits.

use atelier_domain::access::{Action, Whose};
use atelier_domain::paths;
use atelier_studio::counts::{ComputeCounts, compute_counts};
use atelier_studio::jobs::serverless::{ServerlessJob, ServerlessPage, serverless};
use leptos::prelude::*;

use crate::components::{EmptyState, LinkButton, Look, StateTag, StateWord, Table, ago, heads, shown_of};
use crate::frame::compute::framed;
use crate::frame::{Visit, help, load};
use crate::server::caller::here;

pub fn tab(visit: Visit) -> AnyView {
    // The tabs are for everybody who sees instances; this one needs another right.
    if let Err(denied) = visit.viewer.rights.check(Action::JobRead, Whose::Others) {
        return help::forbidden(&visit.viewer, &denied);
    }
    let read = async move {
        let caller = here()?;
        let page = serverless(&caller).await?;
        Ok((page, compute_counts(&caller).await?))
    };
    load(visit.viewer.clone(), read, move |(page, counts)| show(&visit, page, counts))
}

fn show(visit: &Visit, page: ServerlessPage, counts: ComputeCounts) -> AnyView {
    let refusal = visit.viewer.refused(Action::JobSubmit, Whose::Own);
    let href = paths::new_job(visit.slug());
    if page.jobs.is_empty() {
        let said = refusal.clone().map(|reason| view! { <p class="faint xs">{reason}</p> });
        let inside = view! {
            <div data-live="serverless">
                <EmptyState
                    heading="No serverless job runs or waits"
                    text="Give a command and a size, and get a log and files back. The machine exists only for as long \
                          as the job."
                >
                    <LinkButton href=href look=Look::Primary large=true icon="plus" disabled_because=refusal>
                        "Submit job"
                    </LinkButton>
                    {said}
                </EmptyState>
            </div>
        };
        return framed(visit, "serverless", counts, None, inside.into_any());
    }
    let submit = view! {
        <LinkButton href=href look=Look::Primary icon="plus" disabled_because=refusal>"Submit job"</LinkButton>
    };
    let text = shown_of(page.jobs.len() as u64, page.all, ("job", "jobs"));
    let rows: Vec<_> = page.jobs.into_iter().map(|job| line(visit, job, &page.currency)).collect();
    let inside = view! {
        <div data-live="serverless" data-announce="job|jobs">
            <Table
                class="table" caption="Serverless jobs that run or wait" rows=rows
                head=heads(&[
                    ("Job", ""), ("State", ""), ("Size", "c-size"), ("Nodes", "right"), ("Since", "right c-cpu"),
                    ("Cost so far", "right c-cpu"),
                ])
            >
                <div class="table-foot"><span>{text}</span></div>
            </Table>
        </div>
    };
    framed(visit, "serverless", counts, Some(submit.into_any()), inside.into_any())
}

fn line(visit: &Visit, job: ServerlessJob, currency: &str) -> AnyView {
    let href = paths::job(visit.slug(), &job.id.to_string());
    let since = job.started.unwrap_or(job.submitted);
    let facts = format!("{}, {}", job.id, job.owner);
    let cost = job.cost.map_or_else(|| "–".to_owned(), |cost| cost.said(currency));
    html! {
        <tr data-key=job.id.to_string()>
            <th scope="row"><a class="name nowrap" href=href>{job.name}</a><span class="l2">{facts}</span></th>
            <td><StateTag state=StateWord::of_job(job.state) reason=job.why/></td>
            <td class="c-size nowrap">{job.size}" "{crate::components::tier_tag(job.tier)}</td>
            <td class="right" data-label="Nodes">{job.nodes}</td>
            <td class="right nowrap c-cpu">{ago(&visit.viewer, since)}</td>
            <td class="right nowrap c-cpu">{cost}</td>
        </tr>
    }
}
