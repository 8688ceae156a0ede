//! Instances: what people and schedules wish, and the way there.
//!
//! A wish is set at once and kept; the phase follows as nodes come and go. At most one node belongs to an instance at any
//! time: a new one is wanted only when the old one is confirmed to be gone, since both would use the same home.

use crate::compute::cluster::{FailedLaunch, LaunchTrouble};
use crate::compute::idle::{IdlePolicy, IdleVerdict, IdleWatch, MAX_EXTENSION, Source};
use crate::compute::instance::{
    CREATE_LIMIT, Instance, InstancePhase, MAX_SCRIPT, Operation, OperationResult, RESIZE_LIMIT, SETUP_LIMIT,
    START_LIMIT, STOP_LIMIT, Trigger, Wish,
};
use crate::compute::job::Verdict;
use crate::compute::node::{Holder, NodePhase};
use crate::compute::size::SizeName;
use crate::compute::verb::{InstanceVerb, Legality};
use crate::compute::{InstanceId, NodeId, Resources};
use crate::id::WorkspaceId;
use crate::reason::Reason;
use crate::text::{Problem, Text};
use crate::time::{Mono, Span};
use crate::world::{About, Answer, Command, Key, NewInstance, PoolKey, ScheduleTarget, World};

/// A start that failed so often in a row is given up.
const MAX_LAUNCHES: u32 = 3;

impl World {
    pub(super) fn own_instance(&self, workspace: &WorkspaceId, id: InstanceId) -> Result<&Instance, Reason> {
        let found = self.instances.get(&id).filter(|instance| instance.workspace == *workspace);
        found.ok_or_else(|| Reason::NotFound { what: id.to_string() })
    }

    /// The state of an instance that people see.
    pub fn instance_state(&self, instance: &Instance) -> crate::compute::instance::InstanceState {
        let has_jobs = instance.node.and_then(|node| self.on.get(&node)).is_some_and(|on| !on.jobs.is_empty());
        instance.phase.state(has_jobs)
    }

    pub(super) fn judge_instance(&self, instance: &Instance, verb: InstanceVerb) -> Result<Legality, Reason> {
        let state = self.instance_state(instance);
        match verb.in_state(state) {
            Legality::No(help) => Err(Reason::NotNow {
                verb: verb.key().into(),
                name: instance.name.to_string(),
                state: state.key().into(),
                help: help.into(),
            }),
            legality => Ok(legality),
        }
    }

    pub(super) fn create_instance(&mut self, command: &Command, new: &NewInstance) -> Result<Answer, Reason> {
        let workspace = &command.workspace;
        self.name_is_free(workspace, &new.name)?;
        let size = self.known_size(&new.size)?.clone();
        if let Some(idle) = &new.idle {
            idle.check().map_err(Reason::invalid)?;
        }
        if let Some(limit) = new.script
            && (limit < Span::seconds(1) || limit > MAX_SCRIPT)
        {
            let message = format!("A script gets between 1 s and {MAX_SCRIPT}; this is {limit}.");
            return Err(Reason::invalid(Problem::new("script_limit", message)));
        }
        if let Some(reason) = self.never(workspace, Some(&new.owner), &size, 1, Resources::NONE) {
            return Err(reason);
        }
        if let Some(shortage) = self.too_many_computes(workspace, Some(&new.owner)) {
            return Err(Reason::TooManyComputes { shortage });
        }
        // Made stopped, it keeps its quota from the start if it can; else it asks for it when it starts.
        let has_quota =
            !new.starts && new.keeps_quota && self.shortage(workspace, Some(&new.owner), &size, 1).is_none();
        let phase = match new.starts {
            true => InstancePhase::Creating { until: self.now.mono.plus(CREATE_LIMIT) },
            false => InstancePhase::Stopped,
        };
        self.state.instances += 1;
        self.changed(Key::State);
        let id = InstanceId(self.state.instances);
        self.insert_instance(Instance {
            id,
            workspace: workspace.clone(),
            name: new.name.clone(),
            owner: new.owner.clone(),
            size: new.size.clone(),
            wish: if new.starts { Wish::Run } else { Wish::Stop },
            phase,
            generation: 1,
            node: None,
            script: new.script,
            keeps_quota: new.keeps_quota,
            has_quota,
            next_start: None,
            idle: new.idle.clone(),
            watch: IdleWatch::default(),
            operation: Operation {
                verb: InstanceVerb::Create,
                trigger: Trigger::Person { name: command.name.clone() },
                at: self.now.wall,
                result: (!new.starts).then_some(OperationResult::Succeeded),
            },
            trouble: LaunchTrouble::default(),
            created: self.now.wall,
            manual_at: None,
        });
        Ok(Answer::Instance(id))
    }

    // ---- wishes -----------------------------------------------------------------------------------------------------

    /// Starts an instance, for a person or for a schedule.
    pub(super) fn start_instance(&mut self, id: InstanceId, trigger: Trigger) -> Result<Answer, Reason> {
        let Some(instance) = self.instances.get(&id) else { return Err(Reason::NotFound { what: id.to_string() }) };
        let legality = self.judge_instance(instance, InstanceVerb::Start)?;
        let is_by_hand = matches!(trigger, Trigger::Person { .. });
        match legality {
            // Also a wish that something else was about to undo.
            Legality::Already | Legality::No(_) => {
                self.note_manual(id, is_by_hand);
                Ok(Answer::Already)
            }
            Legality::Later => {
                self.edit_instance(id, |instance| {
                    instance.wish = Wish::Run;
                    instance.next_start = Some(trigger);
                });
                self.note_manual(id, is_by_hand);
                Ok(Answer::Later)
            }
            Legality::Yes => {
                let size = self.known_size(&instance.size)?.clone();
                let (workspace, owner) = (instance.workspace.clone(), instance.owner.clone());
                if let Some(reason) = self.never(&workspace, Some(&owner), &size, 1, Resources::NONE) {
                    return Err(reason);
                }
                self.begin(id, InstanceVerb::Start, trigger);
                self.edit_instance(id, |instance| instance.wish = Wish::Run);
                self.want_node(id, START_LIMIT);
                self.note_manual(id, is_by_hand);
                Ok(Answer::Done)
            }
        }
    }

    /// Stops an instance, for a person, a schedule or idleness. Legal in every state, and always arrives.
    pub(super) fn stop_instance(&mut self, id: InstanceId, trigger: Trigger, why: Reason) -> Result<Answer, Reason> {
        let Some(instance) = self.instances.get(&id) else { return Err(Reason::NotFound { what: id.to_string() }) };
        let was_wanted = instance.wish == Wish::Run;
        let workspace = instance.workspace.clone();
        let is_by_hand = matches!(trigger, Trigger::Person { .. });
        let legality = self.judge_instance(instance, InstanceVerb::Stop)?;
        if instance.wish != Wish::Delete {
            self.edit_instance(id, |instance| instance.wish = Wish::Stop);
        }
        self.note_manual(id, is_by_hand);
        if legality != Legality::Yes {
            return Ok(if was_wanted { Answer::Done } else { Answer::Already });
        }
        self.begin(id, InstanceVerb::Stop, trigger);
        self.decide(&workspace, About::Instance(id), why);
        self.go_down(id, |until| InstancePhase::Stopping { until });
        Ok(Answer::Done)
    }

    pub(super) fn restart_instance(&mut self, command: &Command, id: InstanceId) -> Result<Answer, Reason> {
        let instance = self.own_instance(&command.workspace, id)?;
        if self.judge_instance(instance, InstanceVerb::Restart)? == Legality::Already {
            return Ok(Answer::Already);
        }
        let node_answers =
            instance.node.and_then(|node| self.nodes.get(&node)).is_some_and(crate::compute::node::Node::takes_jobs);
        let limit = SETUP_LIMIT.plus(instance.script.unwrap_or_default());
        self.begin(id, InstanceVerb::Restart, Trigger::Person { name: command.name.clone() });
        self.edit_instance(id, |instance| instance.wish = Wish::Run);
        self.note_manual(id, true);
        if node_answers {
            self.end_instance_jobs(id, &format!("{} restarted it", command.name));
            let until = self.now.mono.plus(limit);
            self.edit_instance(id, |instance| {
                instance.generation += 1;
                instance.phase = InstancePhase::Restarting { until };
            });
            self.kick(Key::Instance(id));
        } else {
            // The node does not answer, or is gone: another one, when the old one is gone for sure.
            self.go_down(id, |until| InstancePhase::Stopping { until });
        }
        Ok(Answer::Done)
    }

    pub(super) fn delete_instance(&mut self, command: &Command, id: InstanceId) -> Result<Answer, Reason> {
        let instance = self.own_instance(&command.workspace, id)?;
        if self.judge_instance(instance, InstanceVerb::Delete)? == Legality::Already {
            return Ok(Answer::Already);
        }
        self.begin(id, InstanceVerb::Delete, Trigger::Person { name: command.name.clone() });
        self.edit_instance(id, |instance| instance.wish = Wish::Delete);
        for schedule in self.by_target.get(&ScheduleTarget::Instance(id)).cloned().unwrap_or_default() {
            self.remove_schedule(schedule);
        }
        let what: Text = format!("the instance was deleted by {}", command.name).into();
        let jobs: Vec<_> =
            self.pools.get(&PoolKey::Instance(id)).map(|pool| pool.jobs.iter().copied().collect()).unwrap_or_default();
        jobs.into_iter().for_each(|job| self.end_job(job, Verdict::ComputeGone { what: what.clone() }));
        self.go_down(id, |until| InstancePhase::Deleting { until });
        Ok(Answer::Done)
    }

    pub(super) fn resize_instance(
        &mut self,
        command: &Command,
        id: InstanceId,
        to: &SizeName,
    ) -> Result<Answer, Reason> {
        let instance = self.own_instance(&command.workspace, id)?;
        self.judge_instance(instance, InstanceVerb::Resize)?;
        let size = self.known_size(to)?.clone();
        if instance.size == *to {
            return Ok(Answer::Already);
        }
        if let Some(reason) = self.never(&command.workspace, Some(&instance.owner), &size, 1, Resources::NONE) {
            return Err(reason);
        }
        let until = self.now.mono.plus(RESIZE_LIMIT);
        self.begin(id, InstanceVerb::Resize, Trigger::Person { name: command.name.clone() });
        self.edit_instance(id, |instance| {
            instance.generation += 1;
            instance.phase = InstancePhase::Resizing { to: to.clone(), until };
        });
        self.kick(Key::Instance(id));
        Ok(Answer::Done)
    }

    pub(super) fn configure_instance(
        &mut self,
        command: &Command,
        id: InstanceId,
        idle: Option<&IdlePolicy>,
        keeps_quota: bool,
    ) -> Result<Answer, Reason> {
        let instance = self.own_instance(&command.workspace, id)?;
        self.judge_instance(instance, InstanceVerb::Configure)?;
        if let Some(idle) = idle {
            idle.check().map_err(Reason::invalid)?;
        }
        let now = self.now.mono;
        self.edit_instance(id, |instance| {
            if instance.idle.as_ref() != idle {
                // A shorter time never stops what was idle under the longer one.
                instance.watch.restart(now);
                instance.idle = idle.cloned();
            }
            instance.keeps_quota = keeps_quota;
            if !keeps_quota && matches!(instance.phase, InstancePhase::Stopped) {
                instance.has_quota = false;
            }
        });
        Ok(Answer::Done)
    }

    pub(super) fn extend_instance(&mut self, command: &Command, id: InstanceId, by: Span) -> Result<Answer, Reason> {
        let instance = self.own_instance(&command.workspace, id)?;
        if !matches!(instance.phase, InstancePhase::Running | InstancePhase::Unknown) {
            return Err(Reason::NotNow {
                verb: "be kept running".into(),
                name: instance.name.to_string(),
                state: self.instance_state(instance).key().into(),
                help: "Only what runs can be kept running. Start it first.".into(),
            });
        }
        if by == Span::ZERO || by > MAX_EXTENSION {
            let message = format!("It can be kept running for up to {MAX_EXTENSION} at once, not for {by}.");
            return Err(Reason::invalid(Problem::new("extend", message)));
        }
        let now = self.now.mono;
        self.edit_instance(id, |instance| instance.watch.extend(by, now));
        let reason = Reason::KeptRunning { by: command.name.clone(), span: by };
        self.decide(&command.workspace, About::Instance(id), reason);
        Ok(Answer::Done)
    }

    /// A new operation; one that was not done yet is overtaken.
    fn begin(&mut self, id: InstanceId, verb: InstanceVerb, trigger: Trigger) {
        let at = self.now.wall;
        self.edit_instance(id, |instance| instance.operation = Operation { verb, trigger, at, result: None });
    }

    fn finish(&mut self, id: InstanceId, result: OperationResult) {
        self.edit_instance(id, |instance| {
            if instance.operation.result.is_none() {
                instance.operation.result = Some(result);
            }
        });
    }

    fn note_manual(&mut self, id: InstanceId, is_by_hand: bool) {
        if is_by_hand {
            let now = self.now.wall;
            self.edit_instance(id, |instance| instance.manual_at = Some(now));
        }
    }

    // ---- up ---------------------------------------------------------------------------------------------------------

    fn want_node(&mut self, id: InstanceId, limit: Span) {
        let until = self.now.mono.plus(limit);
        self.edit_instance(id, |instance| {
            instance.generation += 1;
            instance.trouble.is_over();
            instance.phase = InstancePhase::Starting { until };
        });
    }

    /// Gets an instance that wants a node closer to one.
    pub(super) fn advance_instance(&mut self, id: InstanceId) {
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
                    self.starve(&key, &reason);
                } else {
                    let node = self.launch(&workspace, Holder::Instance(id), Some(&owner), &size);
                    self.edit_instance(id, |instance| {
                        instance.has_quota = true;
                        instance.node = Some(node);
                    });
                }
            }
        }
        self.set_pool_wake(&key, wake);
    }

    pub(super) fn instance_node_up(&mut self, id: InstanceId) {
        let until = self.now.mono.plus(SETUP_LIMIT);
        let Some(instance) = self.instances.get(&id) else { return };
        if matches!(instance.phase, InstancePhase::Creating { .. } | InstancePhase::Starting { .. }) {
            self.edit_instance(id, |instance| {
                instance.trouble.is_over();
                instance.phase = InstancePhase::SettingUp { until };
            });
            self.kick(Key::Instance(id));
        }
    }

    pub(super) fn set_up_done(&mut self, id: InstanceId, generation: u64, failure: Option<&Text>) {
        let Some(instance) = self.instances.get(&id).filter(|instance| instance.generation == generation) else {
            return;
        };
        if !matches!(instance.phase, InstancePhase::SettingUp { .. } | InstancePhase::Restarting { .. }) {
            return;
        }
        match (failure, instance.script) {
            (Some(detail), _) => {
                let detail = crate::text::shortened_to(detail, 1_000).into();
                let why = Reason::SetupFailed { what: "The set-up".into(), detail };
                self.fail_setup(id, InstancePhase::SetupFailed, why);
            }
            (None, Some(limit)) => {
                let until = self.now.mono.plus(limit).plus(SETUP_LIMIT);
                self.edit_instance(id, |instance| instance.phase = InstancePhase::UserSettingUp { until });
                self.kick(Key::Instance(id));
            }
            (None, None) => self.runs(id),
        }
    }

    pub(super) fn script_done(&mut self, id: InstanceId, generation: u64, failure: Option<&Text>) {
        let Some(instance) = self.instances.get(&id).filter(|instance| instance.generation == generation) else {
            return;
        };
        if !matches!(instance.phase, InstancePhase::UserSettingUp { .. }) {
            return;
        }
        match failure {
            Some(detail) => {
                let detail = crate::text::shortened_to(detail, 1_000).into();
                let why = Reason::SetupFailed { what: "The script".into(), detail };
                self.fail_setup(id, InstancePhase::UserSetupFailed, why);
            }
            None => self.runs(id),
        }
    }

    fn runs(&mut self, id: InstanceId) {
        let now = self.now.mono;
        self.edit_instance(id, |instance| {
            instance.phase = InstancePhase::Running;
            instance.watch.restart(now);
        });
        self.finish(id, OperationResult::Succeeded);
    }

    fn fail_setup(&mut self, id: InstanceId, phase: InstancePhase, why: Reason) {
        let Some(workspace) = self.instances.get(&id).map(|instance| instance.workspace.clone()) else { return };
        self.decide(&workspace, About::Instance(id), why.clone());
        self.edit_instance(id, |instance| instance.phase = phase);
        self.finish(id, OperationResult::Failed(Box::new(why)));
    }

    pub(super) fn instance_launch_failed(&mut self, id: InstanceId, failed: FailedLaunch, why: Reason) {
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
    fn give_up_start(&mut self, id: InstanceId, why: Reason) {
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
        self.edit_instance(id, |instance| instance.wish = Wish::Stop);
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

    // ---- down -------------------------------------------------------------------------------------------------------

    /// Takes an instance's node away; it has arrived when that is gone.
    fn go_down(&mut self, id: InstanceId, phase: impl FnOnce(Mono) -> InstancePhase) {
        let until = self.now.mono.plus(STOP_LIMIT);
        self.edit_instance(id, |instance| instance.phase = phase(until));
        let what = self.instances.get(&id).map(|instance| format!("{} was stopped", instance.name)).unwrap_or_default();
        self.end_instance_jobs(id, &what);
        self.leave_node(id);
        self.maybe_down(id);
    }

    fn end_instance_jobs(&mut self, id: InstanceId, what: &str) {
        let node = self.instances.get(&id).and_then(|instance| instance.node);
        for job in node.and_then(|node| self.on.get(&node)).map(|on| on.jobs.clone()).unwrap_or_default() {
            self.end_job(job, Verdict::ComputeGone { what: what.into() });
        }
    }

    fn leave_node(&mut self, id: InstanceId) {
        let Some(instance) = self.instances.get(&id) else { return };
        let Some(node) = instance.node else { return };
        let why = Reason::InstanceStops { instance: instance.name.to_string() };
        match self.nodes.get(&node).map(|node| &node.phase) {
            Some(NodePhase::Ready) => self.cordon(node, why),
            Some(NodePhase::Cordoned { .. } | NodePhase::Releasing { .. }) | None => {}
            Some(_) => self.release(node, why),
        }
    }

    pub(super) fn instance_node_gone(&mut self, id: InstanceId, node: NodeId, was_expected: bool) {
        let Some(instance) = self.instances.get(&id).filter(|instance| instance.node == Some(node)) else { return };
        let workspace = instance.workspace.clone();
        self.edit_instance(id, |instance| instance.node = None);
        let Some(instance) = self.instances.get(&id) else { return };
        match instance.phase {
            InstancePhase::Stopping { .. } | InstancePhase::Deleting { .. } => self.maybe_down(id),
            InstancePhase::CreateFailed => drop(self.edit_instance(id, |instance| instance.has_quota = false)),
            // A launch failed; the next follows.
            InstancePhase::Creating { .. } | InstancePhase::Starting { .. } => {}
            InstancePhase::Stopped | InstancePhase::Resizing { .. } => {}
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

    pub(super) fn resized(&mut self, id: InstanceId, generation: u64, failure: Option<&Text>) {
        let Some(instance) = self.instances.get(&id).filter(|instance| instance.generation == generation) else {
            return;
        };
        let InstancePhase::Resizing { to, .. } = &instance.phase else { return };
        let (to, workspace, owner) = (to.clone(), instance.workspace.clone(), instance.owner.clone());
        let result = match failure {
            Some(detail) => {
                let detail = crate::text::shortened_to(detail, 300).into();
                self.edit_instance(id, |instance| instance.phase = InstancePhase::Stopped);
                OperationResult::Failed(Box::new(Reason::ResizeFailed { detail }))
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

    // ---- its node's health ------------------------------------------------------------------------------------------

    pub(super) fn instance_node_silent(&mut self, id: InstanceId) {
        if self.instances.get(&id).is_some_and(|instance| matches!(instance.phase, InstancePhase::Running)) {
            self.edit_instance(id, |instance| instance.phase = InstancePhase::Unknown);
        }
    }

    pub(super) fn instance_node_unusable(&mut self, id: InstanceId, why: Reason) {
        let Some(instance) = self.instances.get(&id) else { return };
        let workspace = instance.workspace.clone();
        match instance.phase {
            InstancePhase::Running | InstancePhase::Unknown => {
                self.decide(&workspace, About::Instance(id), why);
                self.edit_instance(id, |instance| instance.phase = InstancePhase::Unusable);
            }
            // A set-up has a deadline of its own; what is leaving leaves anyway.
            InstancePhase::Stopping { .. } | InstancePhase::Deleting { .. } => self.leave_node(id),
            _ => {}
        }
    }

    pub(super) fn instance_node_back(&mut self, id: InstanceId) {
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

    pub(super) fn instance_node_lost(&mut self, id: InstanceId, why: Reason) {
        let Some(instance) = self.instances.get(&id) else { return };
        if instance.phase.deadline().is_none()
            && !matches!(instance.phase, InstancePhase::Stopped | InstancePhase::CreateFailed)
        {
            self.edit_instance(id, |instance| instance.phase = InstancePhase::Unusable);
        } else if matches!(
            instance.phase,
            InstancePhase::SettingUp { .. } | InstancePhase::UserSettingUp { .. } | InstancePhase::Restarting { .. }
        ) {
            self.edit_instance(id, |instance| instance.phase = InstancePhase::Unusable);
            self.finish(id, OperationResult::Failed(Box::new(why)));
        }
    }

    // ---- deadlines and idleness -------------------------------------------------------------------------------------

    pub(super) fn instance_due(&mut self, id: InstanceId) {
        let now = self.now.mono;
        let Some(instance) = self.instances.get(&id) else { return };
        if instance.phase.deadline().is_none_or(|until| until > now) {
            return;
        }
        let script = instance.script.unwrap_or_default();
        match instance.phase.clone() {
            InstancePhase::Creating { .. } => self.start_timed_out(id, CREATE_LIMIT),
            InstancePhase::Starting { .. } => self.start_timed_out(id, START_LIMIT),
            InstancePhase::SettingUp { .. } => {
                let why = Reason::SetupTimedOut { what: "The set-up".into(), limit: SETUP_LIMIT };
                self.fail_setup(id, InstancePhase::SetupFailed, why);
            }
            InstancePhase::Restarting { .. } => {
                let why = Reason::SetupTimedOut { what: "The restart".into(), limit: SETUP_LIMIT.plus(script) };
                self.fail_setup(id, InstancePhase::SetupFailed, why);
            }
            InstancePhase::UserSettingUp { .. } => {
                let why = Reason::SetupTimedOut { what: "The script".into(), limit: script };
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

    pub(super) fn activity(&mut self, id: InstanceId, active: &[Source], stretch: Span) {
        let now = self.now.mono;
        let Some(instance) = self.instances.get(&id) else { return };
        let has_jobs = instance.node.and_then(|node| self.on.get(&node)).is_some_and(|on| !on.jobs.is_empty());
        let (true, Some(policy)) = (matches!(instance.phase, InstancePhase::Running), instance.idle.clone()) else {
            return;
        };
        let workspace = instance.workspace.clone();
        let mut active = active.to_vec();
        if has_jobs {
            active.push(Source::Job);
        }
        let verdict = self.edit_instance(id, |instance| instance.watch.report(&policy, &active, stretch, now));
        let Some(instance) = self.instances.get(&id) else { return };
        let watch = &instance.watch;
        let last = watch.last.map(|(source, at)| format!("{}, {} ago", source.label(), now.since(at)));
        match verdict {
            Some(IdleVerdict::Warns) => {
                let reason = Reason::IdleWarning { left: watch.left(&policy, now), quiet: watch.quiet };
                self.decide(&workspace, About::Instance(id), reason);
            }
            Some(IdleVerdict::Relaxes) => {
                let source = watch.last.map(|(source, _)| source.label()).unwrap_or_default().to_owned();
                self.decide(&workspace, About::Instance(id), Reason::IdleOver { source });
            }
            Some(IdleVerdict::Stops) => {
                let why = Reason::Idle { quiet: watch.quiet, window: policy.window, last };
                // Running instances can always be stopped.
                drop(self.stop_instance(id, Trigger::Idle, why));
            }
            Some(IdleVerdict::Stays) | None => {}
        }
    }
}
