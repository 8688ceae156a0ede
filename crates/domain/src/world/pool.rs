//! Pools: the nodes and the queue of one compute, indexed so that no rule ever looks at all of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::compute::job::{Job, Priority, Target};
use crate::compute::node::{Holder, Node, NodePhase};
use crate::compute::size::SizeName;
use crate::compute::{ClusterId, InstanceId, JobId, NodeId, Resources};
use crate::id::{UserId, WorkspaceId};
use crate::time::Mono;

/// What shares a queue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PoolKey {
    /// A cluster and its nodes.
    Cluster(ClusterId),
    /// An instance and its node.
    Instance(InstanceId),
    /// The serverless jobs of one workspace on one size.
    Serverless(WorkspaceId, SizeName),
}

impl PoolKey {
    /// Where a job waits.
    pub fn of_job(job: &Job) -> Self {
        match &job.spec.target {
            Target::Cluster(cluster) => Self::Cluster(*cluster),
            Target::Instance(instance) => Self::Instance(*instance),
            Target::Serverless(size) => Self::Serverless(job.workspace.clone(), size.clone()),
        }
    }

    /// Which pool a node belongs to; the nodes of serverless jobs belong to their jobs alone.
    pub const fn of_node(node: &Node) -> Option<Self> {
        match node.holder {
            Holder::Cluster(cluster) => Some(Self::Cluster(cluster)),
            Holder::Instance(instance) => Some(Self::Instance(instance)),
            Holder::Job(_) => None,
        }
    }
}

/// A place in the queue: by priority, then by arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    priority: std::cmp::Reverse<Priority>,
    /// The job.
    pub job: JobId,
}

impl Place {
    /// Where a job stands.
    pub const fn of(job: &Job) -> Self {
        Self { priority: std::cmp::Reverse(job.spec.priority), job: job.id }
    }
}

/// How many nodes the queue needs, kept up to date job by job.
#[derive(Clone, Debug, Default)]
pub struct Demand {
    /// Single-node jobs by what they take.
    shapes: BTreeMap<Resources, u64>,
    /// Nodes for these: each shape packed for itself, which always suffices.
    packed: u64,
    /// Nodes for jobs that need several.
    gangs: u64,
}

impl Demand {
    fn add(&mut self, job: &Job, node: Resources) {
        self.change(job, node, true);
    }

    fn remove(&mut self, job: &Job, node: Resources) {
        self.change(job, node, false);
    }

    fn change(&mut self, job: &Job, node: Resources, is_added: bool) {
        if job.spec.nodes > 1 {
            let nodes = u64::from(job.spec.nodes);
            self.gangs = if is_added { self.gangs + nodes } else { self.gangs.saturating_sub(nodes) };
            return;
        }
        let per_node = node.holds(job.spec.shape).max(1);
        let count = self.shapes.entry(job.spec.shape).or_insert(0);
        self.packed -= count.div_ceil(per_node);
        *count = if is_added { *count + 1 } else { count.saturating_sub(1) };
        self.packed += count.div_ceil(per_node);
        if *count == 0 {
            self.shapes.remove(&job.spec.shape);
        }
    }

    /// The nodes that all waiting jobs need.
    pub const fn nodes(&self) -> u64 {
        self.packed.saturating_add(self.gangs)
    }
}

/// The indexes of one pool.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    /// What a node of this pool has; nothing for serverless pools.
    pub shape: Resources,
    /// Who waits and may be started, in order.
    pub queue: BTreeSet<Place>,
    /// The same by owner, where one person's quota must not hold up the others: in serverless pools.
    pub by_owner: Option<BTreeMap<UserId, BTreeSet<Place>>>,
    /// Jobs that are not over.
    pub jobs: BTreeSet<JobId>,
    /// What the queue needs.
    pub demand: Demand,
    /// All nodes.
    pub nodes: BTreeSet<NodeId>,
    /// Those that take jobs, by what they have free.
    pub free: BTreeMap<Resources, BTreeSet<NodeId>>,
    /// Those that take jobs and have none, the longest idle first.
    pub idle: BTreeSet<(Mono, NodeId)>,
    /// Those on their way out that can be called back.
    pub cordoned: BTreeSet<NodeId>,
    /// Nodes that its compute has and keeps.
    pub live: u64,
    /// Of these: with jobs.
    pub busy: u64,
    /// Of these: on their way.
    pub launching: u64,
}

impl Pool {
    pub(super) fn add_job(&mut self, job: &Job) {
        self.jobs.insert(job.id);
        if job.is_eligible() {
            self.queue.insert(Place::of(job));
            if let Some(by_owner) = &mut self.by_owner {
                by_owner.entry(job.owner.clone()).or_default().insert(Place::of(job));
            }
            self.demand.add(job, self.shape);
        }
    }

    pub(super) fn remove_job(&mut self, job: &Job) {
        self.jobs.remove(&job.id);
        if job.is_eligible() && self.queue.remove(&Place::of(job)) {
            if let Some(by_owner) = &mut self.by_owner
                && let Some(places) = by_owner.get_mut(&job.owner)
            {
                places.remove(&Place::of(job));
                if places.is_empty() {
                    by_owner.remove(&job.owner);
                }
            }
            self.demand.remove(job, self.shape);
        }
    }

    pub(super) fn add_node(&mut self, node: &Node, on: &OnNode) {
        self.nodes.insert(node.id);
        self.count(node, on, true);
        match node.phase {
            NodePhase::Ready => {
                self.free.entry(on.free).or_default().insert(node.id);
                if on.jobs.is_empty() {
                    self.idle.insert((node.idle_since, node.id));
                }
            }
            NodePhase::Cordoned { silent: None, .. } => {
                self.cordoned.insert(node.id);
            }
            _ => {}
        }
    }

    pub(super) fn remove_node(&mut self, node: &Node, on: &OnNode) {
        self.nodes.remove(&node.id);
        self.count(node, on, false);
        match node.phase {
            NodePhase::Ready => {
                if let Some(nodes) = self.free.get_mut(&on.free) {
                    nodes.remove(&node.id);
                    if nodes.is_empty() {
                        self.free.remove(&on.free);
                    }
                }
                self.idle.remove(&(node.idle_since, node.id));
            }
            NodePhase::Cordoned { .. } => {
                self.cordoned.remove(&node.id);
            }
            _ => {}
        }
    }

    fn count(&mut self, node: &Node, on: &OnNode, is_added: bool) {
        let bump = |count: &mut u64, applies: bool| {
            if applies {
                *count = if is_added { *count + 1 } else { count.saturating_sub(1) };
            }
        };
        bump(&mut self.live, node.is_live());
        bump(&mut self.busy, node.is_live() && !on.jobs.is_empty());
        bump(&mut self.launching, matches!(node.phase, NodePhase::Launching { .. }));
    }

    /// Nodes that could take such a job now, the fullest first, up to `count`.
    pub fn fitting(&self, shape: Resources, count: usize) -> Vec<NodeId> {
        let mut found = Vec::new();
        // Fewer cores than that cannot fit; what has the cores may still lack memory.
        let from = Resources { cores: shape.cores, memory: 0, gpus: 0 };
        for (_, nodes) in self.free.range(from..).filter(|(free, _)| shape.fits(**free)) {
            found.extend(nodes.iter().take(count - found.len()));
            if found.len() == count {
                break;
            }
        }
        found
    }

    /// Nodes that are on their way out.
    pub fn leaving(&self) -> u64 {
        self.nodes.len() as u64 - self.live
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.nodes.is_empty()
    }
}

/// What runs on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnNode {
    /// Jobs with a part there, in the order of their numbers.
    pub jobs: Vec<JobId>,
    /// What is left.
    pub free: Resources,
}

impl OnNode {
    /// A job comes onto the node.
    pub(crate) fn add(&mut self, job: JobId, taken: Resources) {
        if let Err(place) = self.jobs.binary_search(&job) {
            self.jobs.insert(place, job);
            self.free = self.free.minus(taken);
        }
    }

    /// A job is off the node.
    pub(crate) fn remove(&mut self, job: JobId, taken: Resources) {
        if let Ok(place) = self.jobs.binary_search(&job) {
            self.jobs.remove(place);
            self.free = self.free.plus(taken);
        }
    }
}
