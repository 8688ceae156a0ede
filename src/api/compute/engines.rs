//! The engine behind computes: where nodes are made, which agents there are, how the loop does, what nobody knows.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

use leptos::prelude::*;

use crate::api::Done;
use crate::error::AppError;

#[cfg(feature = "ssr")]
pub use reads::*;

/// Pauses all acting; planning goes on. Needs `engine.write`.
#[server(prefix = "/fn", endpoint = "pause_engine")]
pub async fn pause_engine(
    #[server(default)] command_id: String,
    #[server(default)] why: String,
) -> Result<Done, AppError> {
    changes::pause(&command_id, &why).await
}

/// Lets the engine act again. Needs `engine.write`.
#[server(prefix = "/fn", endpoint = "resume_engine")]
pub async fn resume_engine(#[server(default)] command_id: String) -> Result<Done, AppError> {
    changes::resume(&command_id).await
}

/// Has something removed that a driver found and nobody knows. Needs `engine.write`.
#[server(prefix = "/fn", endpoint = "remove_unknown")]
pub async fn remove_unknown(
    #[server(default)] command_id: String,
    site: String,
    name: String,
    #[server(default)] why: String,
) -> Result<Done, AppError> {
    changes::remove_unknown(&command_id, &site, &name, &why).await
}

#[cfg(feature = "ssr")]
mod reads {
    use atelier_domain::access::Action;
    use atelier_domain::compute::node::Holder;
    use atelier_domain::compute::{NodeId, Resources};
    use atelier_domain::time::Timestamp;
    use atelier_domain::world::World;
    use atelier_engine::drivers::Capabilities;
    use atelier_engine::run::Status;

    use crate::api::caller::Caller;
    use crate::api::compute::clusters::{AgentFacts, NodeRow, node_row};
    use crate::error::AppError;
    use crate::studio::ask;

    /// How many nodes the page shows.
    const NODES_SHOWN: usize = 200;

    /// All that the page of engines shows.
    #[derive(Clone, Debug)]
    pub struct EngineDetail {
        /// How the loop does.
        pub status: Status,
        /// Who paused all acting, and why.
        pub pause: Option<(String, String)>,
        /// Where nodes are made.
        pub sites: Vec<SiteRow>,
        /// The nodes of the installation, at most 200, with their agents.
        pub nodes: Vec<EngineNode>,
        /// How many nodes there are.
        pub all_nodes: usize,
        /// What was found and is not known.
        pub unknown: Vec<UnknownRow>,
    }

    /// A place where nodes are made.
    #[derive(Clone, Debug)]
    pub struct SiteRow {
        /// Its name.
        pub name: String,
        /// What all its nodes together may have.
        pub capacity: Resources,
        /// What they take.
        pub used: Resources,
        /// What is left.
        pub free: Resources,
        /// How many nodes it has.
        pub nodes: u64,
        /// What its driver can do; none if there is no driver for it any more.
        pub driver: Option<Capabilities>,
    }

    /// A node and what it was made for.
    #[derive(Clone, Debug)]
    pub struct EngineNode {
        /// The node and its agent.
        pub row: NodeRow,
        /// For what: the name of a compute, or a job's number. Empty for things of another workspace.
        pub holder: String,
        /// The name of its cluster, if it is one's of this workspace.
        pub cluster: Option<String>,
    }

    /// Something found and not known.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct UnknownRow {
        /// Where.
        pub site: String,
        /// What the driver calls it.
        pub name: String,
        /// Since when it is known to exist.
        pub since: Timestamp,
        /// Whether somebody decided that it goes.
        pub is_leaving: bool,
    }

    /// The engine, its sites and its agents. Needs `engine.read`.
    pub async fn engines() -> Result<EngineDetail, AppError> {
        let caller = Caller::here()?;
        let workspace = caller.authorise(Action::EngineRead).await?.workspace.id.clone();
        let status = caller.state.engine().status();
        let mut detail = ask(&caller, move |world| {
            let holder = |node: NodeId| holder(world, node, workspace.as_str());
            EngineDetail {
                pause: world.state().pause.as_ref().map(|pause| (pause.by.to_string(), pause.why.clone())),
                sites: sites(world),
                nodes: world
                    .nodes()
                    .take(NODES_SHOWN)
                    .map(|node| {
                        let (holder, cluster) = holder(node.id);
                        EngineNode { row: node_row(world, node), holder, cluster }
                    })
                    .collect(),
                all_nodes: world.nodes().count(),
                unknown: world
                    .unknown()
                    .map(|found| UnknownRow {
                        site: found.site.to_string(),
                        name: found.name.clone(),
                        since: found.since,
                        is_leaving: found.is_leaving,
                    })
                    .collect(),
                status,
            }
        })
        .await?;
        let board = caller.state.fleet().board();
        for node in &mut detail.nodes {
            node.row.agent =
                board.agent(node.row.id).filter(|agent| !agent.facts.version.is_empty()).map(AgentFacts::of);
        }
        for driver in caller.state.fleet().drivers() {
            let site = detail.sites.iter_mut().find(|site| site.name == driver.site().as_str());
            if let Some(site) = site {
                site.driver = Some(driver.capabilities());
            }
        }
        Ok(detail)
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
}

#[cfg(feature = "ssr")]
mod changes {
    use atelier_domain::access::Action;
    use atelier_domain::compute::size::SiteName;
    use atelier_domain::text::{parse_why, shortened};
    use atelier_domain::world::{Answer, Order};

    use crate::api::Done;
    use crate::api::caller::Caller;
    use crate::error::AppError;
    use crate::paths;
    use crate::studio::{command_id, order};

    pub async fn pause(id: &str, why: &str) -> Result<Done, AppError> {
        let caller = Caller::here()?;
        caller.authorise(Action::EngineWrite).await?;
        let why = parse_why(why)?;
        let wanted = Order::Pause { why: why.clone().unwrap_or_default() };
        let answer = order(&caller, command_id(id)?, wanted, None, why).await?;
        Ok(Done::stay(match answer {
            Answer::Already => "All acting was paused already.",
            _ => "All acting is paused. Jobs that run go on; nothing is started, ended or removed until you resume.",
        }))
    }

    pub async fn resume(id: &str) -> Result<Done, AppError> {
        let caller = Caller::here()?;
        caller.authorise(Action::EngineWrite).await?;
        let answer = order(&caller, command_id(id)?, Order::Resume, None, None).await?;
        Ok(Done::stay(match answer {
            Answer::Already => "The engine was not paused.",
            _ => "The engine acts again.",
        }))
    }

    pub async fn remove_unknown(id: &str, site: &str, name: &str, why: &str) -> Result<Done, AppError> {
        let caller = Caller::here()?;
        let actor = caller.authorise(Action::EngineWrite).await?;
        let site = SiteName::parse(site).map_err(|_| AppError::not_found("site"))?;
        let why = parse_why(why)?;
        let said = format!("{} is being removed from {site}.", shortened(name));
        let wanted = Order::RemoveUnknown { site, name: name.to_owned() };
        order(&caller, command_id(id)?, wanted, None, why).await?;
        Ok(Done::go(paths::engines(&actor.workspace.slug), said))
    }
}
