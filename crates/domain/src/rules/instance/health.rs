//! The health of an instance's node, and phases that have come to their end.

use crate::compute::InstanceId;
use crate::compute::instance::{
    CREATE_LIMIT, InstancePhase, OperationResult, RESIZE_LIMIT, SETUP_LIMIT, START_LIMIT, STOP_LIMIT,
};
use crate::compute::script::limit_of;
use crate::reason::Reason;
use crate::text::Text;
use crate::time::Span;
use crate::world::{About, World};

impl World {
    pub(in crate::rules) fn instance_node_silent(&mut self, id: InstanceId) {
        if self.instances.get(&id).is_some_and(|instance| matches!(instance.phase, InstancePhase::Running)) {
            self.edit_instance(id, |instance| instance.phase = InstancePhase::Unknown);
        }
    }

    pub(in crate::rules) fn instance_node_unusable(&mut self, id: InstanceId, why: Reason) {
        let Some(instance) = self.instances.get(&id) else { return };
        let workspace = instance.workspace.clone();
        match instance.phase {
            InstancePhase::Running | InstancePhase::Unknown => {
                self.decide(&workspace, About::Instance(id), why);
                self.edit_instance(id, |instance| instance.phase = InstancePhase::Unusable);
                self.end_start(id);
            }
            // A set-up has a deadline of its own; what is leaving leaves anyway.
            InstancePhase::Stopping { .. } | InstancePhase::Deleting { .. } => self.leave_node(id),
            _ => {}
        }
    }

    pub(in crate::rules) fn instance_node_back(&mut self, id: InstanceId) {
        let now = self.now.mono;
        let Some(instance) = self.instances.get(&id) else { return };
        if matches!(instance.phase, InstancePhase::Unknown | InstancePhase::Unusable) {
            self.edit_instance(id, |instance| {
                instance.phase = InstancePhase::Running;
                // Nobody watched in the meantime.
                instance.watch.reported = now;
            });
        }
    }

    pub(in crate::rules) fn instance_node_lost(&mut self, id: InstanceId, why: Reason) {
        let Some(instance) = self.instances.get(&id) else { return };
        let workspace = instance.workspace.clone();
        if instance.phase.deadline().is_none()
            && !matches!(instance.phase, InstancePhase::Stopped | InstancePhase::CreateFailed)
        {
            self.decide(&workspace, About::Instance(id), why);
            self.edit_instance(id, |instance| instance.phase = InstancePhase::Unusable);
            self.end_start(id);
        } else if matches!(
            instance.phase,
            InstancePhase::SettingUp { .. } | InstancePhase::UserSettingUp { .. } | InstancePhase::Restarting { .. }
        ) {
            self.decide(&workspace, About::Instance(id), why.clone());
            self.edit_instance(id, |instance| instance.phase = InstancePhase::Unusable);
            self.finish(id, OperationResult::Failed(Box::new(why)));
        }
    }

    pub(in crate::rules) fn instance_due(&mut self, id: InstanceId) {
        let now = self.now.mono;
        let Some(instance) = self.instances.get(&id) else { return };
        if instance.draining.as_ref().is_some_and(|draining| draining.until <= now) {
            self.stop_drained(id);
            return;
        }
        if instance.phase.deadline().is_none_or(|until| until > now) {
            return;
        }
        let scripts = limit_of(&instance.scripts_to_run());
        match instance.phase.clone() {
            InstancePhase::Creating { .. } => self.start_timed_out(id, CREATE_LIMIT),
            InstancePhase::Starting { .. } => self.start_timed_out(id, START_LIMIT),
            InstancePhase::SettingUp { .. } => {
                let why = Reason::SetupTimedOut { what: "The set-up".into(), limit: SETUP_LIMIT };
                self.fail_setup(id, InstancePhase::SetupFailed, why);
            }
            InstancePhase::Restarting { .. } => {
                let why = Reason::SetupTimedOut { what: "The restart".into(), limit: SETUP_LIMIT };
                self.fail_setup(id, InstancePhase::SetupFailed, why);
            }
            InstancePhase::UserSettingUp { .. } => {
                let why = Reason::SetupTimedOut { what: "The script".into(), limit: scripts };
                self.fail_setup(id, InstancePhase::UserSetupFailed, why);
            }
            InstancePhase::Stopping { .. } | InstancePhase::Deleting { .. } => {
                // The node's own rule tells its driver again and again; here is only said that it takes long.
                let until = now.plus(STOP_LIMIT);
                self.edit_instance(id, |instance| match &mut instance.phase {
                    InstancePhase::Stopping { until: old } | InstancePhase::Deleting { until: old } => *old = until,
                    _ => {}
                });
            }
            InstancePhase::Transferring { .. } => self.transfer_due(id),
            InstancePhase::Resizing { .. } => {
                let generation = instance.generation;
                let detail: Text = format!("no answer within {RESIZE_LIMIT}").into();
                self.resized(id, generation, Some(&detail));
            }
            _ => {}
        }
    }

    fn start_timed_out(&mut self, id: InstanceId, limit: Span) {
        let waiting =
            self.explain_instance(id).filter(|reason| !matches!(reason, Reason::OnItsWay { .. })).map(Box::new);
        self.give_up_start(id, Reason::StartTimedOut { limit, waiting });
    }
}
