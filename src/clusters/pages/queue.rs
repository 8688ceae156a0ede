//! The queue of a cluster: who waits, at which place, and why.

use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_studio::clusters::detail::{ClusterDetail, QueueRow};
use atelier_studio::fair_shares::said_order;
use leptos::prelude::*;

use crate::components::{Card, StateTag, StateWord, Table, ago, heads};
use crate::frame::Visit;
use crate::jobs::pages::turn::menu as turn_menu;

/// The card with the queue.
pub fn card(visit: &Visit, detail: &ClusterDetail) -> AnyView {
    let (waiting, running) = (detail.row.counts.queued, detail.row.running);
    let policy = detail.row.cluster.queue;
    let passing = if policy.backfill { ", small ones may pass" } else { "" };
    let note = format!(
        "{}, {running} on nodes; served {}{passing}",
        counted(waiting, "job waits", "jobs wait"),
        said_order(policy.order)
    );
    if detail.queue.is_empty() {
        return html! { <Card heading="Queue" note=note><p class="muted">"Nothing waits."</p></Card> };
    }
    let rest = waiting.saturating_sub(detail.queue.len() as u64);
    let rest = (rest > 0).then(|| {
        view! {
            <div class="table-foot"><span>{format!("and {} behind them", counted(rest, "more", "more"))}</span></div>
        }
    });
    let rows: Vec<_> = detail.queue.iter().map(|row| line(visit, row)).collect();
    html! {
        <Card heading="Queue" note=note flush=true>
            <Table
                class="table tight queue" caption="Waiting jobs with their place and the reason" rows=rows
                head=heads(&[
                    ("Place", ""), ("Job", ""), ("Why it waits", ""), ("Starts about", ""), ("Since", "right c-cpu"),
                    ("Actions", "sr"),
                ])
            >
                {rest}
            </Table>
        </Card>
    }
}

fn line(visit: &Visit, row: &QueueRow) -> AnyView {
    let href = paths::job(visit.slug(), &row.job.to_string());
    let place = match (row.place, row.is_held) {
        (Some(place), _) => place.to_string(),
        (None, true) => "held".to_owned(),
        (None, false) => "waits".to_owned(),
    };
    let id = row.job.to_string();
    let facts =
        [id.as_str(), row.owner.as_str(), row.needs.as_str(), if row.priority == "medium" { "" } else { row.priority }];
    let facts = facts.into_iter().filter(|fact| !fact.is_empty()).collect::<Vec<_>>().join(", ");
    let share = (!row.share.is_empty()).then(|| view! { <span class="l2">{format!("owner: {}", row.share)}</span> });
    let menu = turn_menu(visit, &id, &row.name, &row.verbs, row.is_held);
    let starts = crate::jobs::pages::eta::cell(&visit.viewer, row.eta.as_ref());
    html! {
        <tr data-key=row.job.to_string()>
            <td class="num faint">{place}</td>
            <th scope="row"><a class="name" href=href>{row.name.clone()}</a><span class="l2">{facts}</span>{share}</th>
            <td class="wide-cell"><StateTag state=StateWord::Queued reason=row.why.clone()/></td>
            <td data-label="Starts about">{starts}</td>
            <td class="right nowrap c-cpu">{ago(&visit.viewer, row.submitted)}</td>
            <td class="menu-cell">{menu}</td>
        </tr>
    }
}
