//! The table of a cluster's nodes, with what their agents say.

use atelier_domain::paths;
use atelier_studio::clusters::detail::{ClusterDetail, NODES_SHOWN};
use atelier_studio::clusters::nodes::{AgentFacts, NodeRow};
use leptos::prelude::*;

use crate::components::{Card, Icon, Pager, Query, StateTag, StateWord, Table, ago, heads};
use crate::frame::Visit;

/// The card with the table.
pub fn card(visit: &Visit, query: &Query, detail: &ClusterDetail) -> AnyView {
    let all = usize::try_from(detail.row.counts.nodes()).unwrap_or(usize::MAX);
    if detail.nodes.is_empty() {
        return html! {
            <Card heading="Each node"><p class="muted">"It has no nodes now. They come when jobs wait."</p></Card>
        };
    }
    let rows: Vec<_> = detail.nodes.iter().map(|node| line(visit, node)).collect();
    let turn = |from: usize| query.turned("nodes", from);
    let from = detail.nodes_from;
    let text = format!("{}–{} of {all}", from + 1, from + detail.nodes.len());
    let back = (from > 0).then(|| turn(from.saturating_sub(NODES_SHOWN)));
    let next = (from + NODES_SHOWN < all).then(|| turn(from + NODES_SHOWN));
    html! {
        <Card heading="Each node" flush=true>
            <Table
                class="table tight" caption="Nodes with their state, their jobs and their agents" rows=rows
                head=heads(&[("Node", ""), ("State", ""), ("Jobs", ""), ("In use", "c-cpu"), ("Agent", "")])
            >
                <Pager text=text back=back next=next/>
            </Table>
        </Card>
    }
}

fn line(visit: &Visit, node: &NodeRow) -> AnyView {
    let slug = visit.slug();
    let (id, key, anchor) = (node.id.to_string(), node.id.to_string(), node.id.to_string());
    let jobs: Vec<_> = node
        .jobs
        .iter()
        .take(5)
        .map(|job| {
            // Jobs of an array have one name; the number tells them apart.
            let id = job.id.to_string();
            let href = paths::job(slug, &id);
            view! {
                <span class="nowrap"><a href=href>{job.name.clone()}</a>" "<span class="faint xs">{id}</span></span>
            }
        })
        .collect();
    let more = node.jobs.len().saturating_sub(5);
    let more = (more > 0).then(|| view! { <span class="faint">{format!("and {more} more")}</span> });
    let jobs = if jobs.is_empty() {
        html! { <span class="faint">"none"</span> }
    } else {
        html! { <span class="row-tight">{jobs}{more}</span> }
    };
    let used = match &node.agent {
        Some(agent) if !agent.cores.is_empty() => {
            html! { {agent.cores.clone()}<span class="l2">{agent.memory.clone()}</span> }
        }
        _ => html! { <span class="faint">"–"</span> },
    };
    let facts = agent(node.agent.as_ref());
    html! {
        <tr data-key=key id=anchor>
            <th scope="row">
                <span class="name">{id}</span>
                <span class="l2 nowrap">"since "{ago(&visit.viewer, node.created)}</span>
            </th>
            <td><StateTag state=StateWord::of_node(node.state) reason=node.why()/></td>
            <td>{jobs}</td>
            <td class="c-cpu nowrap">{used}</td>
            <td>{facts}</td>
        </tr>
    }
}

/// What an agent says of itself, in a few lines.
pub fn agent(agent: Option<&AgentFacts>) -> AnyView {
    let Some(agent) = agent else {
        return html! { <span class="faint">"has not called yet"</span> };
    };
    let word = if agent.is_connected { "Connected" } else { "Not connected" };
    // Seconds would change with every look; what matters is whether it is fresh.
    let heard = match agent.silent.as_millis() {
        0..15_000 => "heard of just now".to_owned(),
        _ => format!("last heard of {} ago", agent.silent),
    };
    let warnings: Vec<_> = agent
        .warnings
        .iter()
        .map(|warning| {
            view! { <span class="l2"><Icon name="warn" class="i-s" label="Warning"/>" "{warning.clone()}</span> }
        })
        .collect();
    html! {
        {word}", "{heard}
        <span class="l2">{format!("version {} on {}, process {}", agent.version, agent.host, agent.pid)}</span>
        <span class="l2">{agent.limits}</span>
        {warnings}
    }
}
