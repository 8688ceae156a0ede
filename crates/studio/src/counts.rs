//! How many computes of each kind there are.

use std::collections::BTreeSet;

use atelier_domain::WorkspaceId;
use atelier_domain::access::Action;
use atelier_domain::compute::JobId;
use atelier_domain::compute::size::Tier;
use atelier_domain::error::AppError;
use atelier_domain::world::{PoolKey, World};

use crate::caller::Caller;
use crate::orders::ask;

/// The computes of a workspace in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ComputeCounts {
    pub instances: u64,
    pub clusters: u64,
    /// Nodes of all of them, and of serverless jobs.
    pub nodes: u64,
    /// Serverless jobs that are not over.
    pub serverless: u64,
    /// Jobs on nodes, wherever.
    pub running: u64,
    /// Jobs that wait, wherever.
    pub waiting: u64,
    /// Places where nodes are made, of the whole installation.
    pub sites: u64,
}

/// Counts what there is. Needs `workspace.read`.
pub async fn compute_counts(caller: &Caller) -> Result<ComputeCounts, AppError> {
    let workspace = &caller.authorise(Action::WorkspaceRead).await?.workspace.id;
    let read = async {
        let workspace = workspace.clone();
        ask(caller, move |world| count(world, &workspace)).await
    };
    let found = caller.studio.reads().computes.get(&caller.studio, workspace.clone(), read).await?;
    Ok(*found)
}

/// Looks at computes and nodes, never at jobs one by one: there may be millions.
fn count(world: &World, workspace: &WorkspaceId) -> ComputeCounts {
    let jobs_of = |key: PoolKey| world.pool(&key).map_or(0, |pool| pool.all_jobs());
    let instances: Vec<_> = world.instances().filter(|one| one.workspace == *workspace).map(|one| one.id).collect();
    let clusters: Vec<_> = world.clusters().filter(|one| one.workspace == *workspace).map(|one| one.id).collect();
    let serverless: u64 = world
        .sizes()
        .flat_map(|size| Tier::ALL.map(|tier| jobs_of(PoolKey::Serverless(workspace.clone(), size.name.clone(), tier))))
        .sum();
    let nodes: Vec<_> = world.nodes().filter(|one| one.workspace == *workspace).map(|one| one.id).collect();
    let on_nodes: BTreeSet<JobId> =
        nodes.iter().filter_map(|node| world.on_node(*node)).flat_map(|on| on.jobs.iter().copied()).collect();
    let elsewhere: u64 = instances.iter().map(|id| jobs_of(PoolKey::Instance(*id))).sum();
    let on_clusters: u64 = clusters.iter().map(|id| jobs_of(PoolKey::Cluster(*id))).sum();
    let running = on_nodes.len() as u64;
    ComputeCounts {
        instances: instances.len() as u64,
        clusters: clusters.len() as u64,
        nodes: nodes.len() as u64,
        serverless,
        running,
        waiting: (serverless + elsewhere + on_clusters).saturating_sub(running),
        sites: world.sites().count() as u64,
    }
}
