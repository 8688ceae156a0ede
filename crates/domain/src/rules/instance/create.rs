//! A new instance.

use crate::compute::cluster::LaunchTrouble;
use crate::compute::idle::IdleWatch;
use crate::compute::instance::{CREATE_LIMIT, Instance, InstancePhase, Operation, OperationResult, Trigger, Wish};
use crate::compute::start::StartTimes;
use crate::compute::verb::InstanceVerb;
use crate::compute::{InstanceId, Resources};
use crate::reason::Reason;
use crate::time::Span;
use crate::world::{About, Answer, Command, Key, NewInstance, World};

impl World {
    pub(in crate::rules) fn create_instance(&mut self, command: &Command, new: &NewInstance) -> Result<Answer, Reason> {
        let workspace = &command.workspace;
        self.name_is_free(workspace, &new.name)?;
        let size = self.known_size(&new.size)?.clone();
        self.idle_rules(workspace).judge(new.idle.as_ref()).map_err(Reason::invalid)?;
        new.scripts.check().map_err(Reason::invalid)?;
        new.tags.check().map_err(Reason::invalid)?;
        if let Some(reason) = self.never(workspace, Some(&new.owner), &size, 1, Resources::NONE) {
            return Err(reason);
        }
        self.within_budget(workspace, &new.owner)?;
        if let Some(shortage) = self.too_many_computes(workspace, Some(&new.owner)) {
            return Err(Reason::TooManyComputes { shortage });
        }
        // Made stopped, it keeps its quota from the start if it can; else it asks for it when it starts.
        let has_quota =
            !new.starts && new.keeps_quota && self.shortage(workspace, Some(&new.owner), &size, 1).is_none();
        let now = self.now;
        let phase = match new.starts {
            true => InstancePhase::Creating { until: now.mono.plus(CREATE_LIMIT) },
            false => InstancePhase::Stopped,
        };
        self.state.instances += 1;
        self.changed(Key::State);
        let id = InstanceId(self.state.instances);
        let is_by_owner = command.user.as_ref() == Some(&new.owner);
        let owner_name = if is_by_owner { command.name.clone() } else { new.owner_name.clone() };
        let trigger = Trigger::Person { name: command.name.clone() };
        self.insert_instance(Instance {
            id,
            workspace: workspace.clone(),
            name: new.name.clone(),
            owner: new.owner.clone(),
            owner_name: owner_name.clone(),
            creator: command.user.clone(),
            creator_name: command.name.clone(),
            tags: new.tags.clone(),
            size: new.size.clone(),
            wish: if new.starts { Wish::Run } else { Wish::Stop },
            phase,
            generation: 1,
            node: None,
            scripts: new.scripts.clone(),
            scripts_by: command.user.clone().filter(|_| !new.scripts.is_empty()),
            scripts_revision: u32::from(!new.scripts.is_empty()),
            scripts_accepted: is_by_owner,
            given: None,
            creation_done: false,
            layer: 1,
            start: new.starts.then(|| StartTimes::new(1, now.wall, now.mono)),
            waiting: None,
            keeps_quota: new.keeps_quota,
            has_quota,
            next_start: None,
            idle: new.idle.clone(),
            idle_by_policy: false,
            notices: Vec::new(),
            postponed: None,
            draining: None,
            watch: IdleWatch::default(),
            operation: Operation {
                verb: InstanceVerb::Create,
                trigger,
                at: now.wall,
                since: now.mono,
                result: (!new.starts).then_some(OperationResult::Succeeded),
                took: (!new.starts).then_some(Span::ZERO),
            },
            trouble: LaunchTrouble::default(),
            created: now.wall,
            manual_at: None,
        });
        let owner = (!is_by_owner).then_some(owner_name);
        let reason = Reason::Created { by: command.name.clone(), owner, size: new.size.to_string() };
        self.decide(workspace, About::Instance(id), reason);
        Ok(Answer::Instance(id))
    }
}
