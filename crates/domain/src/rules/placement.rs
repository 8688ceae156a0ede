//! Placement: who is first in the queue goes first, onto the fullest nodes that still fit.
//!
//! The head of a queue is overtaken only by what cannot delay it (see [`super::backfill`]), so nothing
//! starves; a job that needs several nodes starts on all of them or on none, and since only the head of a
//! queue keeps nodes waiting, two such jobs cannot wait for each other.

use crate::compute::job::{Allocation, Hold, JobPhase, LOOK_AGAIN, Milestones, START_LIMIT, Target};
use crate::compute::{InstanceId, JobId, NodeId};
use crate::reason::Reason;
use crate::world::{About, Key, PoolKey, World};

impl World {
    /// Starts what can be started on a cluster.
    pub(super) fn place_jobs(&mut self, key: &PoolKey) {
        let PoolKey::Cluster(cluster) = key else { return };
        if !self.clusters.get(cluster).is_some_and(crate::compute::cluster::Cluster::is_active) {
            return;
        }
        while let Some(id) = self.pools.get(key).and_then(|pool| pool.queue.first()) {
            self.make_job(id);
            let Some(job) = self.jobs.get(&id) else { return };
            if self.own_limit(job).is_some() {
                self.let_pass(id, key);
                continue;
            }
            let count = job.spec.nodes as usize;
            let is_gathering = matches!(job.phase, JobPhase::Queued { gathering: Some(_), .. });
            let fitting = self.pools.get(key).map(|pool| pool.fitting(job.takes(), count)).unwrap_or_default();
            if fitting.len() == count {
                self.assign(id, fitting);
                continue;
            }
            if let Some(why) = self.never_for(id) {
                self.set_aside(id, why);
                continue;
            }
            if count == 1 && self.hand_ahead(id, key) {
                continue;
            }
            // Some of its nodes wait for the rest from now on.
            if count > 1 && !fitting.is_empty() && !is_gathering {
                let now = self.now.mono;
                self.edit_job(id, |job| job.phase = JobPhase::Queued { hold: None, gathering: Some(now) });
            }
            self.backfill(key, id);
            return;
        }
    }

    /// Starts what can be started on an instance: one job for each core, as far as memory and GPUs go.
    pub(super) fn place_on_instance(&mut self, id: InstanceId) {
        let key = PoolKey::Instance(id);
        loop {
            let Some(instance) = self.instances.get(&id) else { return };
            let (true, Some(node)) = (instance.takes_jobs(), instance.node) else { return };
            let Some(pool) = self.pools.get(&key) else { return };
            let Some(first) = pool.queue.first() else { return };
            self.make_job(first);
            let (Some(instance), Some(pool)) = (self.instances.get(&id), self.pools.get(&key)) else { return };
            let (Some(job), Some(on)) = (self.jobs.get(&first), self.on.get(&node)) else { return };
            if !job.takes().fits(pool.shape) {
                let (needed, node) = (job.spec.shape, pool.shape);
                let size = instance.size.to_string();
                let fitting = self.sizes_for(needed);
                self.set_aside(first, Reason::TooLarge { needed, node, size, fitting });
                continue;
            }
            let has_slot = (on.jobs.len() as u64) < pool.shape.slots();
            let is_ready = self.nodes.get(&node).is_some_and(crate::compute::node::Node::takes_jobs);
            if !has_slot || !is_ready || !job.takes().fits(on.free) {
                return;
            }
            self.assign(first, vec![node]);
        }
    }

    /// Why the nodes for a job can never come together as things are.
    pub(super) fn never_for(&self, id: JobId) -> Option<Reason> {
        let job = self.jobs.get(&id)?;
        let (size, person) = match &job.spec.target {
            Target::Cluster(cluster) => (&self.clusters.get(cluster)?.size, None),
            Target::Serverless(size) => (size, Some(&job.owner)),
            Target::Instance(_) => return None,
        };
        let size = self.sizes.get(size)?;
        self.never(&job.workspace, person, size, u64::from(job.spec.nodes), job.spec.shape)
    }

    /// A limit or a size has changed since the job was submitted: it keeps nobody waiting, and is looked at
    /// again.
    pub(super) fn set_aside(&mut self, id: JobId, why: Reason) {
        let until = self.now.mono.plus(LOOK_AGAIN);
        let Some(job) = self.jobs.get(&id) else { return };
        let (workspace, array) = (job.workspace.clone(), job.array.map(|place| place.first));
        self.decide(&workspace, About::Job(id), why.clone());
        let hold = Hold::Impossible { why: Box::new(why), until };
        // The rest of its array cannot start either, and is not made to find that out one by one.
        if let Some(first) = array.filter(|first| self.arrays.get(first).is_some_and(|array| !array.rest.is_empty())) {
            self.edit_array(first, |array| array.hold = Some(hold.clone()));
        }
        self.edit_job(id, |job| job.phase = JobPhase::Queued { hold: Some(hold), gathering: None });
    }

    /// Hands a job over to these nodes.
    pub(super) fn assign(&mut self, id: JobId, nodes: Vec<NodeId>) {
        let (until, now) = (self.now.mono.plus(START_LIMIT), self.now);
        let Some((taken, workspace)) = self.jobs.get(&id).map(|job| (job.takes(), job.workspace.clone())) else {
            return;
        };
        self.rebase_fair_shares(&workspace);
        for node in &nodes {
            self.charge_node(*node);
            self.edit_node(*node, |_, on| on.add(id, taken));
        }
        self.edit_job(id, |job| {
            job.attempt += 1;
            job.allocations = nodes.into_iter().map(Allocation::new).collect();
            job.phase = JobPhase::Starting { until };
            job.metered = Some(now.mono);
            job.when = Milestones { assigned: Some(now.wall), ..Milestones::default() };
        });
        self.kick(Key::Job(id));
    }
}
