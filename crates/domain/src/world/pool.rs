//! Pools: the nodes and the queue of one compute, indexed so that no rule ever looks at all of them.

use std::collections::{BTreeMap, BTreeSet};

use super::queue::{Queue, Run, Standing, Wants};
use crate::compute::array::Array;
use crate::compute::job::{Job, JobSpec, Target};
use crate::compute::node::{Holder, Node, NodePhase};
use crate::compute::size::{SizeName, Tier};
use crate::compute::{ClusterId, InstanceId, JobId, NodeId, Resources};
use crate::id::WorkspaceId;
use crate::time::Mono;

/// Shapes that one look at what waits goes through.
const MOST_SHAPES: usize = 32;

/// What shares a queue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PoolKey {
    /// A cluster and its nodes.
    Cluster(ClusterId),
    /// An instance and its node.
    Instance(InstanceId),
    /// The serverless jobs of one workspace on one size and tier.
    Serverless(WorkspaceId, SizeName, Tier),
}

impl PoolKey {
    /// Where a job waits.
    pub fn of_job(job: &Job) -> Self {
        Self::of(&job.workspace, &job.spec)
    }

    /// Where the jobs of an array wait.
    pub fn of_array(array: &Array) -> Self {
        Self::of(&array.workspace, &array.spec)
    }

    fn of(workspace: &WorkspaceId, spec: &JobSpec) -> Self {
        match &spec.target {
            Target::Cluster(cluster) => Self::Cluster(*cluster),
            Target::Instance(instance) => Self::Instance(*instance),
            Target::Serverless(size) => Self::Serverless(workspace.clone(), size.clone(), spec.tier),
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
    pub(super) fn add(&mut self, spec: &JobSpec, node: Resources, times: u64) {
        self.change(spec, node, times, true);
    }

    /// Adds all of one line.
    pub(super) fn add_all(&mut self, wants: &Wants, node: Resources) {
        self.gangs += wants.gangs;
        for (shape, count) in &wants.shapes {
            self.resize(*shape, node, |before| before + count);
        }
    }

    fn resize(&mut self, shape: Resources, node: Resources, change: impl FnOnce(u64) -> u64) {
        let per_node = node.holds(shape).max(1);
        let count = self.shapes.entry(shape).or_insert(0);
        self.packed -= count.div_ceil(per_node);
        *count = change(*count);
        self.packed += count.div_ceil(per_node);
        if *count == 0 {
            self.shapes.remove(&shape);
        }
    }

    fn remove(&mut self, spec: &JobSpec, node: Resources, times: u64) {
        self.change(spec, node, times, false);
    }

    fn change(&mut self, spec: &JobSpec, node: Resources, times: u64, is_added: bool) {
        if spec.nodes > 1 {
            let nodes = u64::from(spec.nodes) * times;
            self.gangs = if is_added { self.gangs + nodes } else { self.gangs.saturating_sub(nodes) };
            return;
        }
        self.resize(spec.shape, node, |count| if is_added { count + times } else { count.saturating_sub(times) });
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
    pub queue: Queue,
    /// Jobs that are not over, without those that are not made yet.
    pub jobs: BTreeSet<JobId>,
    /// Arrays with jobs that are not made yet, by their first jobs.
    pub arrays: BTreeSet<JobId>,
    /// How many such jobs there are.
    pub unmade: u64,
    /// Those of them that are on nodes, by when they are over at the latest; not those without a time limit.
    pub ends: BTreeSet<(Mono, JobId)>,
    /// What the queue needs.
    pub demand: Demand,
    pub nodes: BTreeSet<NodeId>,
    /// Those that take jobs, by what they have free.
    pub free: BTreeMap<Resources, BTreeSet<NodeId>>,
    /// Those that take jobs and have none, the longest idle first.
    pub idle: BTreeSet<(Mono, NodeId)>,
    /// Those that take jobs and have some, by how many they have ahead of time.
    pub ahead: BTreeSet<(usize, NodeId)>,
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
    pub(super) fn add_job(&mut self, job: &Job, share: u128) {
        self.jobs.insert(job.id);
        self.ends.extend(job.ends().map(|end| (end, job.id)));
        if job.is_eligible() {
            self.queue.insert(job, share);
            self.demand.add(&job.spec, self.shape, 1);
        }
    }

    /// The jobs of an array that are not made yet.
    pub(super) fn add_rest(&mut self, array: &Array, share: u128) {
        if array.rest.is_empty() {
            return;
        }
        self.arrays.insert(array.first);
        self.unmade += array.unmade();
        if array.is_eligible() {
            Run::all(array).for_each(|run| self.queue.insert_run(&Standing::of_rest(array), run, share));
            self.demand.add(&array.spec, self.shape, array.unmade());
        }
    }

    pub(super) fn remove_rest(&mut self, array: &Array) {
        if !self.arrays.remove(&array.first) {
            return;
        }
        self.unmade -= array.unmade();
        if array.is_eligible() {
            for run in Run::all(array) {
                self.queue.remove_run(&Standing::of_rest(array), run);
            }
            self.demand.remove(&array.spec, self.shape, array.unmade());
        }
    }

    /// A job of an array is made, and stands where it stood.
    pub(super) fn make(&mut self, job: &Job, array: &Array) {
        self.unmade -= 1;
        if array.rest.is_empty() {
            self.arrays.remove(&array.first);
        }
        self.jobs.insert(job.id);
        if job.is_eligible() {
            self.queue.make(job);
        }
    }

    /// How many jobs are not over, those that are not made yet among them.
    pub fn all_jobs(&self) -> u64 {
        self.jobs.len() as u64 + self.unmade
    }

    /// Its nodes are others from now on, so the queue needs another number of them.
    pub(super) fn reshape(&mut self, shape: Resources, jobs: &BTreeMap<JobId, Job>, arrays: &BTreeMap<JobId, Array>) {
        self.shape = shape;
        self.demand = Demand::default();
        for job in self.jobs.iter().filter_map(|id| jobs.get(id)).filter(|job| job.is_eligible()) {
            self.demand.add(&job.spec, shape, 1);
        }
        for array in self.arrays.iter().filter_map(|id| arrays.get(id)).filter(|array| array.is_eligible()) {
            self.demand.add(&array.spec, shape, array.unmade());
        }
    }

    pub(super) fn remove_job(&mut self, job: &Job) {
        self.jobs.remove(&job.id);
        if let Some(end) = job.ends() {
            self.ends.remove(&(end, job.id));
        }
        if job.is_eligible() && self.queue.remove(job) {
            self.demand.remove(&job.spec, self.shape, 1);
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
                } else {
                    self.ahead.insert((on.ahead.len(), node.id));
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
                self.ahead.remove(&(on.ahead.len(), node.id));
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

    /// Whether anything that waits may fit on what is free now. Looks at the shapes that wait, not at the
    /// jobs; where there are many, or jobs that need several nodes, it says yes.
    pub(crate) fn may_fit(&self) -> bool {
        let shapes = &self.demand.shapes;
        self.demand.gangs > 0
            || shapes.len() > MOST_SHAPES
            || shapes.keys().any(|shape| !self.fitting(*shape, 1).is_empty())
    }

    /// Nodes that are on their way out.
    pub fn leaving(&self) -> u64 {
        self.nodes.len() as u64 - self.live
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.arrays.is_empty() && self.nodes.is_empty()
    }
}

/// What runs on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnNode {
    /// Jobs with a part there, in the order of their numbers.
    pub jobs: Vec<JobId>,
    pub free: Resources,
    /// Those of the jobs that it has ahead of time, in the order in which it will start them.
    pub ahead: Vec<JobId>,
}

impl OnNode {
    /// A job comes onto the node.
    pub(crate) fn add(&mut self, job: JobId, taken: Resources) {
        if let Err(place) = self.jobs.binary_search(&job) {
            self.jobs.insert(place, job);
            self.free = self.free.minus(taken);
        }
    }

    /// A job comes onto the node ahead of time.
    pub(crate) fn add_ahead(&mut self, job: JobId) {
        if let Err(place) = self.jobs.binary_search(&job) {
            self.jobs.insert(place, job);
            self.ahead.push(job);
        }
    }

    /// There is room for a job that was there ahead of time.
    pub(crate) fn make_room(&mut self, job: JobId, taken: Resources) {
        self.ahead.retain(|other| *other != job);
        self.free = self.free.minus(taken);
    }

    /// A job is off the node.
    pub(crate) fn remove(&mut self, job: JobId, taken: Resources) {
        if let Ok(place) = self.jobs.binary_search(&job) {
            self.jobs.remove(place);
            self.ahead.retain(|other| *other != job);
            self.free = self.free.plus(taken);
        }
    }
}
