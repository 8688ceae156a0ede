//! What people set: idle time, quota, tags, scripts; and what administrators demand.

use crate::compute::InstanceId;
use crate::compute::idle::{IdlePolicy, IdleRules, MAX_EXTENSION};
use crate::compute::instance::{InstancePhase, Wish};
use crate::compute::script::Scripts;
use crate::compute::tags::Tags;
use crate::compute::verb::{InstanceVerb, Legality, Verb};
use crate::reason::Reason;
use crate::text::Problem;
use crate::time::Span;
use crate::world::{About, Answer, Command, Key, World};

impl World {
    pub(in crate::rules) fn configure_instance(
        &mut self,
        command: &Command,
        id: InstanceId,
        idle: Option<&IdlePolicy>,
        keeps_quota: bool,
    ) -> Result<Answer, Reason> {
        let instance = self.own_instance(&command.workspace, id)?;
        self.judge_instance(instance, InstanceVerb::Configure)?;
        self.idle_rules(&command.workspace).judge(idle).map_err(Reason::invalid)?;
        let now = self.now.mono;
        self.edit_instance(id, |instance| {
            if instance.idle.as_ref() != idle {
                // A shorter time never stops what was idle under the longer one.
                instance.watch.recount(now);
                instance.idle = idle.cloned();
                instance.idle_by_policy = false;
            }
            instance.keeps_quota = keeps_quota;
            if !keeps_quota && matches!(instance.phase, InstancePhase::Stopped) {
                instance.has_quota = false;
            }
        });
        Ok(Answer::Done)
    }

    /// New rules for the workspace. What breaks them is amended, and says so.
    pub(in crate::rules) fn set_idle_rules(&mut self, command: &Command, rules: &IdleRules) -> Result<Answer, Reason> {
        rules.check().map_err(Reason::invalid)?;
        let workspace = &command.workspace;
        if self.idle_rules(workspace) == *rules {
            return Ok(Answer::Already);
        }
        self.idle_rules.insert(workspace.clone(), rules.clone());
        self.changed(Key::IdleRules(workspace.clone()));
        let broken: Vec<(InstanceId, IdlePolicy)> = self
            .instances
            .values()
            .filter(|instance| instance.workspace == *workspace && instance.wish != Wish::Delete)
            .filter_map(|instance| Some((instance.id, rules.amended(instance.idle.as_ref())?)))
            .collect();
        let now = self.now.mono;
        for (id, idle) in broken {
            let reason = Reason::IdleRuled { by: command.name.clone(), window: idle.window };
            self.decide(workspace, About::Instance(id), reason);
            self.edit_instance(id, |instance| {
                instance.watch.recount(now);
                instance.idle = Some(idle);
                instance.idle_by_policy = true;
            });
        }
        Ok(Answer::Done)
    }

    pub(in crate::rules) fn extend_instance(
        &mut self,
        command: &Command,
        id: InstanceId,
        by: Span,
    ) -> Result<Answer, Reason> {
        let instance = self.own_instance(&command.workspace, id)?;
        if let Legality::No(help) = Verb::ExtendInstance.in_instance(self.instance_state(instance)) {
            return Err(self.not_now(instance, "keeping it running", help));
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

    pub(in crate::rules) fn tag_instance(
        &mut self,
        command: &Command,
        id: InstanceId,
        tags: &Tags,
    ) -> Result<Answer, Reason> {
        let instance = self.own_instance(&command.workspace, id)?;
        self.judge_instance(instance, InstanceVerb::Configure)?;
        tags.check().map_err(Reason::invalid)?;
        if instance.tags == *tags {
            return Ok(Answer::Already);
        }
        self.edit_instance(id, |instance| instance.tags = tags.clone());
        Ok(Answer::Done)
    }

    /// Other scripts, from the next start on. A creation script that is new runs once then.
    pub(in crate::rules) fn set_scripts(
        &mut self,
        command: &Command,
        id: InstanceId,
        scripts: &Scripts,
    ) -> Result<Answer, Reason> {
        let instance = self.own_instance(&command.workspace, id)?;
        self.judge_instance(instance, InstanceVerb::Configure)?;
        scripts.check().map_err(Reason::invalid)?;
        // Its agent was told whether scripts follow.
        if matches!(
            instance.phase,
            InstancePhase::SettingUp { .. } | InstancePhase::UserSettingUp { .. } | InstancePhase::Restarting { .. }
        ) {
            return Err(self.not_now(instance, "changing its scripts", "Wait until it runs, or stop it."));
        }
        if instance.scripts == *scripts {
            return Ok(Answer::Already);
        }
        let is_by_owner = command.user.as_ref() == Some(&instance.owner);
        let awaits_owner = !is_by_owner && !scripts.is_empty();
        self.edit_instance(id, |instance| {
            if instance.scripts.creation != scripts.creation {
                instance.creation_done = false;
            }
            instance.scripts = scripts.clone();
            instance.scripts_by = command.user.clone();
            instance.scripts_revision += 1;
            // What somebody else has left in it is not accepted by setting other scripts.
            instance.scripts_accepted = is_by_owner && instance.given.is_none();
        });
        let reason = Reason::ScriptsSet { by: command.name.clone(), awaits_owner };
        self.decide(&command.workspace, About::Instance(id), reason);
        Ok(Answer::Done)
    }

    /// The owner's word that what somebody else has set, or left in it, may run as them.
    pub(in crate::rules) fn accept_scripts(
        &mut self,
        command: &Command,
        id: InstanceId,
        revision: u32,
    ) -> Result<Answer, Reason> {
        let instance = self.own_instance(&command.workspace, id)?;
        self.judge_instance(instance, InstanceVerb::Configure)?;
        let name = instance.name.to_string();
        if command.user.as_ref() != Some(&instance.owner) {
            return Err(Reason::OwnerOnly { instance: name, what: "Accepting the scripts of".into() });
        }
        if revision != instance.scripts_revision {
            return Err(Reason::ScriptsChanged { instance: name, read: revision, now: instance.scripts_revision });
        }
        if instance.scripts_accepted && instance.given.is_none() {
            return Ok(Answer::Already);
        }
        let by = command.name.clone();
        let reason = match &instance.given {
            Some(given) => Reason::GiftAccepted { by, from: given.from_name.clone() },
            None => Reason::ScriptsAccepted { by },
        };
        self.edit_instance(id, |instance| {
            instance.scripts_accepted = true;
            instance.given = None;
            // What ran before ran without the home: the creation script has its first real run ahead.
            instance.creation_done = false;
        });
        self.decide(&command.workspace, About::Instance(id), reason);
        Ok(Answer::Done)
    }
}
