//! Serverless jobs: nodes of their own, made for them together and released with them.

use std::collections::BTreeSet;

use crate::compute::cluster::{LAUNCH_PAUSE, LAUNCH_PAUSE_MOST};
use crate::compute::job::{Hold, JobPhase, Verdict};
use crate::compute::node::Holder;
use crate::compute::{JobId, NodeId};
use crate::id::UserId;
use crate::reason::Reason;
use crate::text::Text;
use crate::world::{About, PoolKey, World};

impl World {
    /// Makes nodes for the jobs that wait, in order, as far as quota and room go. Whose own quota is used up
    /// is passed by; what all share is waited for in order.
    pub(super) fn serve(&mut self, key: &PoolKey) {
        let PoolKey::Serverless(workspace, size, tier) = key else { return };
        let Some(size) = self.sizes.get(size).cloned() else { return };
        let mut passed_by = BTreeSet::new();
        while let Some(id) = self.next_to_serve(key, &passed_by) {
            self.make_job(id);
            let Some(job) = self.jobs.get(&id) else { return };
            if self.own_limit(job).is_some() {
                self.let_pass(id, key);
                continue;
            }
            let (count, owner) = (u64::from(job.spec.nodes), job.owner.clone());
            // All of them or none, so that two jobs never hold half of what each needs.
            let blocked = self.blocked(workspace, Some(&owner), &size, count, true);
            if let Some(reason) = blocked.or_else(|| self.spared_for(*tier, &size)) {
                if let Some(why) = self.never_for(id) {
                    self.set_aside(id, why);
                    continue;
                }
                self.starve(key, &reason, 1);
                if matches!(&reason, Reason::QuotaInUse { shortage } if shortage.is_personal) {
                    passed_by.insert(owner);
                    continue;
                }
                return;
            }
            let nodes: Vec<NodeId> =
                (0..count).map(|_| self.launch(workspace, Holder::Job(id), Some(&owner), &size)).collect();
            self.edit_job(id, |job| job.own_nodes = nodes);
            self.decide(workspace, About::Job(id), Reason::OwnNodes { added: count, size: size.name.to_string() });
        }
    }

    /// Who is first in a serverless queue, leaving these people out.
    pub(super) fn next_to_serve(&self, key: &PoolKey, passed_by: &BTreeSet<UserId>) -> Option<JobId> {
        let is_passed_by = |id: &JobId| self.owner_of(*id).is_some_and(|owner| passed_by.contains(owner));
        self.pools.get(key)?.queue.heads().find(|id| !is_passed_by(id))
    }

    /// One of a job's own nodes is up; when all are, it is handed over.
    pub(super) fn own_node_up(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id).filter(|job| job.is_queued()) else { return };
        let are_all_up = job.own_nodes.len() == job.spec.nodes as usize
            && job
                .own_nodes
                .iter()
                .all(|node| self.nodes.get(node).is_some_and(crate::compute::node::Node::takes_jobs));
        if are_all_up {
            let nodes = job.own_nodes.clone();
            self.edit_job(id, |job| job.launch_failures = 0);
            self.assign(id, nodes);
        }
    }

    /// A launch for it failed: all its nodes are given back, and it waits before it tries again.
    pub(super) fn own_launch_failed(&mut self, id: JobId, detail: &Text) {
        let now = self.now.mono;
        let Some(job) = self.jobs.get(&id).filter(|job| job.is_queued()) else { return };
        let (nodes, failures) = (job.own_nodes.clone(), job.launch_failures);
        let until = now.plus(LAUNCH_PAUSE.doubled(failures, LAUNCH_PAUSE_MOST));
        for node in nodes {
            self.release(node, Reason::JobDone { job: id });
        }
        self.edit_job(id, |job| {
            job.own_nodes.clear();
            job.launch_failures = failures.saturating_add(1);
            job.phase =
                JobPhase::Queued { hold: Some(Hold::Launch { detail: detail.clone(), until }), gathering: None };
        });
    }

    /// One of a job's own nodes was lost. If the job ran, it ends with the node; if it waited, it tries
    /// again.
    pub(super) fn own_node_lost(&mut self, id: JobId, verdict: Verdict) {
        if self.jobs.get(&id).is_some_and(crate::compute::job::Job::is_queued) {
            self.own_launch_failed(id, &verdict.phrase().into());
        }
    }

    /// One of a job's own nodes is gone.
    pub(super) fn own_node_gone(&mut self, id: JobId, node: NodeId) {
        let Some(job) = self.jobs.get(&id) else { return };
        if !job.own_nodes.contains(&node) {
            return;
        }
        if job.is_queued() {
            self.own_launch_failed(id, &Reason::NodeGone { node }.sentence().into());
        } else {
            self.edit_job(id, |job| job.own_nodes.retain(|other| *other != node));
        }
    }
}
