//! Handing over ahead: where jobs are quick, a node gets the next ones before it has room for them, and
//! starts each as soon as another ends. Otherwise its slots would wait for the engine between any two jobs,
//! longer than the jobs take.
//!
//! Nothing else changes: only the head of the queue is handed over, to one node, and it takes nothing there
//! until the engine has heard of the room. A node on which such a job waits for long is asked to give it
//! back; only its word that the job has not begun puts the job back into the queue.

use crate::compute::job::{
    AHEAD_FOR_EACH, AHEAD_LIMIT, Ahead, Allocation, AllocationState, INSTANT, INSTANT_AHEAD_FOR_EACH, JobPhase,
    MOST_AHEAD, MOST_INSTANT_AHEAD, Milestones, NOT_INSTANT, NOT_QUICK, QUICK, START_LIMIT, Target,
};
use crate::compute::{ClusterId, JobId, NodeId};
use crate::time::Span;
use crate::world::{AllocationKey, Key, PoolKey, World};

impl World {
    /// Learns from a job that has run whether jobs there are quick.
    pub(super) fn note_pace(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id).filter(|job| job.spec.nodes == 1) else { return };
        let Target::Cluster(cluster) = job.spec.target else { return };
        let ran = match job.phase {
            JobPhase::Running { since } => self.now.mono.since(since),
            // Over before it could be said that it ran.
            JobPhase::Starting { .. } => Span::ZERO,
            _ => return,
        };
        let Some((was_quick, was_instant)) = self.pace(cluster) else { return };
        let is_quick = ran <= QUICK || (was_quick && ran <= NOT_QUICK);
        // One alone says little: it counts while others wait there for their turn.
        let mut nodes = job.allocations.iter().filter_map(|allocation| self.on.get(&allocation.node));
        let has_more = nodes.any(|on| !on.ahead.is_empty());
        let is_instant = (ran <= INSTANT && has_more) || (was_instant && ran <= NOT_INSTANT);
        self.set_pace(cluster, is_quick, is_instant);
    }

    /// Whether jobs of a cluster are quick, and whether they are over at once.
    fn pace(&self, cluster: ClusterId) -> Option<(bool, bool)> {
        self.clusters.get(&cluster).map(|cluster| (cluster.is_quick, cluster.is_instant))
    }

    fn set_pace(&mut self, cluster: ClusterId, is_quick: bool, is_instant: bool) {
        if self.pace(cluster).is_some_and(|pace| pace != (is_quick, is_instant)) {
            self.edit_cluster(cluster, |cluster| (cluster.is_quick, cluster.is_instant) = (is_quick, is_instant));
        }
    }

    /// Hands the head of a queue to the node that has the fewest ahead of time. False if none takes it.
    pub(super) fn hand_ahead(&mut self, id: JobId, key: &PoolKey) -> bool {
        let PoolKey::Cluster(cluster) = key else { return false };
        let (for_each, most) = match self.pace(*cluster) {
            Some((true, true)) => (INSTANT_AHEAD_FOR_EACH, MOST_INSTANT_AHEAD),
            Some((true, false)) => (AHEAD_FOR_EACH, MOST_AHEAD),
            _ => return false,
        };
        let (Some(job), Some(pool)) = (self.jobs.get(&id), self.pools.get(key)) else { return false };
        let slots = pool.shape.holds(job.spec.shape);
        let most = slots.saturating_mul(for_each).clamp(2, most);
        let Some((count, node)) = pool.ahead.first().copied() else { return false };
        let has_shape = self.nodes.get(&node).is_some_and(|node| job.spec.shape.fits(node.shape));
        if count as u64 >= most || !has_shape {
            return false;
        }
        let (until, now) = (self.now.mono.plus(AHEAD_LIMIT), self.now);
        let workspace = job.workspace.clone();
        self.rebase_fair_shares(&workspace);
        self.edit_node(node, |_, on| on.add_ahead(id));
        self.edit_job(id, |job| {
            job.attempt += 1;
            job.allocations = vec![Allocation::new(node)];
            job.phase = JobPhase::Starting { until };
            job.ahead = Some(Ahead::Given);
            job.metered = Some(now.mono);
            job.when = Milestones { assigned: Some(now.wall), ..Milestones::default() };
        });
        self.kick(Key::Job(id));
        true
    }

    /// Something on a node has ended: what it has ahead of time gets its room, in the order in which the node
    /// starts it.
    pub(super) fn make_room(&mut self, node: NodeId) {
        let until = self.now.mono.plus(START_LIMIT);
        while let Some(id) = self.on.get(&node).and_then(|on| on.ahead.first().copied()) {
            let (Some(job), Some(on)) = (self.jobs.get(&id), self.on.get(&node)) else { return };
            let shape = job.spec.shape;
            if !shape.fits(on.free) {
                return;
            }
            self.charge_node(node);
            self.edit_node(node, |_, on| on.make_room(id, shape));
            self.edit_job(id, |job| {
                job.ahead = None;
                if let JobPhase::Starting { until: limit } = &mut job.phase {
                    *limit = until;
                }
            });
        }
    }

    /// It has waited too long: others may have room for it by now.
    pub(super) fn ask_back(&mut self, id: JobId) {
        let until = self.now.mono.plus(START_LIMIT);
        let Some(job) = self.jobs.get(&id) else { return };
        if let Target::Cluster(cluster) = job.spec.target {
            self.set_pace(cluster, false, false);
        }
        self.edit_job(id, |job| {
            job.ahead = Some(Ahead::AskedBack);
            job.phase = JobPhase::Starting { until };
        });
        self.kick(Key::Job(id));
    }

    /// A node has given a job back.
    pub(super) fn job_given_back(&mut self, part: AllocationKey) {
        let Some(job) = self.jobs.get(&part.job) else { return };
        let is_only_here = match job.allocations.as_slice() {
            [only] => only.node == part.node && only.state == AllocationState::Assigned,
            _ => false,
        };
        let is_waiting = is_only_here && job.attempt == part.attempt && matches!(job.phase, JobPhase::Starting { .. });
        if !is_waiting {
            return;
        }
        let (taken, now) = (job.takes(), self.now.mono);
        self.charge_node(part.node);
        self.edit_node(part.node, |node, on| {
            on.remove(part.job, taken);
            if on.jobs.is_empty() {
                node.idle_since = now;
            }
        });
        self.edit_job(part.job, |job| {
            job.phase = JobPhase::Queued { hold: None, gathering: None };
            job.ahead = None;
            job.metered = None;
            job.allocations.clear();
            job.when = Milestones::default();
        });
        self.make_room(part.node);
    }
}
