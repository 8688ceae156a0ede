//! The World: everything alive, and the one way to change it.
//!
//! A record ([`Instance`], [`Job`] …) is plain data and all that the store keeps. The indexes beside the
//! records follow from them: every change of a record goes through an `edit_…` function, which takes the
//! record out of all indexes, changes it, puts it back, and notes it as changed. So no rule can forget an
//! index, and a World that is loaded from its records is the World that was saved.
//!
//! What is over is not here: an ended job leaves with [`Outcome::ended`], a node that is gone with
//! [`Outcome::gone`].

mod arrays;
pub mod audit;
mod budgets;
mod excerpt;
mod explain;
pub mod input;
pub mod outcome;
mod people;
mod planned;
pub mod pool;
pub mod queue;
mod record;
mod usage;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use self::arrays::{Awaited, EndedRest, Waiter};
pub use self::excerpt::Excerpt;
pub use self::input::{
    AllocationKey, ArrayChange, ClusterChange, Command, Exit, FoundNode, Input, MoveTo, NewInstance, Order, Report,
    ScheduleTarget,
};
pub use self::outcome::{About, Answer, Charge, Decision, Effect, EndedJob, Key, LedgerKey, Outcome};
pub use self::people::{FairShareStanding, Person, Running};
pub use self::planned::{NextLine, PlannedStart, PlannedStop, WeekEntry, WeekPlan};
pub use self::pool::{OnNode, Pool, PoolKey};
pub use self::queue::{Place, Queue};
pub use self::record::Record;
pub use self::usage::Usage;
use crate::compute::array::{Array, MADE_AT_ONCE};
use crate::compute::budget::{Budget, BudgetKey};
use crate::compute::cluster::Cluster;
use crate::compute::idle::IdleRules;
use crate::compute::instance::Instance;
use crate::compute::job::{EndedAs, Job};
use crate::compute::node::{Holder, Node};
use crate::compute::quota::{LimitKey, Resource, UseKey};
use crate::compute::size::{ComputeName, SiteName, Size, SizeName};
use crate::compute::{ClusterId, InstanceId, JobId, NodeId, Resources, ScheduleId};
use crate::id::WorkspaceId;
use crate::reason::Reason;
use crate::schedule::{Schedule, Wheel};
use crate::text::Text;
use crate::time::{Mono, Now, Span, Timestamp};

/// Live jobs that one engine keeps.
pub const MAX_LIVE_JOBS: usize = 2_000_000;

/// A node's time is charged at least so often.
pub const SETTLE_EVERY: Span = Span::hours(1);

/// What belongs to the engine as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The last instance's number; so for the next four.
    pub instances: u64,
    /// The last cluster's number.
    pub clusters: u64,
    /// The last node's number.
    pub nodes: u64,
    /// The last job's number.
    pub jobs: u64,
    /// The last schedule's number.
    pub schedules: u64,
    /// Who paused all acting, and why.
    pub pause: Option<EnginePause>,
    /// Up to when schedules were looked at.
    pub checked: Timestamp,
}

/// Acting is paused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnginePause {
    pub by: Text,
    pub why: String,
    pub since: Mono,
}

/// A place where nodes are made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    pub name: SiteName,
    /// What all its nodes together may have.
    pub capacity: Resources,
}

/// A schedule and what it acts on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleEntry {
    pub id: ScheduleId,
    pub workspace: WorkspaceId,
    /// What it acts on.
    pub target: ScheduleTarget,
    /// What it does, when.
    pub schedule: Schedule,
}

/// Something that was found and is not known. It is shown and left alone until somebody decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownNode {
    pub site: SiteName,
    /// What the driver calls it.
    pub name: String,
    /// Since when it is known to exist.
    pub since: Timestamp,
    /// Whether somebody decided that it goes.
    pub is_leaving: bool,
}

/// An instance or a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ComputeRef {
    Instance(InstanceId),
    Cluster(ClusterId),
}

/// What a pool lacks that another one might give back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// Room on a site.
    Room(SiteName),
    /// A quota of the workspace.
    Quota(WorkspaceId, Resource),
    /// A quota of one person, which no cluster's node counts against.
    OwnQuota,
    /// Nodes that would only be kept ready; nobody gives anything for that.
    Warm,
}

/// What has a deadline.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    Node(NodeId),
    Job(JobId),
    Array(JobId),
    Instance(InstanceId),
    Budgets(WorkspaceId),
    Pool(PoolKey),
}

/// What the indexes keep of a job that is in no queue and waits for nobody.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    ends: Option<Mono>,
    deadline: Option<Mono>,
}

impl Times {
    /// None if there is more to keep.
    fn of(job: &Job) -> Option<Self> {
        let is_plain = !job.is_eligible() && Awaited::all_of(&job.spec).is_empty();
        is_plain.then(|| Self { ends: job.ends(), deadline: job.deadline() })
    }
}

/// Everything alive.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub(crate) state: State,
    pub(crate) sites: BTreeMap<SiteName, Site>,
    pub(crate) sizes: BTreeMap<SizeName, Size>,
    pub(crate) limits: BTreeMap<LimitKey, u64>,
    pub(crate) idle_rules: BTreeMap<WorkspaceId, IdleRules>,
    pub(crate) budgets: BTreeMap<BudgetKey, Budget>,
    pub(crate) instances: BTreeMap<InstanceId, Instance>,
    pub(crate) clusters: BTreeMap<ClusterId, Cluster>,
    pub(crate) nodes: BTreeMap<NodeId, Node>,
    pub(crate) jobs: BTreeMap<JobId, Job>,
    /// By their first jobs.
    pub(crate) arrays: BTreeMap<JobId, Array>,
    pub(crate) schedules: BTreeMap<ScheduleId, ScheduleEntry>,
    pub(crate) unknown: BTreeMap<(SiteName, String), UnknownNode>,
    /// Shares and the rules for them, which are records, and what follows about people from jobs.
    pub(crate) teams: BTreeMap<WorkspaceId, people::Team>,

    // Everything below follows from the records above.
    pub(crate) pools: BTreeMap<PoolKey, Pool>,
    pub(crate) on: BTreeMap<NodeId, OnNode>,
    pub(crate) names: BTreeMap<(WorkspaceId, ComputeName), ComputeRef>,
    pub(crate) usage: BTreeMap<UseKey, Usage>,
    pub(crate) used_capacity: BTreeMap<SiteName, Resources>,
    /// Nodes that dedicated work may take back.
    pub(crate) preemptible: BTreeMap<SiteName, BTreeSet<NodeId>>,
    /// What comes back from nodes that are being removed.
    pub(crate) coming_back: BTreeMap<SiteName, Resources>,
    pub(crate) wheel: Wheel<ScheduleId>,
    /// When a running instance is to be looked at because a stop of it comes.
    pub(crate) looks: Wheel<InstanceId>,
    pub(crate) by_target: BTreeMap<ScheduleTarget, BTreeSet<ScheduleId>>,
    /// Who waits for the end of which job or array.
    pub(crate) dependents: BTreeMap<Awaited, BTreeSet<Waiter>>,
    /// How many jobs of each array are made and not over.
    pub(crate) members: BTreeMap<JobId, u32>,
    /// What the nodes of workspaces cost; only where there are budgets.
    pub(crate) burns: BTreeMap<WorkspaceId, budgets::Burn>,
    /// When the months of budgets are over.
    pub(crate) budget_ends: Wheel<BudgetKey>,
    budget_looks: BTreeMap<WorkspaceId, Mono>,
    deadlines: BTreeSet<(Mono, Due)>,
    pool_wakes: BTreeMap<PoolKey, Mono>,

    // What the step in progress has to do.
    pub(crate) now: Now,
    /// What the wall clock showed a step ago.
    pub(crate) wall_before: Timestamp,
    pub(crate) dirty: BTreeSet<PoolKey>,
    /// Pools that wait for quota or capacity, looked at again when either is given back.
    pub(crate) starved: BTreeMap<PoolKey, Lack>,
    kicked: BTreeSet<Key>,
    /// Workspaces whose budgets are looked at in this step.
    pub(crate) look_at_budgets: BTreeSet<WorkspaceId>,
    /// What is over and others wait for.
    pub(crate) awaited: Vec<(Awaited, EndedAs)>,
    pub(crate) out: Outcome,
    /// Arrays up to this size are made at once, unless that is [`MADE_AT_ONCE`].
    pub(crate) made_at_once: Option<u32>,
}

impl World {
    /// The time of the last step, on the clock that only goes forward.
    pub const fn mono(&self) -> Mono {
        self.now.mono
    }

    /// What belongs to the engine as a whole.
    pub const fn state(&self) -> &State {
        &self.state
    }

    pub fn instance(&self, id: InstanceId) -> Option<&Instance> {
        self.instances.get(&id)
    }

    pub fn cluster(&self, id: ClusterId) -> Option<&Cluster> {
        self.clusters.get(&id)
    }

    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(&id)
    }

    /// A job that is not over. Of a large array only those are here that were made; see [`World::look_up`].
    pub fn job(&self, id: JobId) -> Option<&Job> {
        self.jobs.get(&id)
    }

    pub fn instances(&self) -> impl Iterator<Item = &Instance> {
        self.instances.values()
    }

    pub fn clusters(&self) -> impl Iterator<Item = &Cluster> {
        self.clusters.values()
    }

    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// All jobs that are not over, without those that are not made yet.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.values()
    }

    pub fn schedules(&self) -> impl Iterator<Item = &ScheduleEntry> {
        self.schedules.values()
    }

    /// The schedules of one thing, in the order in which they were made.
    pub fn schedules_for(&self, target: ScheduleTarget) -> impl Iterator<Item = &ScheduleEntry> {
        let ids = self.by_target.get(&target).into_iter().flatten();
        ids.filter_map(|id| self.schedules.get(id))
    }

    /// What was found and is not known.
    pub fn unknown(&self) -> impl Iterator<Item = &UnknownNode> {
        self.unknown.values()
    }

    pub fn sizes(&self) -> impl Iterator<Item = &Size> {
        self.sizes.values()
    }

    /// What a workspace allows and demands of idle shutdown.
    pub fn idle_rules(&self, workspace: &WorkspaceId) -> IdleRules {
        self.idle_rules.get(workspace).cloned().unwrap_or_default()
    }

    /// The pool of a compute.
    pub fn pool(&self, key: &PoolKey) -> Option<&Pool> {
        self.pools.get(key)
    }

    /// What runs on a node.
    pub fn on_node(&self, node: NodeId) -> Option<&OnNode> {
        self.on.get(&node)
    }

    /// How many jobs wait to be started.
    pub fn queued(&self) -> usize {
        self.pools.values().map(|pool| pool.queue.len()).sum()
    }

    /// The numbers that `/metrics` shows: instances, clusters, nodes, jobs, schedules, unknown things.
    pub fn counts(&self) -> [(&'static str, usize); 6] {
        [
            ("instances", self.instances.len()),
            ("clusters", self.clusters.len()),
            ("nodes", self.nodes.len()),
            ("jobs", self.jobs.len() + usize::try_from(self.unmade()).unwrap_or_default()),
            ("schedules", self.schedules.len()),
            ("unknown", self.unknown.len()),
        ]
    }

    // ---- changing records
    // -------------------------------------------------------------------------------------------

    pub(crate) fn changed(&mut self, key: Key) {
        self.out.changed.insert(key);
    }

    pub(crate) fn gone(&mut self, key: Key) {
        self.out.changed.remove(&key);
        self.out.gone.insert(key);
    }

    /// Notes that what this record wants done must be told (again).
    pub(crate) fn kick(&mut self, key: Key) {
        self.kicked.insert(key);
    }

    pub(crate) fn take_kicked(&mut self) -> BTreeSet<Key> {
        std::mem::take(&mut self.kicked)
    }

    pub(crate) fn decide(&mut self, workspace: &WorkspaceId, about: About, reason: Reason) {
        self.out.decisions.push(Decision { workspace: Some(workspace.clone()), about, reason });
    }

    pub(crate) fn pool_mut(&mut self, key: &PoolKey) -> &mut Pool {
        if !self.pools.contains_key(key) {
            let shape = self.pool_shape(key);
            let queue = Queue::new(self.queue_policy(key).order);
            self.pools.insert(key.clone(), Pool { shape, queue, ..Pool::default() });
        }
        self.pools.get_mut(key).expect("it was just put there")
    }

    /// A cluster's size is fixed, but the catalogue may change under it: what counts is what its next node
    /// would have.
    fn pool_shape(&self, key: &PoolKey) -> Resources {
        let size = match key {
            PoolKey::Cluster(id) => self.clusters.get(id).map(|cluster| &cluster.size),
            PoolKey::Instance(id) => self.instances.get(id).map(|instance| &instance.size),
            PoolKey::Serverless(_, size, _) => Some(size),
        };
        size.and_then(|size| self.sizes.get(size)).map_or(Resources::NONE, |size| size.shape)
    }

    fn drop_pool_if_empty(&mut self, key: &PoolKey) {
        if self.pools.get(key).is_some_and(Pool::is_empty) {
            self.pools.remove(key);
        }
    }

    fn index_job(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id) else { return };
        let (key, deadline) = (PoolKey::of_job(job), job.deadline());
        let share = if job.is_eligible() { self.fair_share_key(&job.workspace, job.line()) } else { 0 };
        let line = job.is_eligible().then(|| (job.workspace.clone(), job.line().clone()));
        for other in Awaited::all_of(&job.spec) {
            self.dependents.entry(other).or_default().insert(Waiter::Job(id));
        }
        self.pool_mut(&key);
        if let (Some(pool), Some(job)) = (self.pools.get_mut(&key), self.jobs.get(&id)) {
            let people = pool.queue.people().len();
            pool.add_job(job, share);
            if pool.queue.people().len() != people
                && let Some((workspace, person)) = line
            {
                self.note_line(&workspace, &person, &key);
            }
        }
        self.deadlines.extend(deadline.map(|at| (at, Due::Job(id))));
        self.dirty.insert(key);
    }

    fn unindex_job(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id) else { return };
        let (key, deadline) = (PoolKey::of_job(job), job.deadline());
        let line = job.is_eligible().then(|| (job.workspace.clone(), job.line().clone()));
        for other in Awaited::all_of(&job.spec) {
            arrays::stop_waiting(&mut self.dependents, other, Waiter::Job(id));
        }
        if let Some(pool) = self.pools.get_mut(&key) {
            let people = pool.queue.people().len();
            pool.remove_job(job);
            if pool.queue.people().len() != people
                && let Some((workspace, person)) = line
            {
                self.note_line(&workspace, &person, &key);
            }
        }
        if let Some(at) = deadline {
            self.deadlines.remove(&(at, Due::Job(id)));
        }
        self.dirty.insert(key);
    }

    pub(crate) fn insert_job(&mut self, job: Job) {
        let id = job.id;
        let (workspace, owner, counted) = (job.workspace.clone(), job.owner.clone(), Self::counted(&job));
        if let Some(place) = job.array {
            *self.members.entry(place.first).or_default() += 1;
        }
        self.jobs.insert(id, job);
        self.index_job(id);
        self.count_job(&workspace, &owner, people::Counted::default(), counted);
        self.changed(Key::Job(id));
    }

    pub(crate) fn edit_job<T>(&mut self, id: JobId, change: impl FnOnce(&mut Job) -> T) -> Option<T> {
        let job = self.jobs.get(&id)?;
        let (before, times) = (Self::counted(job), Times::of(job));
        if times.is_none() {
            self.unindex_job(id);
        }
        let job = self.jobs.get_mut(&id)?;
        let result = change(job);
        let after = Self::counted(job);
        let owner = (before != after).then(|| (job.workspace.clone(), job.owner.clone()));
        match (times, Times::of(job)) {
            (Some(before), Some(after)) => {
                let key = PoolKey::of_job(job);
                self.retime_job(id, key, before, after);
            }
            (Some(before), None) => {
                let key = PoolKey::of_job(job);
                self.retime_job(id, key, before, Times::default());
                self.index_job(id);
            }
            (None, _) => self.index_job(id),
        }
        if let Some((workspace, owner)) = owner {
            self.count_job(&workspace, &owner, before, after);
        }
        self.changed(Key::Job(id));
        Some(result)
    }

    /// A job that is in no queue is found by its pool and by its times alone.
    fn retime_job(&mut self, id: JobId, key: PoolKey, before: Times, after: Times) {
        if before.ends != after.ends
            && let Some(pool) = self.pools.get_mut(&key)
        {
            if let Some(end) = before.ends {
                pool.ends.remove(&(end, id));
            }
            pool.ends.extend(after.ends.map(|end| (end, id)));
        }
        if before.deadline != after.deadline {
            if let Some(at) = before.deadline {
                self.deadlines.remove(&(at, Due::Job(id)));
            }
            self.deadlines.extend(after.deadline.map(|at| (at, Due::Job(id))));
        }
        self.dirty.insert(key);
    }

    pub(crate) fn remove_job(&mut self, id: JobId) -> Option<Job> {
        self.unindex_job(id);
        let job = self.jobs.remove(&id)?;
        if let Some(place) = job.array
            && let Some(members) = self.members.get_mut(&place.first)
        {
            *members -= 1;
            if *members == 0 {
                self.members.remove(&place.first);
            }
        }
        self.count_job(&job.workspace, &job.owner, Self::counted(&job), people::Counted::default());
        self.drop_pool_if_empty(&PoolKey::of_job(&job));
        self.gone(Key::Job(id));
        Some(job)
    }

    /// A node's phase, or the hourly charge, whichever comes first.
    fn node_deadline(node: &Node) -> Mono {
        let settle = node.settled.plus(SETTLE_EVERY);
        node.deadline().map_or(settle, |until| until.min(settle))
    }

    fn index_node(&mut self, id: NodeId) {
        self.count_back(id, true);
        self.count_burn(id, true);
        let Some(node) = self.nodes.get(&id) else { return };
        self.deadlines.insert((Self::node_deadline(node), Due::Node(id)));
        let Some(key) = PoolKey::of_node(node) else {
            if let Holder::Job(job) = node.holder
                && let Some(job) = self.jobs.get(&job)
            {
                self.dirty.insert(PoolKey::of_job(job));
            }
            return;
        };
        self.pool_mut(&key);
        if let (Some(pool), Some(node), Some(on)) = (self.pools.get_mut(&key), self.nodes.get(&id), self.on.get(&id)) {
            pool.add_node(node, on);
        }
        self.dirty.insert(key);
    }

    fn unindex_node(&mut self, id: NodeId) {
        self.count_back(id, false);
        self.count_burn(id, false);
        let Some(node) = self.nodes.get(&id) else { return };
        self.deadlines.remove(&(Self::node_deadline(node), Due::Node(id)));
        let Some(key) = PoolKey::of_node(node) else { return };
        if let (Some(pool), Some(on)) = (self.pools.get_mut(&key), self.on.get(&id)) {
            pool.remove_node(node, on);
        }
        self.dirty.insert(key);
    }

    pub(crate) fn insert_node(&mut self, node: Node) {
        let id = node.id;
        // More is spent from now on than was reckoned with.
        if !self.budgets.is_empty() {
            self.look_at_budgets.insert(node.workspace.clone());
        }
        self.take_capacity(&node.site, node.shape);
        self.count_node(&node, true);
        self.on.insert(id, OnNode { jobs: Vec::new(), free: node.shape, ahead: Vec::new() });
        self.nodes.insert(id, node);
        self.index_node(id);
        self.changed(Key::Node(id));
    }

    pub(crate) fn edit_node<T>(&mut self, id: NodeId, change: impl FnOnce(&mut Node, &mut OnNode) -> T) -> Option<T> {
        self.unindex_node(id);
        let result = match (self.nodes.get_mut(&id), self.on.get_mut(&id)) {
            (Some(node), Some(on)) => change(node, on),
            _ => return None,
        };
        self.index_node(id);
        self.changed(Key::Node(id));
        Some(result)
    }

    /// A node's time is in the ledger up to now. Only its deadline and what it will have cost follow from
    /// that.
    pub(crate) fn settle_node(&mut self, id: NodeId) {
        self.count_burn(id, false);
        let now = self.now.mono;
        if let Some(node) = self.nodes.get_mut(&id) {
            let before = Self::node_deadline(node);
            node.settled = now;
            let after = Self::node_deadline(node);
            if before != after {
                self.deadlines.remove(&(before, Due::Node(id)));
                self.deadlines.insert((after, Due::Node(id)));
            }
            self.changed(Key::Node(id));
        }
        self.count_burn(id, true);
    }

    pub(crate) fn remove_node(&mut self, id: NodeId) -> Option<Node> {
        self.unindex_node(id);
        let node = self.nodes.remove(&id)?;
        self.on.remove(&id);
        self.give_capacity(&node.site, node.shape);
        self.count_node(&node, false);
        if let Some(key) = PoolKey::of_node(&node) {
            self.drop_pool_if_empty(&key);
            self.dirty.insert(key);
        }
        self.wake_starved();
        self.gone(Key::Node(id));
        Some(node)
    }

    /// Something was given back: whoever waits for quota or capacity is looked at again.
    pub(crate) fn wake_starved(&mut self) {
        // They stay on the list until they have been looked at: others decide by it meanwhile.
        self.dirty.extend(self.starved.keys().cloned());
    }

    fn index_instance(&mut self, id: InstanceId) {
        let Some(instance) = self.instances.get(&id) else { return };
        let deadline = instance.deadline();
        let name = (instance.workspace.clone(), instance.name.clone());
        self.count_instance(id, true);
        self.deadlines.extend(deadline.map(|at| (at, Due::Instance(id))));
        self.names.insert(name, ComputeRef::Instance(id));
        let key = PoolKey::Instance(id);
        let shape = self.pool_shape(&key);
        if let Some(pool) = self.pools.get_mut(&key).filter(|pool| pool.shape != shape) {
            pool.reshape(shape, &self.jobs, &self.arrays);
        }
        self.dirty.insert(key);
        self.plan_look(id);
    }

    fn unindex_instance(&mut self, id: InstanceId) {
        let Some(instance) = self.instances.get(&id) else { return };
        let deadline = instance.deadline();
        let name = (instance.workspace.clone(), instance.name.clone());
        self.count_instance(id, false);
        if let Some(at) = deadline {
            self.deadlines.remove(&(at, Due::Instance(id)));
        }
        self.names.remove(&name);
        self.dirty.insert(PoolKey::Instance(id));
    }

    pub(crate) fn insert_instance(&mut self, instance: Instance) {
        let id = instance.id;
        self.instances.insert(id, instance);
        self.index_instance(id);
        self.changed(Key::Instance(id));
    }

    pub(crate) fn edit_instance<T>(&mut self, id: InstanceId, change: impl FnOnce(&mut Instance) -> T) -> Option<T> {
        let had_quota = self.instances.get(&id)?.has_quota;
        self.unindex_instance(id);
        let result = change(self.instances.get_mut(&id)?);
        self.index_instance(id);
        self.changed(Key::Instance(id));
        if had_quota && !self.instances.get(&id).is_some_and(|instance| instance.has_quota) {
            self.wake_starved();
        }
        Some(result)
    }

    pub(crate) fn remove_instance(&mut self, id: InstanceId) -> Option<Instance> {
        self.unindex_instance(id);
        let instance = self.instances.remove(&id)?;
        self.looks.remove(&id);
        self.wake_starved();
        self.gone(Key::Instance(id));
        Some(instance)
    }

    fn index_cluster(&mut self, id: ClusterId) {
        let Some(cluster) = self.clusters.get(&id) else { return };
        let name = (cluster.workspace.clone(), cluster.name.clone());
        self.names.insert(name, ComputeRef::Cluster(id));
        self.count_cluster(id, true);
        self.dirty.insert(PoolKey::Cluster(id));
    }

    fn unindex_cluster(&mut self, id: ClusterId) {
        let Some(cluster) = self.clusters.get(&id) else { return };
        let name = (cluster.workspace.clone(), cluster.name.clone());
        self.names.remove(&name);
        self.count_cluster(id, false);
        self.dirty.insert(PoolKey::Cluster(id));
    }

    pub(crate) fn insert_cluster(&mut self, cluster: Cluster) {
        let id = cluster.id;
        self.clusters.insert(id, cluster);
        self.index_cluster(id);
        self.changed(Key::Cluster(id));
    }

    pub(crate) fn edit_cluster<T>(&mut self, id: ClusterId, change: impl FnOnce(&mut Cluster) -> T) -> Option<T> {
        self.unindex_cluster(id);
        let result = change(self.clusters.get_mut(&id)?);
        self.index_cluster(id);
        self.changed(Key::Cluster(id));
        Some(result)
    }

    /// Changes what no index and no rule depends on: the plan that people read.
    pub(crate) fn note_plan(&mut self, id: ClusterId, change: impl FnOnce(&mut Cluster)) {
        if let Some(cluster) = self.clusters.get_mut(&id) {
            change(cluster);
            self.changed(Key::Cluster(id));
        }
    }

    pub(crate) fn remove_cluster(&mut self, id: ClusterId) -> Option<Cluster> {
        self.unindex_cluster(id);
        let cluster = self.clusters.remove(&id)?;
        self.wake_starved();
        self.gone(Key::Cluster(id));
        Some(cluster)
    }

    pub(crate) fn put_schedule(&mut self, entry: ScheduleEntry) {
        let id = entry.id;
        let next = entry.schedule.next_after(self.state.checked.max(entry.schedule.since)).map(|firing| firing.at);
        self.wheel.set(id, next);
        let target = entry.target;
        self.by_target.entry(target).or_default().insert(id);
        self.schedules.insert(id, entry);
        self.changed(Key::Schedule(id));
        self.schedules_changed(target);
    }

    pub(crate) fn remove_schedule(&mut self, id: ScheduleId) -> Option<ScheduleEntry> {
        let entry = self.schedules.remove(&id)?;
        self.wheel.remove(&id);
        if let Some(ids) = self.by_target.get_mut(&entry.target) {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_target.remove(&entry.target);
            }
        }
        self.gone(Key::Schedule(id));
        self.schedules_changed(entry.target);
        Some(entry)
    }

    /// Other stops may come now.
    fn schedules_changed(&mut self, target: ScheduleTarget) {
        if let ScheduleTarget::Instance(id) = target
            && self.instances.contains_key(&id)
        {
            self.dirty.insert(PoolKey::Instance(id));
            self.plan_look(id);
        }
    }

    pub(crate) fn plan_look(&mut self, id: InstanceId) {
        let at = self.instances.get(&id).and_then(|instance| self.next_look(instance));
        self.looks.set(id, at);
    }

    // ---- deadlines
    // --------------------------------------------------------------------------------------------------

    /// When a pool is looked at again by itself; `None` for when something happens.
    pub(crate) fn set_pool_wake(&mut self, key: &PoolKey, at: Option<Mono>) {
        let before = match at {
            Some(at) => self.pool_wakes.insert(key.clone(), at),
            None => self.pool_wakes.remove(key),
        };
        if let Some(before) = before {
            self.deadlines.remove(&(before, Due::Pool(key.clone())));
        }
        self.deadlines.extend(at.map(|at| (at, Due::Pool(key.clone()))));
    }

    /// Pools whose time to be looked at has come.
    pub(crate) fn due_pools(&self) -> Vec<PoolKey> {
        self.pool_wakes.iter().filter(|(_, at)| **at <= self.now.mono).map(|(key, _)| key.clone()).collect()
    }

    /// When the next pool is to be looked at.
    pub(crate) fn next_pool_wake(&self) -> Option<Mono> {
        self.pool_wakes.values().min().copied()
    }

    /// The earliest deadline that has passed. It stays until its record changes, which every rule sees to.
    pub(crate) fn first_due(&self) -> Option<Due> {
        self.deadlines.first().filter(|(at, _)| *at <= self.now.mono).map(|(_, due)| due.clone())
    }

    pub(crate) fn next_deadline(&self) -> Option<Mono> {
        self.deadlines.first().map(|(at, _)| *at)
    }
}
