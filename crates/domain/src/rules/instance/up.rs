//! The way up: a node, the environment, the scripts.

use crate::compute::InstanceId;
use crate::compute::cluster::FailedLaunch;
use crate::compute::instance::{InstancePhase, OperationResult, SETUP_LIMIT};
use crate::compute::node::Holder;
use crate::compute::script::limit_of;
use crate::compute::start::StartTimes;
use crate::reason::Reason;
use crate::text::Text;
use crate::time::Span;
use crate::world::{About, Key, PoolKey, World};

/// A start that failed so often in a row is given up.
const MAX_LAUNCHES: u32 = 3;

/// What a set-up or a script said last, as much as is kept of it.
const MAX_DETAIL: usize = 1_000;

impl World {
    pub(super) fn want_node(&mut self, id: InstanceId, limit: Span) {
        let now = self.now;
        let until = now.mono.plus(limit);
        self.edit_instance(id, |instance| {
            instance.generation += 1;
            instance.trouble.is_over();
            instance.start = Some(StartTimes::new(instance.generation, now.wall, now.mono));
            instance.phase = InstancePhase::Starting { until };
        });
    }

    /// Notes how far the start has got.
    fn note_step(&mut self, id: InstanceId, step: impl FnOnce(&mut StartTimes) -> &mut Option<Span>) -> Span {
        let now = self.now.mono;
        let noted = self.edit_instance(id, |instance| {
            let start = instance.start.as_mut()?;
            let after = now.since(start.since);
            step(start).get_or_insert(after);
            Some(after)
        });
        noted.flatten().unwrap_or_default()
    }

    /// Gets an instance that wants a node closer to one.
    pub(in crate::rules) fn advance_instance(&mut self, id: InstanceId) {
        let key = PoolKey::Instance(id);
        let mut wake = None;
        if let Some(instance) = self.instances.get(&id)
            && matches!(instance.phase, InstancePhase::Creating { .. } | InstancePhase::Starting { .. })
            && instance.node.is_none()
        {
            if instance.trouble.not_before > self.now.mono {
                wake = Some(instance.trouble.not_before);
            } else if let Some(size) = self.sizes.get(&instance.size).cloned() {
                let (workspace, owner) = (instance.workspace.clone(), instance.owner.clone());
                if let Some(reason) = self.blocked(&workspace, Some(&owner), &size, 1, !instance.has_quota) {
                    self.starve(&key, &reason, 1);
                    self.note_waiting(id, reason);
                } else {
                    let node = self.launch(&workspace, Holder::Instance(id), Some(&owner), &size);
                    self.note_step(id, |start| &mut start.launched);
                    self.edit_instance(id, |instance| {
                        instance.has_quota = true;
                        instance.waiting = None;
                        instance.node = Some(node);
                    });
                }
            }
        }
        self.set_pool_wake(&key, wake);
    }

    /// Writes down what it waits for, once for each kind of reason.
    fn note_waiting(&mut self, id: InstanceId, reason: Reason) {
        let Some(instance) = self.instances.get(&id) else { return };
        if instance.waiting.as_deref() == Some(reason.code()) {
            return;
        }
        let workspace = instance.workspace.clone();
        self.edit_instance(id, |instance| instance.waiting = Some(reason.code().into()));
        self.decide(&workspace, About::Instance(id), reason);
    }

    pub(in crate::rules) fn instance_node_up(&mut self, id: InstanceId) {
        let until = self.now.mono.plus(SETUP_LIMIT);
        let Some(instance) = self.instances.get(&id) else { return };
        let (InstancePhase::Creating { .. } | InstancePhase::Starting { .. }, Some(node)) =
            (&instance.phase, instance.node)
        else {
            return;
        };
        let workspace = instance.workspace.clone();
        let after = self.note_step(id, |start| &mut start.node_up);
        self.edit_instance(id, |instance| {
            instance.trouble.is_over();
            instance.phase = InstancePhase::SettingUp { until };
        });
        self.decide(&workspace, About::Instance(id), Reason::NodeReady { node, after });
        self.kick(Key::Instance(id));
    }

    pub(in crate::rules) fn set_up_done(&mut self, id: InstanceId, generation: u64, failure: Option<&Text>) {
        let Some(instance) = self.instances.get(&id).filter(|instance| instance.generation == generation) else {
            return;
        };
        if !matches!(instance.phase, InstancePhase::SettingUp { .. } | InstancePhase::Restarting { .. }) {
            return;
        }
        let scripts = instance.scripts_to_run();
        if let Some(detail) = failure {
            let detail = crate::text::shortened_to(detail, MAX_DETAIL).into();
            let why = Reason::SetupFailed { what: "The set-up".into(), detail };
            self.fail_setup(id, InstancePhase::SetupFailed, why);
            return;
        }
        self.note_step(id, |start| &mut start.set_up);
        if scripts.is_empty() {
            self.runs(id);
            return;
        }
        // Its agent ends scripts that take too long; this is for one that does not.
        let until = self.now.mono.plus(limit_of(&scripts)).plus(SETUP_LIMIT);
        self.edit_instance(id, |instance| instance.phase = InstancePhase::UserSettingUp { until });
        self.kick(Key::Instance(id));
    }

    pub(in crate::rules) fn script_done(
        &mut self,
        id: InstanceId,
        generation: u64,
        creation_done: bool,
        failure: Option<&Text>,
    ) {
        let Some(instance) = self.instances.get(&id).filter(|instance| instance.generation == generation) else {
            return;
        };
        if !matches!(instance.phase, InstancePhase::UserSettingUp { .. }) {
            return;
        }
        let is_done = creation_done || failure.is_none();
        self.edit_instance(id, |instance| instance.creation_done |= is_done);
        match failure {
            Some(detail) => {
                let detail = crate::text::shortened_to(detail, MAX_DETAIL).into();
                let why = Reason::SetupFailed { what: "The script".into(), detail };
                self.fail_setup(id, InstancePhase::UserSetupFailed, why);
            }
            None => self.runs(id),
        }
    }

    fn runs(&mut self, id: InstanceId) {
        let now = self.now.mono;
        self.note_step(id, |start| &mut start.scripted);
        self.edit_instance(id, |instance| {
            instance.phase = InstancePhase::Running;
            instance.watch.restart(now);
        });
        self.finish(id, OperationResult::Succeeded);
    }

    /// All standard applications have answered, for the first time since the start.
    pub(in crate::rules) fn instance_healthy(&mut self, id: InstanceId, generation: u64) {
        let Some(instance) = self.instances.get(&id).filter(|instance| instance.generation == generation) else {
            return;
        };
        let waits = |start: &StartTimes| start.scripted.is_some() && start.healthy.is_none() && start.failed.is_none();
        let is_up = matches!(instance.phase, InstancePhase::Running | InstancePhase::Unknown);
        if !is_up || !instance.start.as_ref().is_some_and(waits) {
            return;
        }
        let workspace = instance.workspace.clone();
        let after = self.note_step(id, |start| &mut start.healthy);
        self.decide(&workspace, About::Instance(id), Reason::AppsReady { after });
    }

    pub(super) fn fail_setup(&mut self, id: InstanceId, phase: InstancePhase, why: Reason) {
        let Some(workspace) = self.instances.get(&id).map(|instance| instance.workspace.clone()) else { return };
        self.decide(&workspace, About::Instance(id), why.clone());
        self.edit_instance(id, |instance| instance.phase = phase);
        self.finish(id, OperationResult::Failed(Box::new(why)));
    }

    pub(in crate::rules) fn instance_launch_failed(&mut self, id: InstanceId, failed: FailedLaunch, why: Reason) {
        let now = self.now.mono;
        let failures = self.edit_instance(id, |instance| {
            instance.trouble.add(failed, now);
            instance.trouble.failures
        });
        if failures.is_some_and(|failures| failures >= MAX_LAUNCHES) {
            self.give_up_start(id, why);
        }
    }

    /// A start came to nothing: a new instance has failed, an old one is stopped again.
    pub(super) fn give_up_start(&mut self, id: InstanceId, why: Reason) {
        let Some(instance) = self.instances.get(&id) else { return };
        let (workspace, is_new) =
            (instance.workspace.clone(), matches!(instance.phase, InstancePhase::Creating { .. }));
        if !is_new && !matches!(instance.phase, InstancePhase::Starting { .. }) {
            return;
        }
        // A failed launch is in the log already.
        if matches!(why, Reason::StartTimedOut { .. }) {
            self.decide(&workspace, About::Instance(id), why.clone());
        }
        self.finish(id, OperationResult::Failed(Box::new(why)));
        self.edit_instance(id, crate::compute::instance::Instance::rest);
        if is_new {
            self.leave_node(id);
            self.edit_instance(id, |instance| {
                instance.phase = InstancePhase::CreateFailed;
                instance.has_quota = instance.node.is_some();
            });
        } else {
            self.go_down(id, |until| InstancePhase::Stopping { until });
        }
    }
}
