//! What a policy changes, and the orders that make the site from it. The one place where settings of the
//! scenario meet settings of the core.

use std::collections::BTreeMap;

use atelier_domain::compute::ClusterId;
use atelier_domain::compute::cluster::ScaleSettings;
use atelier_domain::compute::fair_share::{self, QueuePolicy};
use atelier_domain::compute::size::{ComputeName, SizeName, Tier};
use atelier_domain::compute::tags::Tags;
use atelier_domain::schedule::{Action, StopJobs};
use atelier_domain::text::{Problem, shortened};
use atelier_domain::time::{Span, Timestamp};
use atelier_domain::world::{Order, ScheduleTarget};

use crate::scenario::hours::Hours;

/// Who goes first in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueOrder {
    /// By priority, then who came first.
    #[default]
    Fifo,
    /// By priority, then who has had the smallest part of their share.
    FairShare,
}

impl QueueOrder {
    pub const ALL: [Self; 2] = [Self::Fifo, Self::FairShare];

    /// The name in a scenario.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::FairShare => "fair-share",
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|order| order.key() == text);
        found.ok_or_else(|| format!("“{}” is not an order: use fifo or fair-share.", shortened(text)))
    }
}

/// Another minimum at some hours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledMin {
    pub nodes: u32,
    pub hours: Hours,
}

/// One cluster and how it is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSetup {
    pub name: ComputeName,
    /// What its nodes are.
    pub size: SizeName,
    pub scale: ScaleSettings,
    /// Another minimum at some hours.
    pub scheduled_min: Option<ScheduledMin>,
    pub order: QueueOrder,
    /// Whether small jobs may pass a large one that waits, where that does not delay it.
    pub backfill: bool,
}

/// Everything that a policy may change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// The clusters, in the order in which they are made.
    pub clusters: Vec<ClusterSetup>,
}

/// What a policy changes of a cluster; what is not given stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub min: Option<u32>,
    /// The most nodes.
    pub max: Option<u32>,
    /// How long a node stays without a job.
    pub idle: Option<Span>,
    pub order: Option<QueueOrder>,
    /// Whether small jobs may pass.
    pub backfill: Option<bool>,
    /// Idle nodes that are kept ready.
    pub warm: Option<u32>,
    /// Another minimum at some hours.
    pub scheduled_min: Option<ScheduledMin>,
}

impl Changes {
    fn apply(&self, cluster: &mut ClusterSetup) {
        let scale = &mut cluster.scale;
        scale.min = self.min.unwrap_or(scale.min);
        scale.max = self.max.unwrap_or(scale.max);
        scale.idle = self.idle.unwrap_or(scale.idle);
        cluster.order = self.order.unwrap_or(cluster.order);
        cluster.backfill = self.backfill.unwrap_or(cluster.backfill);
        scale.warm = self.warm.unwrap_or(scale.warm);
        if self.scheduled_min.is_some() {
            cluster.scheduled_min.clone_from(&self.scheduled_min);
        }
    }

    /// For people: `min 2, idle 5 min`.
    pub fn sentence(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.min.map(|min| format!("min {min}")));
        parts.extend(self.max.map(|max| format!("max {max}")));
        parts.extend(self.idle.map(|idle| format!("idle {idle}")));
        parts.extend(self.warm.map(|warm| format!("warm {warm}")));
        parts.extend(self.scheduled_min.as_ref().map(|least| format!("min {} {}", least.nodes, least.hours)));
        parts.extend(self.order.map(|order| order.key().to_owned()));
        parts.extend(self.backfill.map(|is_on| if is_on { "backfill" } else { "no backfill" }.to_owned()));
        parts.join(", ")
    }
}

/// One of the things that are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    pub name: String,
    /// What differs for all clusters.
    pub all: Changes,
    /// What differs for single ones, by their place in [`Setup::clusters`].
    pub single: BTreeMap<usize, Changes>,
}

/// Changes the settings of the clusters as a policy says.
pub fn apply_policy(setup: &mut Setup, policy: &Policy) {
    for (place, cluster) in setup.clusters.iter_mut().enumerate() {
        policy.all.apply(cluster);
        if let Some(changes) = policy.single.get(&place) {
            changes.apply(cluster);
        }
    }
}

/// What the core cannot do yet is refused, not left out in silence: a comparison of two names for the same
/// thing would be worse than none.
pub(crate) fn judge(cluster: &ClusterSetup) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Err(problem) = cluster.scale.check() {
        problems.push(problem);
    }
    if let Some(least) = cluster.scheduled_min.as_ref().filter(|least| least.nodes > cluster.scale.max) {
        let message = format!("A minimum of {} is above the maximum of {}.", least.nodes, cluster.scale.max);
        problems.push(Problem::new("scheduled_min.nodes", message));
    }
    problems
}

/// The orders that make a cluster and its schedules. Clusters are numbered by the core from 1, in the order
/// of the setup.
pub(crate) fn orders(place: usize, cluster: &ClusterSetup, start: Timestamp) -> Vec<Order> {
    let mut scale = cluster.scale;
    let id = cluster_id(place);
    let mut later = Vec::new();
    if let Some(least) = &cluster.scheduled_min {
        // Who begins in the middle of such hours begins with that minimum; the schedule then goes on from
        // there.
        if least.hours.is_open(start) {
            scale.min = least.nodes;
        }
        let timetables = [(least.hours.opening(), least.nodes), (least.hours.closing(), cluster.scale.min)];
        later.extend(timetables.into_iter().filter_map(|(timetable, nodes)| {
            Some(Order::AddSchedule {
                target: ScheduleTarget::Cluster(id),
                action: Action::MinNodes(nodes),
                timetable: Box::new(timetable?),
                jobs: StopJobs::Now,
            })
        }));
    }
    let made = Order::CreateCluster {
        name: cluster.name.clone(),
        size: cluster.size.clone(),
        scale,
        tags: Tags::default(),
        tier: Tier::default(),
    };
    let order = match cluster.order {
        QueueOrder::Fifo => fair_share::QueueOrder::Fifo,
        QueueOrder::FairShare => fair_share::QueueOrder::FairShare,
    };
    let policy = QueuePolicy { order, backfill: cluster.backfill };
    let served = Order::SetQueuePolicy { cluster: Some(id), policy };
    [made, served].into_iter().chain(later).collect()
}

/// The number that the core gives to a cluster of the setup.
pub(crate) const fn cluster_id(place: usize) -> ClusterId {
    ClusterId(place as u64 + 1)
}
