//! What the engine decided about a cluster and its nodes, and why.

use atelier_domain::world::About;
use atelier_engine::store::DecisionEntry;
use atelier_studio::clock;
use atelier_studio::clusters::detail::ClusterDetail;
use leptos::prelude::*;

use crate::components::{Card, Icon, Pager, Query};
use crate::frame::Visit;

/// The card with the log.
pub fn card(visit: &Visit, query: &Query, detail: &ClusterDetail) -> AnyView {
    if detail.decisions.is_empty() {
        return html! {
            <Card heading="Scaling decisions"><p class="muted">"Nothing was decided yet."</p></Card>
        };
    }
    let lines: Vec<_> = detail.decisions.iter().map(|line| item(visit, line)).collect();
    let newest = (!query.get("before").is_empty()).then(|| query.clone().with("before", "").url());
    let older = detail.older.as_ref().map(|cursor| query.clone().with("before", cursor).url());
    let pager = (newest.is_some() || older.is_some()).then(|| {
        let text = if newest.is_some() { "older decisions" } else { "newest first" };
        view! { <Pager text=text back=newest next=older/> }
    });
    html! {
        <Card heading="Scaling decisions" flush=true>
            <div class="body"><ol class="events">{lines}</ol></div>
            {pager}
        </Card>
    }
}

fn item(visit: &Visit, line: &DecisionEntry) -> AnyView {
    let zone = &visit.viewer.time_zone;
    let icon = match line.code.as_str() {
        "scale-up" | "own-nodes" | "scale-to-min" => "scaleup",
        "scale-down-idle" | "needed-elsewhere" | "over-max" | "cluster-deleted" => "scaledown",
        "node-lost" | "node-preempted" | "node-gone" | "launch-failed" | "launch-timed-out" | "would-not-end" => "warn",
        _ => "hold",
    };
    let about = match line.about {
        About::Node(node) => Some(view! { <b>{node.to_string()}</b>": " }),
        _ => None,
    };
    html! {
        <li data-key=format!("{}.{}", line.revision, line.ordinal)>
            <time datetime=clock::rfc3339(line.at) title=clock::exact(line.at, zone)>
                {clock::time_of_day(line.at, zone)}
            </time>
            <Icon name=icon/>
            <span>{about}{line.sentence.clone()}</span>
        </li>
    }
}
