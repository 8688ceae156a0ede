//! The way down: the node leaves, and only when it is gone is the instance stopped, or deleted, or started
//! again.

use crate::compute::instance::{InstancePhase, OperationResult, START_LIMIT, STOP_LIMIT, Trigger, Wish};
use crate::compute::job::Verdict;
use crate::compute::node::NodePhase;
use crate::compute::verb::InstanceVerb;
use crate::compute::{InstanceId, NodeId};
use crate::reason::Reason;
use crate::text::Text;
use crate::time::Mono;
use crate::world::{About, PoolKey, World};

impl World {
    /// Takes an instance's node away; it has arrived when that is gone.
    pub(super) fn go_down(&mut self, id: InstanceId, phase: impl FnOnce(Mono) -> InstancePhase) {
        let until = self.now.mono.plus(STOP_LIMIT);
        self.edit_instance(id, |instance| instance.phase = phase(until));
        let what = self.instances.get(&id).map(|instance| format!("{} was stopped", instance.name)).unwrap_or_default();
        self.end_instance_jobs(id, &what);
        self.leave_node(id);
        self.maybe_down(id);
    }

    pub(super) fn end_instance_jobs(&mut self, id: InstanceId, what: &str) {
        let node = self.instances.get(&id).and_then(|instance| instance.node);
        for job in node.and_then(|node| self.on.get(&node)).map(|on| on.jobs.clone()).unwrap_or_default() {
            self.end_job(job, Verdict::ComputeGone { what: what.into() });
        }
    }

    pub(super) fn leave_node(&mut self, id: InstanceId) {
        let Some(instance) = self.instances.get(&id) else { return };
        let Some(node) = instance.node else { return };
        let why = Reason::InstanceStops { instance: instance.name.to_string() };
        match self.nodes.get(&node).map(|node| &node.phase) {
            Some(NodePhase::Ready) => self.cordon(node, why),
            Some(NodePhase::Cordoned { .. } | NodePhase::Reclaiming { .. } | NodePhase::Releasing { .. }) | None => {}
            Some(_) => self.release(node, why),
        }
    }

    pub(in crate::rules) fn instance_node_gone(&mut self, id: InstanceId, node: NodeId, was_expected: bool) {
        let Some(instance) = self.instances.get(&id).filter(|instance| instance.node == Some(node)) else { return };
        let workspace = instance.workspace.clone();
        self.edit_instance(id, |instance| instance.node = None);
        let Some(instance) = self.instances.get(&id) else { return };
        match instance.phase {
            InstancePhase::Stopping { .. } | InstancePhase::Deleting { .. } => self.maybe_down(id),
            InstancePhase::CreateFailed => drop(self.edit_instance(id, |instance| instance.has_quota = false)),
            // A launch failed; the next follows.
            InstancePhase::Creating { .. } | InstancePhase::Starting { .. } => {}
            InstancePhase::Stopped | InstancePhase::Resizing { .. } | InstancePhase::Transferring { .. } => {}
            InstancePhase::SettingUp { .. }
            | InstancePhase::UserSettingUp { .. }
            | InstancePhase::Restarting { .. }
            | InstancePhase::Running
            | InstancePhase::SetupFailed
            | InstancePhase::UserSetupFailed
            | InstancePhase::Unknown
            | InstancePhase::Unusable => {
                let why = Reason::NodeGone { node };
                if !was_expected {
                    self.decide(&workspace, About::Instance(id), why.clone());
                }
                self.edit_instance(id, |instance| instance.phase = InstancePhase::Unusable);
                self.end_start(id);
                self.finish(id, OperationResult::Failed(Box::new(why)));
            }
        }
    }

    /// Arrives at stopped or gone, if no node is left; or sets out again, if that is wished by now.
    fn maybe_down(&mut self, id: InstanceId) {
        let Some(instance) = self.instances.get(&id).filter(|instance| instance.node.is_none()) else { return };
        match (&instance.phase, instance.wish) {
            (InstancePhase::Deleting { .. }, _) | (InstancePhase::Stopping { .. }, Wish::Delete) => {
                let key = PoolKey::Instance(id);
                self.finish(id, OperationResult::Succeeded);
                self.set_pool_wake(&key, None);
                self.starved.remove(&key);
                self.remove_instance(id);
                self.dirty.remove(&key);
            }
            (InstancePhase::Stopping { .. }, Wish::Stop) => {
                self.edit_instance(id, |instance| {
                    instance.phase = InstancePhase::Stopped;
                    instance.has_quota = instance.has_quota && instance.keeps_quota;
                });
                self.finish(id, OperationResult::Succeeded);
            }
            (InstancePhase::Stopping { .. }, Wish::Run) => {
                // A start that somebody wished meanwhile; a restart goes on as itself.
                if let Some(Some(trigger)) = self.edit_instance(id, |instance| instance.next_start.take()) {
                    self.finish(id, OperationResult::Succeeded);
                    self.begin(id, InstanceVerb::Start, trigger);
                }
                self.want_node(id, START_LIMIT);
            }
            _ => {}
        }
    }

    pub(in crate::rules) fn resized(&mut self, id: InstanceId, generation: u64, failure: Option<&Text>) {
        let Some(instance) = self.instances.get(&id).filter(|instance| instance.generation == generation) else {
            return;
        };
        let InstancePhase::Resizing { to, .. } = &instance.phase else { return };
        let (to, workspace, owner) = (to.clone(), instance.workspace.clone(), instance.owner.clone());
        let result = match failure {
            Some(detail) => {
                let detail = crate::text::shortened_to(detail, 300).into();
                self.edit_instance(id, |instance| instance.phase = InstancePhase::Stopped);
                let why = Reason::ResizeFailed { detail };
                self.decide(&workspace, About::Instance(id), why.clone());
                OperationResult::Failed(Box::new(why))
            }
            None => {
                self.edit_instance(id, |instance| {
                    instance.phase = InstancePhase::Stopped;
                    instance.has_quota = false;
                    instance.size = to.clone();
                });
                // It keeps its quota in the new size too, if that is free; else it asks when it starts.
                let is_free =
                    self.sizes.get(&to).is_some_and(|size| self.shortage(&workspace, Some(&owner), size, 1).is_none());
                self.edit_instance(id, |instance| instance.has_quota = instance.keeps_quota && is_free);
                OperationResult::Succeeded
            }
        };
        self.finish(id, result);
        if self.instances.get(&id).is_some_and(|instance| instance.wish == Wish::Run) {
            let trigger = self.edit_instance(id, |instance| instance.next_start.take()).flatten();
            self.begin(id, InstanceVerb::Start, trigger.unwrap_or(Trigger::System));
            self.want_node(id, START_LIMIT);
        }
    }
}
