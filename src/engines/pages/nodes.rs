//! The nodes of the installation with their agents.

use atelier_domain::compute::JobId;
use atelier_domain::paths;
use atelier_studio::engines::{EngineDetail, EngineNode};
use leptos::prelude::*;

use crate::clusters::pages::nodes::agent;
use crate::components::{Card, StateTag, StateWord, Table, heads};
use crate::frame::Visit;

/// The card with the table.
pub fn card(visit: &Visit, detail: &EngineDetail) -> AnyView {
    if detail.nodes.is_empty() {
        return html! { <Card heading="Agents"><p class="muted">"There are no nodes now."</p></Card> };
    }
    let rows: Vec<_> = detail.nodes.iter().map(|node| line(visit, node)).collect();
    let rest = detail.all_nodes - detail.nodes.len();
    let rest =
        (rest > 0).then(|| view! { <div class="table-foot"><span>{format!("and {rest} more nodes")}</span></div> });
    html! {
        <Card heading="Agents" note="one on each node" flush=true>
            <Table
                class="table tight" caption="Nodes and their agents" rows=rows
                head=heads(&[("Node", ""), ("State", ""), ("Agent", "")])
            >
                {rest}
            </Table>
        </Card>
    }
}

fn line(visit: &Visit, node: &EngineNode) -> AnyView {
    let (id, key) = (node.row.id.to_string(), node.row.id.to_string());
    let holder = match (&node.cluster, node.holder.as_str()) {
        (Some(cluster), _) => html! { <a href=paths::cluster(visit.slug(), cluster)>{cluster.clone()}</a> },
        (None, "") => html! { "another workspace" },
        (None, holder) if JobId::parse(holder).is_some() => {
            html! { <a href=paths::job(visit.slug(), holder)>{holder.to_owned()}</a> }
        }
        (None, holder) => holder.to_owned().into_any(),
    };
    let site = node.row.site.clone();
    let facts = agent(node.row.agent.as_ref());
    html! {
        <tr data-key=key>
            <th scope="row"><span class="name">{id}</span><span class="l2">{site}" for "{holder}</span></th>
            <td><StateTag state=StateWord::of_node(node.row.state) reason=node.row.why()/></td>
            <td>{facts}</td>
        </tr>
    }
}
