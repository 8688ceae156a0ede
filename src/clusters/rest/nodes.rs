//! Nodes: of a cluster, or all.

use atelier_domain::access::Action;
use atelier_domain::compute::NodeId;
use atelier_domain::compute::node::Holder;
use atelier_studio::caller::Caller;
use atelier_studio::clusters::commands as cluster;
use atelier_studio::orders::ask;
use axum::extract::Path;
use axum::http::StatusCode;
use serde::Serialize;

use crate::clusters::rest::view::{AgentSummary, NodeView};
use crate::server::rest::asked::{Asked, Parameters};
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{When, json};

#[derive(Debug, Serialize)]
struct NodesView {
    nodes: Vec<NodeView>,
}

/// `GET /nodes`.
pub async fn list(asked: Asked, parameters: Parameters) -> Answered {
    parameters.none_left(&[])?;
    all(&asked.caller, None).await
}

/// `GET /clusters/{name}/nodes`.
pub async fn of_cluster(asked: Asked, Path(name): Path<String>, parameters: Parameters) -> Answered {
    parameters.none_left(&[])?;
    let id = cluster::find(&asked.caller, &name).await?;
    all(&asked.caller, Some(Holder::Cluster(id))).await
}

async fn all(caller: &Caller, holder: Option<Holder>) -> Answered {
    caller.authorise(Action::ClusterRead).await?;
    let (workspace, rights) = (caller.actor()?.workspace.id.clone(), caller.actor()?.person.rights());
    let found = ask(caller, move |world| {
        let is_wanted = |it: Holder| holder.is_none_or(|holder| it == holder);
        let nodes = world.nodes().filter(|node| node.workspace == workspace && is_wanted(node.holder));
        nodes.map(|node| (node.id, NodeView::of(world, node, &rights))).collect::<Vec<_>>()
    });
    let nodes = found.await?.into_iter().map(|(id, node)| with_agent(caller, id, node)).collect();
    Ok(json(StatusCode::OK, &NodesView { nodes }))
}

/// `GET /nodes/{id}`.
pub async fn show(asked: Asked, Path(id): Path<String>, parameters: Parameters) -> Answered {
    parameters.none_left(&[])?;
    let caller = &asked.caller;
    caller.authorise(Action::ClusterRead).await?;
    let (workspace, rights) = (caller.actor()?.workspace.id.clone(), caller.actor()?.person.rights());
    let id = NodeId::parse(&id).ok_or_else(|| Refusal::not_found("node"))?;
    let found = ask(caller, move |world| {
        let node = world.node(id).filter(|node| node.workspace == workspace)?;
        Some(NodeView::of(world, node, &rights))
    });
    let node = found.await?.ok_or_else(|| Refusal::not_found("node"))?;
    Ok(json(StatusCode::OK, &with_agent(caller, id, node)))
}

fn with_agent(caller: &Caller, id: NodeId, mut node: NodeView) -> NodeView {
    node.agent = caller.studio.fleet().board().agent(id).map(|agent| AgentSummary {
        is_connected: agent.is_connected,
        heard: When(agent.heard),
        version: agent.facts.version,
        host: agent.facts.host,
    });
    node
}
