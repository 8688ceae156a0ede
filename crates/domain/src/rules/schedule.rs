//! Schedules: whose time has come, and what becomes of it.

use std::collections::BTreeMap;

use crate::compute::ScheduleId;
use crate::compute::instance::Trigger;
use crate::compute::notice::MAX_POSTPONE;
use crate::compute::verb::{ClusterVerb, InstanceVerb};
use crate::id::WorkspaceId;
use crate::reason::Reason;
use crate::schedule::action::{self, Action, Target};
use crate::schedule::due::{DEFAULT_GRACE, Decision, Outcome, checked_until, settle};
use crate::schedule::{Schedule, StopJobs, Timetable, due};
use crate::time::Span;
use crate::world::{About, Answer, Command, Key, ScheduleEntry, ScheduleTarget, World};

impl World {
    /// Acts on every schedule whose time has come since the last look. At most one of a compute's schedules
    /// acts.
    pub(super) fn fire_schedules(&mut self) {
        let (last, now) = (self.state.checked, self.now.wall);
        let seen = last.max(self.wall_before);
        if checked_until(seen, now) < seen {
            self.clock_was_wrong();
            return;
        }
        let checked = checked_until(last, now);
        if self.wheel.next_at().is_none_or(|at| at > now) {
            return;
        }
        self.state.checked = checked;
        self.changed(Key::State);
        let mut by_target: BTreeMap<ScheduleTarget, Vec<ScheduleId>> = BTreeMap::new();
        while let Some((_, id)) = self.wheel.pop_due(now) {
            if let Some(entry) = self.schedules.get(&id) {
                by_target.entry(entry.target).or_default().push(id);
            }
        }
        for (target, ids) in by_target {
            self.fire_of(target, &ids, last);
        }
    }

    /// The clock had been wrong by hours and was set right: what was written down under the wrong one is not
    /// in the future, and everything is planned anew from here.
    fn clock_was_wrong(&mut self) {
        let now = self.now.wall;
        self.state.checked = self.state.checked.min(now);
        self.changed(Key::State);
        let is_ahead = |at: &Option<crate::Timestamp>| at.is_some_and(|at| at > now);
        let instances: Vec<_> =
            self.instances.values().filter(|one| is_ahead(&one.manual_at)).map(|one| one.id).collect();
        for id in instances {
            self.edit_instance(id, |instance| instance.manual_at = Some(now));
        }
        let planned = |one: &&crate::compute::instance::Instance| one.postponed.is_some() || !one.notices.is_empty();
        let instances: Vec<_> = self.instances.values().filter(planned).map(|one| one.id).collect();
        for id in instances {
            self.edit_instance(id, |instance| {
                instance.notices.clear();
                if let Some(postponed) = &mut instance.postponed {
                    postponed.until = postponed.until.min(now.plus(MAX_POSTPONE));
                }
            });
        }
        let clusters: Vec<_> =
            self.clusters.values().filter(|one| is_ahead(&one.manual_at)).map(|one| one.id).collect();
        for id in clusters {
            self.edit_cluster(id, |cluster| cluster.manual_at = Some(now));
        }
        let entries: Vec<ScheduleEntry> = self.schedules.values().cloned().collect();
        for mut entry in entries {
            entry.schedule.since = entry.schedule.since.min(now);
            self.put_schedule(entry);
        }
    }

    fn fire_of(&mut self, target: ScheduleTarget, ids: &[ScheduleId], last: crate::Timestamp) {
        let now = self.now.wall;
        let mut firing = Vec::new();
        for id in ids {
            let Some(entry) = self.schedules.get(id) else { continue };
            let (workspace, outcome) = (entry.workspace.clone(), due(&entry.schedule, last, now, DEFAULT_GRACE));
            let (planned, passed) = match outcome {
                Outcome::Nothing => (None, None),
                Outcome::Fire { planned, passed } => (Some((planned, Span::ZERO)), Some(passed)),
                Outcome::CatchUp { planned, late, passed } => (Some((planned, late)), Some(passed)),
                Outcome::Skipped { passed } => (None, Some(passed)),
            };
            if let Some(passed) = passed {
                if passed.missed > 0 {
                    let (missed, is_more) = (passed.missed, passed.is_more);
                    let reason = Reason::FiringsMissed { missed, is_more, grace: DEFAULT_GRACE };
                    self.decide(&workspace, About::Schedule(*id), reason);
                }
                if passed.dismissed.is_some() {
                    self.decide(&workspace, About::Schedule(*id), Reason::FiringDismissed);
                }
            }
            if let (Some((planned, late)), Some(entry)) = (planned, self.schedules.get(id)) {
                firing.push(((*id, late), entry.schedule.action, planned.at));
            }
            // A dismissed time that has passed is forgotten; the next one is planned.
            if let Some(mut entry) = self.schedules.get(id).cloned() {
                entry.schedule.dismissed = entry.schedule.dismissed.filter(|at| *at > now);
                self.put_schedule(entry);
            }
        }
        let manual_at = match target {
            ScheduleTarget::Instance(id) => self.instances.get(&id).and_then(|instance| instance.manual_at),
            ScheduleTarget::Cluster(id) => self.clusters.get(&id).and_then(|cluster| cluster.manual_at),
        };
        for ((id, late), decision) in settle(&firing, manual_at) {
            let Some(entry) = self.schedules.get(&id).cloned() else { continue };
            let reason = match decision {
                Decision::Overruled { .. } => Reason::Overruled,
                Decision::Superseded { .. } => Reason::Superseded,
                Decision::Apply { planned } => self.act(&entry, planned, late),
            };
            self.decide(&entry.workspace, About::Schedule(id), reason);
        }
    }

    fn act(&mut self, entry: &ScheduleEntry, planned: crate::Timestamp, late: Span) -> Reason {
        if let (ScheduleTarget::Instance(id), Action::Stop) = (entry.target, entry.schedule.action)
            && let Some(reason) = self.hold_stop(id, entry, planned)
        {
            return reason;
        }
        let why = || Reason::BySchedule { schedule: entry.schedule.sentence() };
        let result = match (entry.target, entry.schedule.action) {
            (ScheduleTarget::Instance(id), Action::Start) => self.start_instance(id, Trigger::Schedule),
            (ScheduleTarget::Instance(id), Action::Stop) => self.stop_instance(id, Trigger::Schedule, why()),
            (ScheduleTarget::Cluster(id), Action::MinNodes(nodes)) => {
                let is_so = self.clusters.get(&id).is_some_and(|cluster| cluster.min() == nodes.min(cluster.scale.max));
                self.edit_cluster(id, |cluster| cluster.scheduled_min = Some(nodes));
                Ok(if is_so { Answer::Already } else { Answer::Done })
            }
            // Refused when the schedule was made.
            (ScheduleTarget::Instance(_) | ScheduleTarget::Cluster(_), _) => Ok(Answer::Already),
        };
        match result {
            Ok(Answer::Already) => Reason::AlreadySo { state: self.target_state(entry.target) },
            Ok(_) => Reason::Fired { what: entry.schedule.action.phrase(), late },
            Err(why) => Reason::FiringFailed { why: Box::new(why) },
        }
    }

    fn target_state(&self, target: ScheduleTarget) -> String {
        match target {
            ScheduleTarget::Instance(id) => self
                .instances
                .get(&id)
                .map(|instance| self.instance_state(instance).key().to_owned())
                .unwrap_or_default(),
            ScheduleTarget::Cluster(id) => {
                let min = self.clusters.get(&id).map_or(0, |cluster| u64::from(cluster.min()));
                format!("at a minimum of {}", crate::text::counted(min, "node", "nodes"))
            }
        }
    }

    // ---- orders
    // -----------------------------------------------------------------------------------------------------

    pub(super) fn own_schedule(&self, workspace: &WorkspaceId, id: ScheduleId) -> Result<&ScheduleEntry, Reason> {
        let found = self.schedules.get(&id).filter(|entry| entry.workspace == *workspace);
        found.ok_or_else(|| Reason::NotFound { what: id.to_string() })
    }

    fn judge_action(&self, target: ScheduleTarget, action: Action, jobs: StopJobs) -> Result<(), Reason> {
        let kind = match target {
            ScheduleTarget::Instance(_) => Target::Instance,
            ScheduleTarget::Cluster(_) => Target::Cluster,
        };
        action.check(kind).map_err(Reason::invalid)?;
        jobs.check().map_err(Reason::invalid)?;
        if action != Action::Stop && !jobs.is_now() {
            let message = "Only a stop does something to running jobs.";
            return Err(Reason::invalid(crate::text::Problem::new("jobs", message)));
        }
        if let (ScheduleTarget::Cluster(id), Action::MinNodes(nodes)) = (target, action)
            && let Some(cluster) = self.clusters.get(&id)
            && nodes > cluster.scale.max
        {
            let message = format!("The minimum of {nodes} is above the maximum of {}.", cluster.scale.max);
            return Err(Reason::invalid(crate::text::Problem::new("min", message)));
        }
        Ok(())
    }

    /// Where no schedule acts any more, a cluster keeps the minimum that somebody gave it.
    pub(super) fn forget_scheduled_min(&mut self, target: ScheduleTarget) {
        let ScheduleTarget::Cluster(id) = target else { return };
        let is_scheduled = self.schedules_for(target).any(|entry| entry.schedule.is_enabled);
        if !is_scheduled && self.clusters.get(&id).is_some_and(|cluster| cluster.scheduled_min.is_some()) {
            self.edit_cluster(id, |cluster| cluster.scheduled_min = None);
        }
    }

    pub(super) fn add_schedule(
        &mut self,
        command: &Command,
        target: ScheduleTarget,
        action: Action,
        timetable: &Timetable,
        jobs: StopJobs,
    ) -> Result<Answer, Reason> {
        let workspace = &command.workspace;
        match target {
            ScheduleTarget::Instance(id) => {
                let instance = self.own_instance(workspace, id)?;
                self.judge_instance(instance, InstanceVerb::Configure)?;
            }
            ScheduleTarget::Cluster(id) => drop(self.cluster_for(id, workspace, ClusterVerb::Scale)?),
        }
        self.judge_action(target, action, jobs)?;
        let count = self.by_target.get(&target).map_or(0, std::collections::BTreeSet::len);
        action::judge_one_more(count).map_err(Reason::invalid)?;
        self.state.schedules += 1;
        self.changed(Key::State);
        let id = ScheduleId(self.state.schedules);
        let schedule = Schedule::new(action, timetable.clone(), self.now.wall).with_jobs(jobs);
        self.put_schedule(ScheduleEntry { id, workspace: workspace.clone(), target, schedule });
        Ok(Answer::Schedule(id))
    }

    pub(super) fn edit_schedule(
        &mut self,
        command: &Command,
        id: ScheduleId,
        action: Action,
        timetable: &Timetable,
        jobs: StopJobs,
    ) -> Result<Answer, Reason> {
        let mut entry = self.own_schedule(&command.workspace, id)?.clone();
        self.judge_action(entry.target, action, jobs)?;
        entry.schedule = entry.schedule.edited(action, timetable.clone(), self.now.wall).with_jobs(jobs);
        self.put_schedule(entry);
        Ok(Answer::Done)
    }

    pub(super) fn enable_schedule(
        &mut self,
        command: &Command,
        id: ScheduleId,
        is_enabled: bool,
    ) -> Result<Answer, Reason> {
        let mut entry = self.own_schedule(&command.workspace, id)?.clone();
        if entry.schedule.is_enabled == is_enabled {
            return Ok(Answer::Already);
        }
        entry.schedule = if is_enabled { entry.schedule.enabled(self.now.wall) } else { entry.schedule.disabled() };
        let target = entry.target;
        self.put_schedule(entry);
        self.forget_scheduled_min(target);
        Ok(Answer::Done)
    }

    pub(super) fn skip_schedule(&mut self, command: &Command, id: ScheduleId, skips: bool) -> Result<Answer, Reason> {
        let mut entry = self.own_schedule(&command.workspace, id)?.clone();
        if !skips && entry.schedule.dismissed.is_none() {
            return Ok(Answer::Already);
        }
        entry.schedule = if skips {
            let skipped = entry.schedule.skip_next(self.now.wall);
            skipped.map_err(|why| Reason::CannotSkip { why: why.to_string() })?
        } else {
            entry.schedule.skip_none()
        };
        self.put_schedule(entry);
        Ok(Answer::Done)
    }
}
