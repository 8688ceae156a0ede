//! The attempts of a job, and where they ran.

use atelier_domain::paths;
use atelier_studio::jobs::detail::JobDetail;
use leptos::prelude::*;

use crate::components::{Card, Query, Table, ago, heads};
use crate::frame::Visit;
use crate::jobs::pages::words::lasted;

/// How many nodes of an attempt are named.
const MOST_NODES: usize = 8;

/// The table; nothing before the first attempt.
pub fn card(visit: &Visit, detail: &JobDetail) -> AnyView {
    if detail.attempts.is_empty() {
        return ().into_any();
    }
    let now = visit.viewer.now;
    let base = Query::of(paths::job(visit.slug(), &detail.row.job.id.to_string()));
    let rows: Vec<_> = detail
        .attempts
        .iter()
        .map(|attempt| {
            let number = attempt.number.to_string();
            let mut nodes: Vec<AnyView> = attempt
                .nodes
                .iter()
                .take(MOST_NODES)
                .map(|node| {
                    let href = base.clone().with("attempt", &number).with("node", &node.0.to_string()).url();
                    html! { <a href=href>{node.to_string()}</a>" " }
                })
                .collect();
            if attempt.nodes.len() > MOST_NODES {
                nodes.push(html! { {format!("and {} more", attempt.nodes.len() - MOST_NODES)} });
            }
            let started = match attempt.started {
                Some(at) => ago(&visit.viewer, at),
                None => html! { <span class="faint">"not yet"</span> },
            };
            let ran = attempt.started.map(|from| lasted(from, attempt.ended.unwrap_or(now))).unwrap_or_default();
            // What has not run has nothing to say here on a phone.
            let label = (!ran.is_empty()).then_some("Ran");
            let how = match &attempt.verdict {
                Some(verdict) => verdict.phrase(),
                None => "is under way".to_owned(),
            };
            view! {
                <tr data-key=number.clone()>
                    <th scope="row">{format!("Attempt {number}")}</th>
                    <td>{nodes}</td>
                    <td data-label="Started">{started}</td>
                    <td class="right nowrap" data-label=label>{ran}</td>
                    <td>{how}</td>
                </tr>
            }
        })
        .collect();
    html! {
        <Card heading="Attempts" flush=true>
            <Table
                class="table tight" caption="Attempts, the newest first" rows=rows
                head=heads(&[
                    ("Attempt", ""), ("Nodes and their logs", ""), ("Started", ""), ("Ran", "right"),
                    ("How it ended", ""),
                ])
            />
        </Card>
    }
}
