//! Giving an instance to somebody else.
//!
//! It changes hands at once, and can be started by nobody until what opens doors has been taken out of its
//! home: that is done outside, again and again until it succeeds, and its own phase keeps everything else
//! away meanwhile.

use crate::compute::instance::{Given, InstancePhase, OperationResult, TRANSFER_RETRY, Trigger};
use crate::compute::job::Verdict;
use crate::compute::verb::InstanceVerb;
use crate::compute::{InstanceId, Resources};
use crate::id::UserId;
use crate::reason::Reason;
use crate::text::{Text, shortened_to};
use crate::world::{About, Answer, Command, Key, PoolKey, World};

impl World {
    pub(in crate::rules) fn transfer_instance(
        &mut self,
        command: &Command,
        id: InstanceId,
        from: &UserId,
        to: &UserId,
        to_name: &Text,
    ) -> Result<Answer, Reason> {
        let workspace = &command.workspace;
        let instance = self.own_instance(workspace, id)?;
        if instance.owner == *to {
            return Ok(Answer::Already);
        }
        if instance.owner != *from {
            let help = "It has changed hands meanwhile. Look at it again.";
            return Err(self.not_now(instance, InstanceVerb::Transfer.key(), help));
        }
        self.judge_instance(instance, InstanceVerb::Transfer)?;
        let size = self.known_size(&instance.size)?.clone();
        if let Some(reason) = self.never(workspace, Some(to), &size, 1, Resources::NONE) {
            return Err(reason);
        }
        if let Some(shortage) = self.too_many_computes(workspace, Some(to)) {
            return Err(Reason::TooManyComputes { shortage });
        }
        let (from, from_name) = (from.clone(), instance.owner_name.clone());
        let until = self.now.mono.plus(TRANSFER_RETRY);
        self.begin(id, InstanceVerb::Transfer, Trigger::Person { name: command.name.clone() });
        // Only owners run jobs on an instance.
        let what: Text = format!("the instance was given to {to_name} by {}", command.name).into();
        let jobs: Vec<_> =
            self.pools.get(&PoolKey::Instance(id)).map(|pool| pool.jobs.iter().copied().collect()).unwrap_or_default();
        self.end_rests(&PoolKey::Instance(id), &Verdict::ComputeGone { what: what.clone() });
        jobs.into_iter().for_each(|job| self.end_job(job, Verdict::ComputeGone { what: what.clone() }));
        self.edit_instance(id, |instance| {
            instance.rest();
            // Who made it is still known.
            if instance.creator.is_none() {
                instance.creator = Some(from.clone());
                instance.creator_name = from_name.clone();
            }
            instance.owner = to.clone();
            instance.owner_name = to_name.clone();
            instance.has_quota = false;
            instance.notices.clear();
            // What it runs at its start somebody else has set: scripts, and the start files in its home and
            // its environment.
            if !instance.scripts.is_empty() {
                instance.scripts_by.get_or_insert_with(|| from.clone());
            }
            instance.scripts_revision += 1;
            instance.scripts_accepted = false;
            instance.given = Some(Given { from: from.clone(), from_name: from_name.clone() });
            instance.generation += 1;
            instance.phase = InstancePhase::Transferring { from: from.clone(), until };
        });
        let reason = Reason::Transferred { by: command.name.clone(), from: from_name, to: to_name.clone() };
        self.decide(workspace, About::Instance(id), reason);
        self.kick(Key::Instance(id));
        Ok(Answer::Done)
    }

    /// Its home is its new owner's, or could not be made so: then it is tried again.
    pub(in crate::rules) fn transferred(&mut self, id: InstanceId, generation: u64, failure: Option<&Text>) {
        let Some(instance) = self.instances.get(&id).filter(|instance| instance.generation == generation) else {
            return;
        };
        if !matches!(instance.phase, InstancePhase::Transferring { .. }) {
            return;
        }
        let (workspace, owner, size) = (instance.workspace.clone(), instance.owner.clone(), instance.size.clone());
        if let Some(detail) = failure {
            let detail = shortened_to(detail, 300).into();
            return self.decide(&workspace, About::Instance(id), Reason::TransferDelayed { detail });
        }
        self.edit_instance(id, |instance| instance.phase = InstancePhase::Stopped);
        // It keeps its quota if its new owner has room for it; else it asks when it starts.
        let is_free =
            self.sizes.get(&size).is_some_and(|size| self.shortage(&workspace, Some(&owner), size, 1).is_none());
        self.edit_instance(id, |instance| instance.has_quota = instance.keeps_quota && is_free);
        self.finish(id, OperationResult::Succeeded);
    }

    /// Nothing was heard for a while: whoever does it is told again.
    pub(in crate::rules) fn transfer_due(&mut self, id: InstanceId) {
        let next = self.now.mono.plus(TRANSFER_RETRY);
        self.edit_instance(id, |instance| {
            if let InstancePhase::Transferring { until, .. } = &mut instance.phase {
                *until = next;
            }
        });
        self.kick(Key::Instance(id));
    }
}
