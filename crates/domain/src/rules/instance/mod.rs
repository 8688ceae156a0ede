//! Instances: what people and schedules wish, and the way there.
//!
//! A wish is set at once and kept; the phase follows as nodes come and go. At most one node belongs to an
//! instance at any time: a new one is wanted only when the old one is confirmed to be gone, since both would
//! use the same home.

mod create;
mod down;
mod health;
mod idle;
mod settings;
mod transfer;
mod up;

use crate::compute::instance::{
    Instance, InstancePhase, Operation, OperationResult, RESIZE_LIMIT, SETUP_LIMIT, START_LIMIT, Trigger, Wish,
};
use crate::compute::job::Verdict;
use crate::compute::size::SizeName;
use crate::compute::start::StartTimes;
use crate::compute::verb::{InstanceVerb, Legality};
use crate::compute::{InstanceId, Resources};
use crate::id::WorkspaceId;
use crate::reason::Reason;
use crate::text::Text;
use crate::world::{About, Answer, Command, Key, PoolKey, ScheduleTarget, World};

impl World {
    pub(super) fn own_instance(&self, workspace: &WorkspaceId, id: InstanceId) -> Result<&Instance, Reason> {
        let found = self.instances.get(&id).filter(|instance| instance.workspace == *workspace);
        found.ok_or_else(|| Reason::NotFound { what: id.to_string() })
    }

    /// The state of an instance that people see.
    pub fn instance_state(&self, instance: &Instance) -> crate::compute::instance::InstanceState {
        instance.phase.state(self.jobs_on(instance) > 0)
    }

    /// How many jobs an instance runs.
    pub fn jobs_on(&self, instance: &Instance) -> u64 {
        instance.node.and_then(|node| self.on.get(&node)).map_or(0, |on| on.jobs.len() as u64)
    }

    pub(super) fn judge_instance(&self, instance: &Instance, verb: InstanceVerb) -> Result<Legality, Reason> {
        let state = self.instance_state(instance);
        match verb.in_state(state) {
            Legality::No(help) => Err(self.not_now(instance, verb.key(), help)),
            legality => Ok(legality),
        }
    }

    fn not_now(&self, instance: &Instance, verb: &str, help: &str) -> Reason {
        Reason::NotNow {
            verb: verb.into(),
            name: instance.name.to_string(),
            state: self.instance_state(instance).key().into(),
            help: help.into(),
        }
    }

    /// Starts an instance, for a person or for a schedule.
    pub(super) fn start_instance(&mut self, id: InstanceId, trigger: Trigger) -> Result<Answer, Reason> {
        let Some(instance) = self.instances.get(&id) else { return Err(Reason::NotFound { what: id.to_string() }) };
        let legality = self.judge_instance(instance, InstanceVerb::Start)?;
        if let Some(given) = &instance.given {
            let (instance, from) = (instance.name.to_string(), given.from_name.clone());
            return Err(Reason::AwaitsAcceptance { instance, from });
        }
        let is_by_hand = trigger.is_by_hand();
        match legality {
            // Also a wish that something else was about to undo.
            Legality::Already | Legality::No(_) => {
                self.note_manual(id, is_by_hand);
                Ok(Answer::Already)
            }
            Legality::Later => {
                self.within_budget(&instance.workspace, &instance.owner)?;
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
                self.within_budget(&workspace, &owner)?;
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
        let legality = self.judge_instance(instance, InstanceVerb::Stop)?;
        if instance.wish != Wish::Delete {
            self.edit_instance(id, Instance::rest);
        }
        self.note_manual(id, trigger.is_by_hand());
        if legality != Legality::Yes {
            if was_wanted {
                self.decide(&workspace, About::Instance(id), why);
            }
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
        self.start_again(command, id, InstanceVerb::Restart);
        Ok(Answer::Done)
    }

    /// A fresh environment: another layer, in which the creation script runs again. The home stays.
    pub(super) fn rebuild_instance(&mut self, command: &Command, id: InstanceId) -> Result<Answer, Reason> {
        let instance = self.own_instance(&command.workspace, id)?;
        self.judge_instance(instance, InstanceVerb::Rebuild)?;
        let is_stopped = matches!(instance.phase, InstancePhase::Stopped);
        self.edit_instance(id, |instance| {
            instance.layer += 1;
            instance.creation_done = false;
        });
        if is_stopped {
            self.begin(id, InstanceVerb::Rebuild, Trigger::Person { name: command.name.clone() });
            self.note_result(id, OperationResult::Succeeded);
        } else {
            self.start_again(command, id, InstanceVerb::Rebuild);
        }
        Ok(Answer::Done)
    }

    /// Starts anew on the same node, or on another one if that does not answer.
    fn start_again(&mut self, command: &Command, id: InstanceId, verb: InstanceVerb) {
        let now = self.now;
        let node = self.instances.get(&id).and_then(|instance| instance.node);
        let node_answers =
            node.and_then(|node| self.nodes.get(&node)).is_some_and(crate::compute::node::Node::takes_jobs);
        self.begin(id, verb, Trigger::Person { name: command.name.clone() });
        self.edit_instance(id, |instance| instance.wish = Wish::Run);
        self.note_manual(id, true);
        if node_answers {
            let what = if verb == InstanceVerb::Rebuild { "rebuilt" } else { "restarted" };
            self.end_instance_jobs(id, &format!("{} {what} it", command.name));
            let until = now.mono.plus(SETUP_LIMIT);
            self.edit_instance(id, |instance| {
                instance.generation += 1;
                instance.start = Some(StartTimes::on_its_node(instance.generation, now.wall, now.mono));
                instance.phase = InstancePhase::Restarting { until };
            });
            self.kick(Key::Instance(id));
        } else {
            // The node does not answer, or is gone: another one, when the old one is gone for sure.
            self.go_down(id, |until| InstancePhase::Stopping { until });
        }
    }

    pub(super) fn delete_instance(&mut self, command: &Command, id: InstanceId) -> Result<Answer, Reason> {
        let instance = self.own_instance(&command.workspace, id)?;
        if self.judge_instance(instance, InstanceVerb::Delete)? == Legality::Already {
            return Ok(Answer::Already);
        }
        self.begin(id, InstanceVerb::Delete, Trigger::Person { name: command.name.clone() });
        self.edit_instance(id, |instance| {
            instance.rest();
            instance.wish = Wish::Delete;
        });
        for schedule in self.by_target.get(&ScheduleTarget::Instance(id)).cloned().unwrap_or_default() {
            self.remove_schedule(schedule);
        }
        let what: Text = format!("the instance was deleted by {}", command.name).into();
        let jobs: Vec<_> =
            self.pools.get(&PoolKey::Instance(id)).map(|pool| pool.jobs.iter().copied().collect()).unwrap_or_default();
        self.end_rests(&PoolKey::Instance(id), &Verdict::ComputeGone { what: what.clone() });
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

    // ---- operations
    // -------------------------------------------------------------------------------------------------

    /// A new operation; one that was not done yet is overtaken.
    fn begin(&mut self, id: InstanceId, verb: InstanceVerb, trigger: Trigger) {
        let Some(instance) = self.instances.get(&id) else { return };
        let (workspace, before) = (instance.workspace.clone(), &instance.operation);
        let overtaken = before.result.is_none().then_some(before.verb);
        if let Some(verb_before) = overtaken {
            let reason = Reason::OperationOvertaken { verb: verb_before, by: verb };
            self.decide(&workspace, About::Instance(id), reason);
        }
        // A stop says more about its cause.
        if verb != InstanceVerb::Stop {
            let reason = Reason::OperationBegun { verb, trigger: trigger.clone() };
            self.decide(&workspace, About::Instance(id), reason);
        }
        self.end_start(id);
        let now = self.now;
        self.edit_instance(id, |instance| {
            instance.operation = Operation { verb, trigger, at: now.wall, since: now.mono, result: None, took: None };
        });
    }

    /// The operation that goes on has come to its end.
    fn finish(&mut self, id: InstanceId, result: OperationResult) {
        let Some(instance) = self.instances.get(&id).filter(|instance| instance.operation.result.is_none()) else {
            return;
        };
        if result == OperationResult::Succeeded {
            let took = self.now.mono.since(instance.operation.since);
            let (workspace, verb) = (instance.workspace.clone(), instance.operation.verb);
            self.decide(&workspace, About::Instance(id), Reason::OperationDone { verb, took });
        } else {
            self.end_start(id);
        }
        self.note_result(id, result);
    }

    fn note_result(&mut self, id: InstanceId, result: OperationResult) {
        let now = self.now.mono;
        self.edit_instance(id, |instance| {
            instance.operation.took = Some(now.since(instance.operation.since));
            instance.operation.result = Some(result);
        });
    }

    /// A start that has not come to its end will not.
    fn end_start(&mut self, id: InstanceId) {
        let now = self.now.mono;
        let goes_on = |start: &StartTimes| start.healthy.is_none() && start.failed.is_none();
        if self.instances.get(&id).and_then(|instance| instance.start.as_ref()).is_some_and(goes_on) {
            self.edit_instance(id, |instance| {
                if let Some(start) = &mut instance.start {
                    start.failed = Some(now.since(start.since));
                }
            });
        }
    }

    /// What a person did holds until the next boundary, and a stop that only waits for jobs is off.
    fn note_manual(&mut self, id: InstanceId, is_by_hand: bool) {
        if is_by_hand {
            let now = self.now.wall;
            self.edit_instance(id, |instance| {
                instance.manual_at = Some(now);
                instance.draining = None;
            });
        }
    }
}
