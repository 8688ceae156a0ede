//! Nodes: launches that fail, phases that come to their end, and the two ways out. What drivers and agents
//! say about them is in `reports`.
//!
//! A node leaves in two phases. *Cordoned*, it takes no new jobs and can be called back. *Released*, the
//! driver removes it, and only the driver's word that it is gone ends it: what may still run is never
//! forgotten.

use crate::compute::cluster::FailedLaunch;
use crate::compute::idle::Source;
use crate::compute::instance::InstancePhase;
use crate::compute::job::{AllocationState, JobPhase, Verdict};
use crate::compute::node::{
    DRAIN_LIMIT, Holder, LAUNCH_LIMIT, NodePhase, RELEASE_ALARM, RELEASE_RETRY, RELEASE_RETRY_MOST, SILENCE_LIMIT,
};
use crate::compute::{JobId, NodeId};
use crate::reason::Reason;
use crate::text::Text;
use crate::world::{About, Key, World};

impl World {
    /// A launch came to nothing: what may have been made is removed, and the next try waits.
    pub(super) fn fail_launch(&mut self, id: NodeId, why: Reason, detail: Text) {
        let Some(node) = self.nodes.get(&id) else { return };
        let (holder, workspace) = (node.holder, node.workspace.clone());
        let failed = FailedLaunch { at: self.now.wall, node: id, detail: detail.clone() };
        let now = self.now.mono;
        self.release(id, why.clone());
        match holder {
            Holder::Cluster(cluster) => {
                self.decide(&workspace, About::Cluster(cluster), why);
                self.edit_cluster(cluster, |cluster| cluster.trouble.add(failed, now));
            }
            Holder::Instance(instance) => {
                self.decide(&workspace, About::Instance(instance), why.clone());
                self.instance_launch_failed(instance, failed, why);
            }
            Holder::Job(job) => {
                self.decide(&workspace, About::Job(job), why);
                self.own_launch_failed(job, &detail);
            }
        }
    }

    /// A node that cannot be counted on any more is released, and its jobs end for that reason.
    pub(super) fn lose_node(&mut self, id: NodeId, why: Reason, verdict: impl Fn(NodeId) -> Verdict) {
        let Some(node) = self.nodes.get(&id) else { return };
        if matches!(node.phase, NodePhase::Releasing { .. }) {
            return;
        }
        let (holder, workspace) = (node.holder, node.workspace.clone());
        self.decide(&workspace, About::Node(id), why.clone());
        if matches!(node_phase(self, id), Some(NodePhase::Launching { .. })) {
            self.fail_launch(id, why.clone(), why.sentence().into());
            return;
        }
        self.release(id, why.clone());
        for job in self.on.get(&id).map(|on| on.jobs.clone()).unwrap_or_default() {
            self.end_job(job, verdict(id));
        }
        match holder {
            Holder::Instance(instance) => self.instance_node_lost(instance, why),
            Holder::Job(job) => self.own_node_lost(job, verdict(id)),
            Holder::Cluster(_) => {}
        }
    }

    /// The first phase of leaving: no new jobs, and demand calls it back.
    pub(super) fn cordon(&mut self, id: NodeId, why: Reason) {
        let until = self.now.mono.plus(DRAIN_LIMIT);
        self.edit_node(id, |node, _| node.phase = NodePhase::Cordoned { why: Box::new(why), until, silent: None });
        self.kick(Key::Node(id));
    }

    /// Leaving is called off.
    pub(super) fn call_back(&mut self, id: NodeId) {
        let now = self.now.mono;
        self.edit_node(id, |node, on| {
            node.phase = NodePhase::Ready;
            if on.jobs.is_empty() {
                node.idle_since = now;
            }
        });
        self.kick(Key::Node(id));
    }

    /// The second phase of leaving: the driver removes it.
    pub(super) fn release(&mut self, id: NodeId, why: Reason) {
        let now = self.now.mono;
        if matches!(node_phase(self, id), None | Some(NodePhase::Releasing { .. })) {
            return;
        }
        self.edit_node(id, |node, _| {
            node.phase =
                NodePhase::Releasing { why: Box::new(why), since: now, until: now.plus(RELEASE_RETRY), tries: 1 };
        });
        self.kick(Key::Node(id));
    }

    /// A node's phase has come to its end, or its time is to be charged.
    pub(super) fn node_due(&mut self, id: NodeId) {
        self.charge_node(id);
        let now = self.now.mono;
        let Some(node) = self.nodes.get(&id) else { return };
        if node.deadline().is_none_or(|until| until > now) {
            return;
        }
        let holder = node.holder;
        match node.phase.clone() {
            NodePhase::Launching { .. } => {
                let why = Reason::LaunchTimedOut { node: id, limit: LAUNCH_LIMIT };
                self.fail_launch(id, why.clone(), why.sentence().into());
            }
            NodePhase::Silent { .. } => {
                let why = Reason::NodeLost { node: id, silent: SILENCE_LIMIT };
                if let Holder::Instance(instance) = holder {
                    // Somebody's workstation: it may come back, and only its owner gives it up.
                    self.edit_node(id, |node, _| node.phase = NodePhase::Unusable);
                    self.instance_node_unusable(instance, why);
                } else {
                    self.lose_node(id, why, |node| Verdict::NodeLost { node });
                }
            }
            NodePhase::Cordoned { why, silent, .. } => {
                let quiet = silent.map(|since| now.since(since)).unwrap_or_default();
                if self.on.get(&id).is_some_and(|on| on.jobs.is_empty()) {
                    self.release(id, *why);
                } else if quiet >= SILENCE_LIMIT {
                    let why = Reason::NodeLost { node: id, silent: quiet };
                    self.lose_node(id, why, |node| Verdict::NodeLost { node });
                } else {
                    let until = now.plus(DRAIN_LIMIT);
                    self.edit_node(id, |node, _| node.phase = NodePhase::Cordoned { why, until, silent });
                }
            }
            NodePhase::Reclaiming { why, .. } => {
                self.release(id, *why);
            }
            NodePhase::Releasing { why, since, tries, .. } => {
                let until = now.plus(RELEASE_RETRY.doubled(tries, RELEASE_RETRY_MOST));
                let tries = tries.saturating_add(1);
                if now.since(since) >= RELEASE_ALARM
                    && let Some(node) = self.nodes.get(&id)
                {
                    let (workspace, waiting) = (node.workspace.clone(), now.since(since));
                    self.decide(&workspace, About::Node(id), Reason::ReleaseUnconfirmed { node: id, tries, waiting });
                }
                self.edit_node(id, |node, _| node.phase = NodePhase::Releasing { why, since, until, tries });
                self.kick(Key::Node(id));
            }
            NodePhase::Ready | NodePhase::Unusable => {}
        }
    }

    /// Takes a job off a node: its part there is over.
    pub(super) fn allocation_off(&mut self, job: JobId, node: NodeId) {
        let Some(taken) = self.jobs.get(&job).map(crate::compute::job::Job::takes) else { return };
        if !self.on.get(&node).is_some_and(|on| on.jobs.contains(&job)) {
            return;
        }
        self.charge_node(node);
        let now = self.now.mono;
        let holder = self.edit_node(node, |record, on| {
            on.remove(job, taken);
            if on.jobs.is_empty() {
                record.idle_since = now;
            }
            record.holder
        });
        // A job is activity, also one that came and went between two reports.
        if let Some(Holder::Instance(instance)) = holder {
            self.edit_instance(instance, |instance| instance.watch.active(Source::Job, now));
        }
        self.edit_job(job, |job| {
            if let Some(allocation) = job.allocation_mut(node) {
                allocation.state = AllocationState::Off;
            }
        });
        self.job_maybe_over(job);
        self.make_room(node);
        if let Some(NodePhase::Reclaiming { why, .. }) = node_phase(self, node)
            && self.on.get(&node).is_some_and(|on| on.jobs.is_empty())
        {
            let why = (**why).clone();
            self.release(node, why);
        }
        // A node on its way out leaves as soon as it is empty.
        if let Some(NodePhase::Cordoned { .. }) = node_phase(self, node) {
            self.kick(Key::Node(node));
        }
    }

    /// Whether an instance's own machine is the one in question, for rules that must not take it away.
    pub(super) fn is_workstation(&self, id: NodeId) -> bool {
        self.nodes.get(&id).is_some_and(|node| {
            matches!(node.holder, Holder::Instance(instance)
            if self.instances.get(&instance).is_some_and(|instance| {
                !matches!(instance.phase, InstancePhase::Stopping { .. } | InstancePhase::Deleting { .. })
            }))
        })
    }

    /// Whether a job still has something on a node.
    pub(super) fn has_allocations(&self, job: JobId) -> bool {
        self.jobs.get(&job).is_some_and(|job| {
            !matches!(job.phase, JobPhase::Queued { .. })
                && job.allocations.iter().any(|allocation| allocation.state != AllocationState::Off)
        })
    }
}

pub(super) fn node_phase(world: &World, id: NodeId) -> Option<&NodePhase> {
    world.nodes.get(&id).map(|node| &node.phase)
}
