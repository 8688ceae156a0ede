//! Nodes: of a cluster, or all.

use atelier_domain::access::Action;
use atelier_domain::compute::NodeId;
use atelier_domain::compute::node::Holder;
use atelier_studio::caller::Caller;
use atelier_studio::clusters::commands as cluster;
use atelier_studio::orders::ask;
use axum::extract::Path;
use serde::Serialize;

use crate::clusters::rest::view;
use crate::server::rest::asked::{Asked, NoParameters};
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{When, listed, object, ok};

/// `GET /nodes`.
pub async fn list(asked: Asked, _: NoParameters) -> Answered {
    all(&asked.caller, None).await
}

/// `GET /clusters/{name}/nodes`.
pub async fn of_cluster(asked: Asked, Path(name): Path<String>, _: NoParameters) -> Answered {
    let id = cluster::find(&asked.caller, &name).await?;
    all(&asked.caller, Some(Holder::Cluster(id))).await
}

async fn all(caller: &Caller, holder: Option<Holder>) -> Answered {
    caller.authorise(Action::ClusterRead).await?;
    let (workspace, rights) = (caller.actor()?.workspace.id.clone(), caller.actor()?.person.rights());
    let found = ask(caller, move |world| {
        let is_wanted = |it: Holder| holder.is_none_or(|holder| it == holder);
        let nodes = world.nodes().filter(|node| node.workspace == workspace && is_wanted(node.holder));
        nodes.map(|node| (node.id, view::node(world, node, &rights))).collect::<Vec<_>>()
    });
    listed("nodes", found.await?.into_iter().map(|(id, node)| with_agent(caller, id, node)))
}

/// `GET /nodes/{id}`.
pub async fn show(asked: Asked, Path(id): Path<String>, _: NoParameters) -> Answered {
    let caller = &asked.caller;
    caller.authorise(Action::ClusterRead).await?;
    let (workspace, rights) = (caller.actor()?.workspace.id.clone(), caller.actor()?.person.rights());
    let id = NodeId::parse(&id).ok_or_else(|| Refusal::not_found("node"))?;
    let found = ask(caller, move |world| {
        let node = world.node(id).filter(|node| node.workspace == workspace)?;
        Some(view::node(world, node, &rights))
    });
    let node = found.await?.ok_or_else(|| Refusal::not_found("node"))?;
    ok(&with_agent(caller, id, node))
}

/// The same with what is known of its agent right now.
fn with_agent(caller: &Caller, id: NodeId, node: impl Serialize) -> impl Serialize {
    let agent = caller.studio.fleet().board().agent(id).map(|agent| {
        object! {
            is_connected: agent.is_connected,
            heard: When(agent.heard),
            version: agent.facts.version,
            host: agent.facts.host,
        }
    });
    object! {
        #[serde(flatten)]
        node: node,
        agent: agent,
    }
}
