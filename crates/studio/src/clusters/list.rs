//! The list of clusters.

use std::collections::BTreeSet;

use atelier_domain::access::{Action, Rights};
use atelier_domain::compute::cluster::Cluster;
use atelier_domain::compute::node::Holder;
use atelier_domain::compute::size::Price;
use atelier_domain::compute::verb::{ClusterState, ClusterVerb};
use atelier_domain::compute::{ClusterId, JobId};
use atelier_domain::error::AppError;
use atelier_domain::reason::Reason;
use atelier_domain::text::search_text;
use atelier_domain::time::Span;
use atelier_domain::world::{PoolKey, World};
use atelier_domain::{Money, WorkspaceId};
use atelier_engine::store::NodeCounts;
use serde::Serialize;

use crate::caller::Caller;
use crate::cost::live::charged_today;
use crate::offer::Offer;
use crate::orders::{ask, since_last_step};

const PAGE: usize = 50;

atelier_domain::keyed_enum! {
    /// What the list is sorted by.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
    pub enum ClusterSort {
        #[default]
        Name = "name";
        Nodes = "nodes";
        Waiting = "waiting";
    }
}

/// What the list shows, as the URL holds it: `?q=&state=&sort=&dir=&after=`.
#[derive(Clone, Debug, Default)]
pub struct ClusterQuery {
    /// Part of a name, a size or a tag.
    pub q: String,
    pub state: Option<ClusterState>,
    pub sort: ClusterSort,
    pub descending: bool,
    /// How many are left out before the first.
    pub after: usize,
}

/// One page of the list.
#[derive(Clone, Debug)]
pub struct ClusterPage {
    /// At most 50 clusters.
    pub rows: Vec<ClusterRow>,
    pub matching: usize,
    pub all: usize,
    pub next: Option<usize>,
    /// Where the page before begins.
    pub previous: Option<usize>,
    /// Why the engine does nothing at all, if somebody paused it.
    pub paused: Option<String>,
    pub currency: String,
}

/// A cluster in a list.
#[derive(Clone, Debug)]
pub struct ClusterRow {
    pub cluster: Cluster,
    pub name: String,
    pub state: ClusterState,
    pub reason: Option<Reason>,
    /// What a node has, in words.
    pub shape: String,
    /// Its nodes by state; `queued` are all jobs that wait.
    pub counts: NodeCounts,
    /// Jobs that have left the queue.
    pub running: u64,
    /// None where that is not for the caller to know, and before costs were [added](add_costs).
    pub cost_today: Option<Money>,
    /// What an hour of one node costs.
    pub price: Price,
    pub verbs: Offer<ClusterVerb>,
    unsettled: Money,
}

/// Clusters of the workspace. Needs `cluster.read`.
pub async fn list_clusters(caller: &Caller, query: &ClusterQuery) -> Result<ClusterPage, AppError> {
    let actor = caller.authorise(Action::ClusterRead).await?;
    let (workspace, rights) = (actor.workspace.id.clone(), actor.person.rights());
    let (later, words) = (since_last_step(caller), search_text(&query.q).to_lowercase());
    let (wanted, paused) = ask(caller, move |world| {
        let pause = world.state().pause.as_ref();
        let paused = pause.map(|pause| format!("{} paused all acting: {}", pause.by, pause.why));
        (rows(world, &workspace, &rights, later), paused)
    })
    .await?;
    let all = wanted.len();
    let mut rows: Vec<ClusterRow> = wanted
        .into_iter()
        .filter(|row| query.state.is_none_or(|state| row.state == state))
        .filter(|row| {
            let Cluster { name, size, tier, tags, .. } = &row.cluster;
            let text = format!("{name} {size} {} {}", tier.key(), tags.said().join(" ")).to_lowercase();
            words.is_empty() || text.contains(&words)
        })
        .collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    match query.sort {
        ClusterSort::Name => {}
        ClusterSort::Nodes => rows.sort_by_key(|row| row.counts.nodes()),
        ClusterSort::Waiting => rows.sort_by_key(|row| row.counts.queued),
    }
    if query.descending {
        rows.reverse();
    }
    let matching = rows.len();
    let mut rows: Vec<ClusterRow> = rows.into_iter().skip(query.after).take(PAGE).collect();
    add_costs(caller, &mut rows).await?;
    Ok(ClusterPage {
        next: (query.after + PAGE < matching).then_some(query.after + PAGE),
        previous: (query.after > 0).then(|| query.after.saturating_sub(PAGE)),
        rows,
        matching,
        all,
        paused,
        currency: caller.studio.settings().currency.clone(),
    })
}

/// All clusters of the workspace by name, with what they cost. Needs `cluster.read`.
pub async fn all_clusters(caller: &Caller) -> Result<Vec<ClusterRow>, AppError> {
    let actor = caller.authorise(Action::ClusterRead).await?;
    let (workspace, rights, later) = (actor.workspace.id.clone(), actor.person.rights(), since_last_step(caller));
    let mut rows = ask(caller, move |world| rows(world, &workspace, &rights, later)).await?;
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    add_costs(caller, &mut rows).await?;
    Ok(rows)
}

/// One cluster, if it is still there. Whoever asks has found it by its name.
pub async fn one_cluster(caller: &Caller, id: ClusterId) -> Result<Option<ClusterRow>, AppError> {
    let (rights, later) = (caller.actor()?.person.rights(), since_last_step(caller));
    let found = ask(caller, move |world| world.cluster(id).map(|cluster| row(world, cluster, &rights, later))).await?;
    let mut rows: Vec<ClusterRow> = found.into_iter().collect();
    add_costs(caller, &mut rows).await?;
    Ok(rows.pop())
}

fn rows(world: &World, workspace: &WorkspaceId, rights: &Rights, later: Span) -> Vec<ClusterRow> {
    let clusters = world.clusters().filter(|cluster| cluster.workspace == *workspace);
    clusters.map(|cluster| row(world, cluster, rights, later)).collect()
}

/// Adds what clusters have cost today, as far as the caller may know it.
pub async fn add_costs(caller: &Caller, rows: &mut [ClusterRow]) -> Result<(), AppError> {
    let actor = caller.actor()?;
    let holders = rows.iter().map(|row| Holder::Cluster(row.cluster.id)).collect();
    let charged = charged_today(caller, holders).await?;
    for (row, settled) in rows.iter_mut().zip(charged) {
        row.cost_today = actor.sees_cost_of(&row.cluster.owner).then(|| settled.plus(row.unsettled));
    }
    Ok(())
}

/// A cluster as lists, its page and REST show it.
pub fn row(world: &World, cluster: &Cluster, rights: &Rights, later: Span) -> ClusterRow {
    let (counts, running) = count(world, cluster.id);
    let pool = world.pool(&PoolKey::Cluster(cluster.id));
    let unsettled = pool
        .into_iter()
        .flat_map(|pool| &pool.nodes)
        .filter_map(|node| world.node(*node))
        .fold(Money::ZERO, |sum, node| sum.plus(Money(world.unsettled(node, later))));
    let size = world.sizes().find(|size| size.name == cluster.size);
    let state = world.cluster_state(cluster);
    ClusterRow {
        name: cluster.name.to_string(),
        state,
        reason: world.explain_cluster(cluster.id),
        verbs: Offer::of_cluster(rights, state),
        shape: size.map(|size| size.shape.to_string()).unwrap_or_default(),
        counts,
        running,
        cost_today: None,
        unsettled,
        price: size.map(|size| size.price).unwrap_or_default(),
        cluster: cluster.clone(),
    }
}

/// The nodes of a cluster by state and the jobs that wait, and how many jobs are on its nodes.
pub fn count(world: &World, cluster: ClusterId) -> (NodeCounts, u64) {
    let Some(pool) = world.pool(&PoolKey::Cluster(cluster)) else { return (NodeCounts::default(), 0) };
    let mut counts = NodeCounts::default();
    let mut on_nodes: BTreeSet<JobId> = BTreeSet::new();
    for id in &pool.nodes {
        let (Some(node), Some(on)) = (world.node(*id), world.on_node(*id)) else { continue };
        crate::clusters::nodes::bump(&mut counts, node.state(!on.jobs.is_empty()));
        on_nodes.extend(&on.jobs);
    }
    let running = on_nodes.len() as u64;
    counts.queued = pool.all_jobs().saturating_sub(running);
    (counts, running)
}
