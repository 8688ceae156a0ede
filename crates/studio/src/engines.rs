//! The engine behind computes: where nodes are made, which agents there are, how the loop does, what nobody
//! knows; and the pause switch.

use atelier_domain::access::Action;
use atelier_domain::compute::node::Holder;
use atelier_domain::compute::size::SiteName;
use atelier_domain::compute::{NodeId, Resources};
use atelier_domain::error::AppError;
use atelier_domain::world::{Answer, Order, UnknownNode, World};
use atelier_engine::drivers::Capabilities;
use atelier_engine::run::{CommandId, Status};

use crate::caller::Caller;
use crate::clusters::nodes::{AgentFacts, NodeRow, row as node_row};
use crate::orders::{ask, order};

const NODES_SHOWN: usize = 200;

/// All that the page of engines shows.
#[derive(Clone, Debug)]
pub struct EngineDetail {
    pub status: Status,
    /// Who paused all acting, and why.
    pub pause: Option<(String, String)>,
    pub sites: Vec<SiteRow>,
    /// The nodes of the installation, at most 200, with their agents.
    pub nodes: Vec<EngineNode>,
    pub all_nodes: usize,
    pub unknown: Vec<UnknownNode>,
}

/// A place where nodes are made.
#[derive(Clone, Debug)]
pub struct SiteRow {
    pub name: String,
    /// What all its nodes together may have.
    pub capacity: Resources,
    pub used: Resources,
    pub free: Resources,
    pub nodes: u64,
    /// What its driver can do; none if there is no driver for it any more.
    pub driver: Option<Capabilities>,
}

/// A node and what it was made for.
#[derive(Clone, Debug)]
pub struct EngineNode {
    pub row: NodeRow,
    /// For what: the name of a compute, or a job's number. Empty for things of another workspace.
    pub holder: String,
    /// The name of its cluster, if it is one's of this workspace.
    pub cluster: Option<String>,
}

/// The engine, its sites and its agents. Needs `engine.read`.
pub async fn engines(caller: &Caller) -> Result<EngineDetail, AppError> {
    let workspace = caller.authorise(Action::EngineRead).await?.workspace.id.clone();
    let status = caller.studio.engine().status();
    let rights = caller.actor()?.person.rights();
    let mut detail = ask(caller, move |world| {
        let holder = |node: NodeId| holder(world, node, workspace.as_str());
        EngineDetail {
            pause: world.state().pause.as_ref().map(|pause| (pause.by.to_string(), pause.why.clone())),
            sites: sites(world),
            nodes: world
                .nodes()
                .take(NODES_SHOWN)
                .map(|node| {
                    let (holder, cluster) = holder(node.id);
                    EngineNode { row: node_row(world, node, &rights), holder, cluster }
                })
                .collect(),
            all_nodes: world.nodes().count(),
            unknown: world.unknown().cloned().collect(),
            status,
        }
    })
    .await?;
    let board = caller.studio.fleet().board();
    for node in &mut detail.nodes {
        node.row.agent = board.agent(node.row.id).filter(|agent| !agent.facts.version.is_empty()).map(AgentFacts::of);
    }
    for driver in caller.studio.fleet().drivers() {
        let site = detail.sites.iter_mut().find(|site| site.name == driver.site().as_str());
        if let Some(site) = site {
            site.driver = Some(driver.capabilities());
        }
    }
    Ok(detail)
}

/// Pauses all acting; planning goes on. Needs `engine.write`.
pub async fn pause(caller: &Caller, id: CommandId, why: Option<String>) -> Result<Answer, AppError> {
    caller.authorise(Action::EngineWrite).await?;
    order(caller, id, Order::Pause { why: why.clone().unwrap_or_default() }, None, why).await
}

/// Lets the engine act again. Needs `engine.write`.
pub async fn resume(caller: &Caller, id: CommandId) -> Result<Answer, AppError> {
    caller.authorise(Action::EngineWrite).await?;
    order(caller, id, Order::Resume, None, None).await
}

/// Has something removed that a driver found and nobody knows. Needs `engine.write`.
pub async fn remove_unknown(
    caller: &Caller,
    id: CommandId,
    site: SiteName,
    name: String,
    why: Option<String>,
) -> Result<Answer, AppError> {
    caller.authorise(Action::EngineWrite).await?;
    order(caller, id, Order::RemoveUnknown { site, name }, None, why).await
}

fn sites(world: &World) -> Vec<SiteRow> {
    world
        .sites()
        .map(|site| SiteRow {
            name: site.name.to_string(),
            capacity: site.capacity,
            used: world.used_capacity(&site.name),
            free: world.free_capacity(&site.name),
            nodes: world.nodes().filter(|node| node.site == site.name).count() as u64,
            driver: None,
        })
        .collect()
}

/// What a node was made for, by name where it belongs to this workspace.
fn holder(world: &World, node: NodeId, workspace: &str) -> (String, Option<String>) {
    let Some(node) = world.node(node).filter(|node| node.workspace.as_str() == workspace) else {
        return (String::new(), None);
    };
    match node.holder {
        Holder::Cluster(id) => {
            let name = world.cluster(id).map(|cluster| cluster.name.to_string());
            (name.clone().unwrap_or_else(|| id.to_string()), name)
        }
        Holder::Instance(id) => {
            (world.instance(id).map_or_else(|| id.to_string(), |instance| instance.name.to_string()), None)
        }
        Holder::Job(id) => (id.to_string(), None),
    }
}
