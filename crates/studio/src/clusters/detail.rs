//! One cluster with all that its page shows.

use atelier_domain::access::{Action, Rights, Whose};
use atelier_domain::compute::cluster::{Cluster, ClusterPhase, FailedLaunch};
use atelier_domain::compute::fair_share::QueueOrder;
use atelier_domain::compute::job::Job;
use atelier_domain::compute::size::Price;
use atelier_domain::compute::verb::JobVerb;
use atelier_domain::compute::{ClusterId, JobId, NodeId, ScheduleId};
use atelier_domain::error::AppError;
use atelier_domain::schedule::Schedule;
use atelier_domain::time::{Span, Timestamp};
use atelier_domain::world::{PoolKey, ScheduleTarget, World};
use atelier_domain::{Money, UserId};
use atelier_engine::clock;
use atelier_engine::store::{DecisionEntry, NodeCounts};
use atelier_simulate::forecast::Eta;

use crate::caller::Caller;
use crate::clusters::commands::find;
use crate::clusters::list::{ClusterRow, add_costs};
use crate::clusters::names::{add_decisions, add_names};
use crate::clusters::nodes::{AgentFacts, NodeRow};
use crate::clusters::{list, minimum, nodes};
use crate::forecast::etas as forecast;
use crate::offer::Offer;
use crate::orders::{ask, said, since_last_step};

/// Nodes of one page of the table.
pub const NODES_SHOWN: usize = 50;
const NODES_MAPPED: usize = 500;
const QUEUE_SHOWN: usize = 50;
/// Jobs that are looked through for those that are held back.
const LOOKED_THROUGH: usize = 2_000;
/// How far the chart reaches back.
const CHART: Span = Span::hours(6);
/// The shortest time that it shows.
const CHART_LEAST: Span = Span::minutes(10);

/// A cluster and everything about it.
#[derive(Clone, Debug)]
pub struct ClusterDetail {
    /// As in the list.
    pub row: ClusterRow,
    pub owner: String,
    /// By whom it was paused or deleted; empty if it was not.
    pub by: String,
    /// Since when it is paused, if that is known.
    pub paused_since: Option<Timestamp>,
    pub minimums: Vec<(ScheduleId, Schedule)>,
    /// What the minimum and the nodes kept ready cost while nothing runs: an hour now, and an average month.
    pub at_rest: (Price, Money),
    /// What an hour costs: one node, at the minimum, at the maximum, now.
    pub per_hour: [Price; 4],
    pub currency: String,
    /// Failed launches since the last that worked, the newest first.
    pub failures: Vec<FailedLaunch>,
    pub map: Vec<NodeRow>,
    /// One page of the nodes with what their agents say.
    pub nodes: Vec<NodeRow>,
    /// Where that page begins.
    pub nodes_from: usize,
    /// The first of those that wait, in order.
    pub queue: Vec<QueueRow>,
    /// What the nodes did lately.
    pub chart: Vec<(Timestamp, NodeCounts)>,
    pub chart_from: Timestamp,
    /// What was decided, the newest first.
    pub decisions: Vec<DecisionEntry>,
    /// The cursor of the older ones.
    pub older: Option<String>,
}

/// A waiting job.
#[derive(Clone, Debug)]
pub struct QueueRow {
    pub job: JobId,
    pub name: String,
    pub owner: String,
    /// What it needs: `2 × 4 cores, 16 GiB`.
    pub needs: String,
    pub priority: &'static str,
    /// Its place; none if it is held back.
    pub place: Option<u64>,
    /// How much of what everybody has used lately its owner has, against what they are meant to have; empty
    /// where that does not matter.
    pub share: String,
    /// What can be done with its place, and why not.
    pub is_held: bool,
    /// Why it waits, and what would change that.
    pub why: String,
    pub submitted: Timestamp,
    pub owner_id: UserId,
    pub verbs: Offer<JobVerb>,
    pub eta: Option<Eta>,
}

/// A cluster by its name. `nodes_from` and `before` turn the pages of its nodes and of the log. Needs
/// `cluster.read`.
pub async fn cluster(caller: &Caller, name: &str, nodes_from: usize, before: &str) -> Result<ClusterDetail, AppError> {
    let actor = caller.authorise(Action::ClusterRead).await?;
    let id = find(caller, name).await?;
    let workspace = actor.workspace.id.clone();
    let (later, currency) = (since_last_step(caller), caller.studio.settings().currency.clone());
    let viewer = (actor.person.id.clone(), actor.person.rights());
    let detail = ask(caller, move |world| look(world, id, &viewer, later, nodes_from, currency)).await?;
    let mut detail = detail.ok_or_else(|| AppError::not_found("cluster"))?;
    add_costs(caller, std::slice::from_mut(&mut detail.row)).await?;
    add_names(caller, &mut detail).await?;
    let waiting = detail.queue.iter().map(|row| (PoolKey::Cluster(id), row.job)).collect();
    let mut etas = forecast::etas(caller, waiting).await;
    for row in &mut detail.queue {
        row.eta = etas.remove(&row.job);
    }
    let board = caller.studio.fleet().board();
    for node in &mut detail.nodes {
        node.agent = board.agent(node.id).filter(|agent| !agent.facts.version.is_empty()).map(AgentFacts::of);
    }
    add_decisions(caller, &workspace, &mut detail, before).await?;
    // What is younger fills the width too, but ten minutes are the least that says something.
    let now = clock::now().0;
    let from = detail.row.cluster.created.0.clamp(now - CHART.as_millis(), now - CHART_LEAST.as_millis());
    detail.chart_from = Timestamp(from);
    detail.chart = caller.checked(caller.store().cluster_counts(id, detail.chart_from).await)?;
    Ok(detail)
}

fn look(
    world: &World,
    id: ClusterId,
    viewer: &(UserId, Rights),
    later: Span,
    nodes_from: usize,
    currency: String,
) -> Option<ClusterDetail> {
    let cluster = world.cluster(id)?;
    let row = list::row(world, cluster, &viewer.1, later);
    let price = |nodes: u64| Price(row.price.0.saturating_mul(nodes));
    let per_hour = [1, u64::from(cluster.min()), u64::from(cluster.scale.max), row.counts.nodes()].map(price);
    let now = clock::now();
    let schedules: Vec<(ScheduleId, Schedule)> =
        world.schedules_for(ScheduleTarget::Cluster(id)).map(|entry| (entry.id, entry.schedule.clone())).collect();
    let only: Vec<Schedule> = schedules.iter().map(|(_, schedule)| schedule.clone()).collect();
    let scale = cluster.scale;
    // Nodes of the minimum that are idle are ready too: the larger number counts.
    let kept = minimum::kept_a_month(&only, scale, now);
    let month = Money::of(row.price, kept);
    let at_rest = (price(u64::from(cluster.min().max(scale.warm).min(scale.max))), month);
    let pool = world.pool(&PoolKey::Cluster(id));
    let ids: Vec<NodeId> = pool.map(|pool| pool.nodes.iter().copied().collect()).unwrap_or_default();
    let rows = |ids: &[NodeId]| -> Vec<NodeRow> {
        ids.iter().filter_map(|node| Some(nodes::row(world, world.node(*node)?, &viewer.1))).collect()
    };
    let page: Vec<NodeId> = ids.iter().copied().skip(nodes_from).take(NODES_SHOWN).collect();
    let mut failures = cluster.trouble.history.clone();
    failures.reverse();
    Some(ClusterDetail {
        owner: String::new(),
        by: by(cluster),
        paused_since: match &cluster.phase {
            ClusterPhase::Paused { since, .. } => *since,
            ClusterPhase::Active | ClusterPhase::Deleting { .. } => None,
        },
        minimums: schedules,
        at_rest,
        per_hour,
        currency,
        failures,
        map: rows(&ids[..ids.len().min(NODES_MAPPED)]),
        nodes: rows(&page),
        nodes_from,
        queue: queue(world, id, viewer),
        chart: Vec::new(),
        chart_from: Timestamp(0),
        decisions: Vec::new(),
        older: None,
        row,
    })
}

fn by(cluster: &Cluster) -> String {
    match &cluster.phase {
        ClusterPhase::Active => String::new(),
        ClusterPhase::Paused { by, .. } | ClusterPhase::Deleting { by } => by.to_string(),
    }
}

/// The first of those that wait, then those that are held back.
fn queue(world: &World, id: ClusterId, viewer: &(UserId, Rights)) -> Vec<QueueRow> {
    let Some(pool) = world.pool(&PoolKey::Cluster(id)) else { return Vec::new() };
    let in_line = pool.queue.in_order(QUEUE_SHOWN).into_iter().enumerate();
    let in_line = in_line.map(|(place, job)| (job, Some(place as u64 + 1)));
    let is_held = |id: &JobId| world.job(*id).is_some_and(|job| job.is_queued() && !job.is_eligible());
    let held = pool.jobs.iter().take(LOOKED_THROUGH).copied().filter(is_held).map(|job| (job, None));
    let rows = in_line.chain(held).take(QUEUE_SHOWN);
    rows.filter_map(|(job, place)| world.look_up(job).map(|job| queue_row(world, &job, place, viewer))).collect()
}

fn queue_row(world: &World, job: &Job, place: Option<u64>, (viewer, rights): &(UserId, Rights)) -> QueueRow {
    let whose = if job.owner == *viewer { Whose::Own } else { Whose::Others };
    let shape = job.spec.shape;
    QueueRow {
        job: job.id,
        name: String::new(),
        owner: String::new(),
        needs: if job.spec.nodes == 1 { shape.to_string() } else { format!("{} × {shape}", job.spec.nodes) },
        priority: job.spec.priority.key(),
        place,
        share: share(world, job),
        is_held: job.held.is_some(),
        why: world.explain_job(job.id).map(|reason| said(&reason)).unwrap_or_default(),
        submitted: job.submitted,
        eta: None,
        verbs: Offer::of_job(rights, whose, job.state(), job.held.is_some()),
        owner_id: job.owner.clone(),
    }
}

/// What decides about whose turn it is, where shares do.
fn share(world: &World, job: &Job) -> String {
    if world.queue_policy(&PoolKey::of_job(job)).order != QueueOrder::FairShare {
        return String::new();
    }
    let standing = world.fair_share_standing(&job.workspace, &job.owner);
    let part = match standing.used_by_all {
        0 => 0,
        all => (standing.used * 100 + all / 2) / all,
    };
    format!("{part} % used, weight {}", standing.weight)
}
