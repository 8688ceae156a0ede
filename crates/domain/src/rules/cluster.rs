//! Clusters: made, changed, paused, deleted. How many nodes they have is decided in [`super::scaling`].

use crate::compute::cluster::{Cluster, ClusterPhase, LaunchTrouble, Plan, ScaleSettings};
use crate::compute::fair_share::QueuePolicy;
use crate::compute::job::Verdict;
use crate::compute::size::{ComputeName, SizeName, Tier};
use crate::compute::tags::Tags;
use crate::compute::verb::{ClusterState, ClusterVerb, Legality};
use crate::compute::{ClusterId, Resources};
use crate::id::WorkspaceId;
use crate::reason::Reason;
use crate::text::Problem;
use crate::world::{Answer, ClusterChange, Command, Key, PoolKey, ScheduleTarget, World};

impl World {
    /// The state of a cluster that people see.
    pub fn cluster_state(&self, cluster: &Cluster) -> ClusterState {
        match cluster.phase {
            ClusterPhase::Deleting { .. } => ClusterState::Deleting,
            ClusterPhase::Paused { .. } => ClusterState::Paused,
            ClusterPhase::Active => {
                let pool = self.pools.get(&PoolKey::Cluster(cluster.id));
                // A node that only waits out its idle time moves nothing.
                let is_moving = pool.is_some_and(|pool| pool.launching > 0 || pool.leaving() > 0)
                    || pool.map_or(0, |pool| pool.live) < u64::from(cluster.plan.target);
                if is_moving { ClusterState::Resizing } else { ClusterState::Steady }
            }
        }
    }

    pub(super) fn own_cluster(&self, workspace: &WorkspaceId, id: ClusterId) -> Result<&Cluster, Reason> {
        let found = self.clusters.get(&id).filter(|cluster| cluster.workspace == *workspace);
        found.ok_or_else(|| Reason::NotFound { what: id.to_string() })
    }

    /// Judges a verb by the table; what is so already is an answer, not a refusal.
    fn judge_cluster(&self, cluster: &Cluster, verb: ClusterVerb) -> Result<Option<Answer>, Reason> {
        let state = self.cluster_state(cluster);
        match verb.in_state(state) {
            Legality::Yes | Legality::Later => Ok(None),
            Legality::Already => Ok(Some(Answer::Already)),
            Legality::No(help) => Err(Reason::NotNow {
                verb: verb.key().into(),
                name: cluster.name.to_string(),
                state: state.key().into(),
                help: help.into(),
            }),
        }
    }

    /// Refuses settings that the quota or the machines can never meet. A maximum that cannot be reached is no
    /// mistake: the limit may be raised later, and until then scaling says what it waits for.
    fn judge_scale(&self, workspace: &WorkspaceId, size: &SizeName, scale: ScaleSettings) -> Result<(), Reason> {
        scale.check().map_err(Reason::invalid)?;
        let size = self.known_size(size)?;
        let least = u64::from(scale.min).max(1);
        if scale.max > 0
            && let Some(reason) = self.never(workspace, None, size, least, Resources::NONE)
        {
            return Err(reason);
        }
        Ok(())
    }

    pub(super) fn tag_cluster(&mut self, command: &Command, id: ClusterId, tags: &Tags) -> Result<Answer, Reason> {
        let cluster = self.own_cluster(&command.workspace, id)?;
        tags.check().map_err(Reason::invalid)?;
        if let Some(answer) = self.judge_cluster(cluster, ClusterVerb::Scale)? {
            return Ok(answer);
        }
        self.edit_cluster(id, |cluster| cluster.tags = tags.clone());
        Ok(Answer::Done)
    }

    pub(super) fn create_cluster(
        &mut self,
        command: &Command,
        name: &ComputeName,
        size: &SizeName,
        scale: ScaleSettings,
        tier: Tier,
        tags: &Tags,
    ) -> Result<Answer, Reason> {
        tags.check().map_err(Reason::invalid)?;
        let workspace = &command.workspace;
        let owner = command.user.clone().ok_or_else(|| nobody("cluster"))?;
        self.name_is_free(workspace, name)?;
        self.judge_scale(workspace, size, scale)?;
        self.within_budget(workspace, &owner)?;
        if let Some(shortage) = self.too_many_computes(workspace, Some(&owner)) {
            return Err(Reason::TooManyComputes { shortage });
        }
        self.state.clusters += 1;
        self.changed(Key::State);
        let id = ClusterId(self.state.clusters);
        self.insert_cluster(Cluster {
            id,
            workspace: workspace.clone(),
            name: name.clone(),
            owner,
            size: size.clone(),
            scale,
            tags: tags.clone(),
            tier,
            queue: QueuePolicy::default(),
            scheduled_min: None,
            phase: ClusterPhase::Active,
            created: self.now.wall,
            manual_at: None,
            trouble: LaunchTrouble::default(),
            yields_until: None,
            is_quick: false,
            is_instant: false,
            backfill_from: None,
            plan: Plan::default(),
        });
        Ok(Answer::Cluster(id))
    }

    pub(super) fn change_cluster(
        &mut self,
        command: &Command,
        id: ClusterId,
        change: &ClusterChange,
    ) -> Result<Answer, Reason> {
        // Beside the state of the cluster, which all three look at first, tags and scaling alone can be
        // refused. So with good tags the first refusal comes before anything is changed.
        if let Some(tags) = &change.tags {
            tags.check().map_err(Reason::invalid)?;
        }
        let mut answer = Answer::Already;
        let mut note = |one: Answer| {
            if one != Answer::Already {
                answer = one;
            }
        };
        if let Some(scale) = change.scale {
            note(self.scale_settings(command, id, scale)?);
        }
        if let Some(policy) = change.queue {
            note(self.set_queue_policy(command, Some(id), policy)?);
        }
        if let Some(tags) = &change.tags {
            note(self.tag_cluster(command, id, tags)?);
        }
        Ok(answer)
    }

    pub(super) fn scale_settings(
        &mut self,
        command: &Command,
        id: ClusterId,
        scale: ScaleSettings,
    ) -> Result<Answer, Reason> {
        let cluster = self.own_cluster(&command.workspace, id)?;
        if let Some(answer) = self.judge_cluster(cluster, ClusterVerb::Scale)? {
            return Ok(answer);
        }
        self.judge_scale(&command.workspace, &cluster.size.clone(), scale)?;
        // More nodes whether or not they are needed.
        if scale.min > cluster.scale.min || scale.warm > cluster.scale.warm {
            self.within_budget(&command.workspace, &cluster.owner)?;
        }
        let pool = self.pools.get(&PoolKey::Cluster(id));
        let jobs = pool.into_iter().flat_map(|pool| &pool.jobs).filter_map(|job| self.jobs.get(job));
        let jobs = jobs.filter(|job| job.is_queued()).map(|job| (job.spec.nodes, job.id));
        let rests = pool.into_iter().flat_map(|pool| &pool.arrays).filter_map(|first| self.arrays.get(first));
        let rests = rests.map(|array| (array.spec.nodes, array.first));
        let largest = jobs.chain(rests).filter(|(nodes, _)| *nodes > scale.max);
        if let Some((needed, job)) = largest.max() {
            let message =
                format!("{job} waits for {needed} nodes, so the maximum cannot be {}. Cancel it first.", scale.max);
            return Err(Reason::invalid(Problem::new("max", message)));
        }
        let now = self.now.wall;
        self.edit_cluster(id, |cluster| {
            cluster.scale = scale;
            // What somebody sets by hand holds until the next time of a schedule.
            cluster.scheduled_min = None;
            cluster.manual_at = Some(now);
        });
        Ok(Answer::Done)
    }

    pub(super) fn pause_cluster(&mut self, command: &Command, id: ClusterId, pauses: bool) -> Result<Answer, Reason> {
        let cluster = self.own_cluster(&command.workspace, id)?;
        let verb = if pauses { ClusterVerb::Pause } else { ClusterVerb::Resume };
        if let Some(answer) = self.judge_cluster(cluster, verb)? {
            return Ok(answer);
        }
        let phase = if pauses {
            ClusterPhase::Paused { by: command.name.clone(), since: Some(self.now.wall) }
        } else {
            ClusterPhase::Active
        };
        self.edit_cluster(id, |cluster| cluster.phase = phase);
        Ok(Answer::Done)
    }

    pub(super) fn delete_cluster(
        &mut self,
        command: &Command,
        id: ClusterId,
        ends_jobs: bool,
    ) -> Result<Answer, Reason> {
        let cluster = self.own_cluster(&command.workspace, id)?;
        let answer = self.judge_cluster(cluster, ClusterVerb::Delete)?;
        // A second delete may still turn waiting into ending.
        if answer.is_some() && !ends_jobs {
            return Ok(Answer::Already);
        }
        let what = format!("{} was deleted by {}", cluster.name, command.name);
        self.edit_cluster(id, |cluster| cluster.phase = ClusterPhase::Deleting { by: command.name.clone() });
        for schedule in self.by_target.get(&ScheduleTarget::Cluster(id)).cloned().unwrap_or_default() {
            self.remove_schedule(schedule);
        }
        let jobs: Vec<_> =
            self.pools.get(&PoolKey::Cluster(id)).map(|pool| pool.jobs.iter().copied().collect()).unwrap_or_default();
        self.end_rests(&PoolKey::Cluster(id), &Verdict::ComputeGone { what: what.as_str().into() });
        for job in jobs {
            if ends_jobs || self.jobs.get(&job).is_some_and(crate::compute::job::Job::is_queued) {
                self.end_job(job, Verdict::ComputeGone { what: what.as_str().into() });
            }
        }
        Ok(answer.unwrap_or(Answer::Done))
    }

    pub(super) fn cluster_node_gone(&mut self, id: ClusterId) {
        self.dirty.insert(PoolKey::Cluster(id));
    }

    /// A cluster that is being deleted goes when its last node and its last job have.
    pub(super) fn finish_delete(&mut self, id: ClusterId) {
        let key = PoolKey::Cluster(id);
        let is_deleting =
            self.clusters.get(&id).is_some_and(|cluster| matches!(cluster.phase, ClusterPhase::Deleting { .. }));
        if is_deleting && self.pools.get(&key).is_none_or(crate::world::Pool::is_empty) {
            self.set_pool_wake(&key, None);
            self.pools.remove(&key);
            self.starved.remove(&key);
            self.remove_cluster(id);
            self.dirty.remove(&key);
        }
    }

    /// A cluster of the workspace in which that verb is legal.
    pub(super) fn cluster_for(
        &self,
        id: ClusterId,
        workspace: &WorkspaceId,
        verb: ClusterVerb,
    ) -> Result<&Cluster, Reason> {
        let cluster = self.own_cluster(workspace, id)?;
        self.judge_cluster(cluster, verb)?;
        Ok(cluster)
    }

    pub(super) fn name_is_free(&self, workspace: &WorkspaceId, name: &ComputeName) -> Result<(), Reason> {
        if self.names.contains_key(&(workspace.clone(), name.clone())) {
            return Err(Reason::NameTaken { name: name.to_string() });
        }
        Ok(())
    }
}

/// Things have owners, so only people make them.
pub(super) fn nobody(what: &str) -> Reason {
    Reason::invalid(Problem::new("owner", format!("A {what} needs an owner; name an account.")))
}
