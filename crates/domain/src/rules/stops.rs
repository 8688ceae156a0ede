//! Scheduled stops of instances: the warning before, putting them off, leaving them out, and what becomes of
//! running jobs.
//!
//! A stop that somebody put off comes at the time they chose, in place of all that were planned before it. So
//! of an instance at most one scheduled stop is ever ahead ([`World::stop_ahead`]), and that one is
//! announced.

use crate::Timestamp;
use crate::compute::instance::{Instance, InstancePhase, Trigger, Wish};
use crate::compute::notice::{Draining, MAX_POSTPONE, Postponed, STOP_WARNING, StopNotice, StopWhy};
use crate::compute::{InstanceId, ScheduleId};
use crate::reason::Reason;
use crate::schedule::due::CannotSkip;
use crate::schedule::{Action, Firing, Schedule, StopJobs};
use crate::text::Problem;
use crate::world::{About, Answer, Command, PoolKey, ScheduleEntry, ScheduleTarget, World};

/// Times at which a stop and a start coincide are passed over so often; a schedule of which all do stops
/// nothing.
const PASSED_OVER: usize = 8;

impl World {
    /// The schedules of an instance that do that.
    fn schedules_of(&self, id: InstanceId, action: Action) -> impl Iterator<Item = &ScheduleEntry> {
        let all = self.schedules_for(ScheduleTarget::Instance(id));
        all.filter(move |entry| entry.schedule.action == action)
    }

    /// The next scheduled stop of an instance that will act, whether or not somebody keeps it running past
    /// it.
    pub(crate) fn coming_stop(&self, id: InstanceId) -> Option<(Timestamp, ScheduleId)> {
        // The wheel knows the next times without looking at a calendar.
        let is_start_too = |at: Timestamp| {
            let just_before = Timestamp(at.0 - 1);
            let starts =
                |schedule: &Schedule| schedule.next_acting_after(just_before).is_some_and(|next| next.at == at);
            let could = |entry: &&ScheduleEntry| self.wheel.at(&entry.id).is_some_and(|next| next <= at);
            self.schedules_of(id, Action::Start).filter(could).any(|entry| starts(&entry.schedule))
        };
        let next = |entry: &ScheduleEntry| {
            let mut at = self.wheel.at(&entry.id)?;
            for _ in 0..PASSED_OVER {
                // Of a stop and a start at the same instant the start counts.
                if entry.schedule.dismissed != Some(at) && !is_start_too(at) {
                    return Some((at, entry.id));
                }
                at = entry.schedule.next_after(at)?.at;
            }
            None
        };
        self.schedules_of(id, Action::Stop).filter_map(next).min()
    }

    /// The scheduled stop that is ahead of an instance that is to run.
    pub fn stop_ahead(&self, instance: &Instance) -> Option<StopNotice> {
        if instance.wish != Wish::Run {
            return None;
        }
        if let Some(draining) = &instance.draining {
            return Some(StopNotice { at: draining.at, why: draining.why });
        }
        if let Some(postponed) = &instance.postponed {
            return Some(StopNotice { at: postponed.until, why: StopWhy::Postponed });
        }
        let (at, schedule) = self.coming_stop(instance.id)?;
        Some(StopNotice { at, why: StopWhy::Schedule(schedule) })
    }

    /// When to look at an instance by the wall clock: when it is time to warn, or when a stop that was put
    /// off comes.
    pub(crate) fn next_look(&self, instance: &Instance) -> Option<Timestamp> {
        // A stop that waits for jobs has a deadline on the other clock.
        let ahead = self.stop_ahead(instance).filter(|_| instance.draining.is_none())?;
        if !instance.notices.contains(&ahead) {
            return Some(Timestamp(ahead.at.0.saturating_sub(STOP_WARNING.as_millis())));
        }
        // Schedules fire by themselves.
        (ahead.why == StopWhy::Postponed).then_some(ahead.at)
    }

    /// Instances of which a stop comes near are looked at in this step.
    pub(super) fn look_at_stops(&mut self) {
        while let Some((_, id)) = self.looks.pop_due(self.now.wall) {
            self.dirty.insert(PoolKey::Instance(id));
        }
    }

    /// Announces the stops that come near, takes back what was announced and does not come, and stops what is
    /// due.
    pub(super) fn review_stops(&mut self, id: InstanceId) {
        let now = self.now;
        let Some(instance) = self.instances.get(&id) else { return };
        if instance.draining.is_some() && self.jobs_on(instance) == 0 {
            self.stop_drained(id);
        }
        let Some(instance) = self.instances.get(&id) else { return };
        if let Some(postponed) = instance.postponed.clone().filter(|postponed| postponed.until <= now.wall)
            && instance.draining.is_none()
        {
            self.stop_postponed(id, &postponed);
        }
        let Some(instance) = self.instances.get(&id) else { return };
        let is_near = |notice: &StopNotice| notice.at <= now.wall.plus(STOP_WARNING);
        let is_draining = instance.draining.is_some();
        let ahead = self.stop_ahead(instance).filter(|ahead| is_draining || is_near(ahead));
        let is_new = ahead.is_some_and(|ahead| !instance.notices.contains(&ahead)) && !is_draining;
        let mut notices: Vec<StopNotice> = ahead.into_iter().chain(self.idle_notice(instance)).collect();
        notices.sort_by_key(|notice| (notice.at, notice.why));
        let workspace = instance.workspace.clone();
        if instance.notices != notices {
            let why = ahead.filter(|_| is_new).map(|ahead| (ahead, self.say_stop(instance, ahead.why)));
            self.edit_instance(id, |instance| instance.notices = notices);
            if let Some((ahead, why)) = why {
                let left = ahead.at.since(now.wall);
                self.decide(&workspace, About::Instance(id), Reason::StopWarning { left, why });
            }
        }
        // Looked at: the next time is planned also if nothing changed.
        self.plan_look(id);
    }

    fn idle_notice(&self, instance: &Instance) -> Option<StopNotice> {
        let (policy, watch) = (instance.idle.as_ref()?, &instance.watch);
        watch.warned?;
        if instance.wish != Wish::Run || !matches!(instance.phase, InstancePhase::Running | InstancePhase::Unknown) {
            return None;
        }
        let known = instance.notices.iter().find(|notice| notice.why == StopWhy::Idle).copied();
        let at = || self.now.wall.plus(watch.left(policy, self.now.mono));
        Some(known.unwrap_or_else(|| StopNotice { at: at(), why: StopWhy::Idle }))
    }

    fn say_stop(&self, instance: &Instance, why: StopWhy) -> String {
        match why {
            StopWhy::Schedule(schedule) => {
                self.schedules.get(&schedule).map(|entry| entry.schedule.sentence()).unwrap_or_default()
            }
            StopWhy::Postponed => {
                let by = instance.postponed.as_ref().map(|postponed| postponed.by.clone()).unwrap_or_default();
                format!("{by} keeps it running until then")
            }
            StopWhy::Idle => "it is not in use".into(),
        }
    }

    // ---- what becomes of a stop
    // -------------------------------------------------------------------------------------

    /// Why a schedule's stop does not act now, if so: somebody keeps the instance running past it, or jobs
    /// run.
    pub(super) fn hold_stop(&mut self, id: InstanceId, entry: &ScheduleEntry, planned: Timestamp) -> Option<Reason> {
        let instance = self.instances.get(&id)?;
        if let Some(postponed) = instance.postponed.as_ref().filter(|postponed| planned < postponed.until) {
            return Some(Reason::FiringPostponed { by: postponed.by.clone() });
        }
        self.hold_for_jobs(id, entry.schedule.jobs, StopWhy::Schedule(entry.id), entry.schedule.sentence())
    }

    fn hold_for_jobs(&mut self, id: InstanceId, handling: StopJobs, why: StopWhy, schedule: String) -> Option<Reason> {
        let now = self.now;
        let instance = self.instances.get(&id).filter(|instance| instance.wish == Wish::Run)?;
        let (workspace, jobs) = (instance.workspace.clone(), self.jobs_on(instance));
        if jobs == 0 {
            return None;
        }
        let reason = match handling {
            StopJobs::Now => return None,
            StopJobs::Skip => Reason::StopSkippedForJobs { jobs, schedule },
            StopJobs::Drain(limit) => {
                let until = now.mono.plus(limit);
                if let Some(before) = instance.draining.as_ref().filter(|before| before.until <= until) {
                    let (limit, schedule) = (before.until.since(now.mono), before.schedule.clone());
                    return Some(Reason::StopDrains { jobs, limit, schedule });
                }
                let draining = Draining { until, at: now.wall.plus(limit), limit, why, schedule: schedule.clone() };
                self.edit_instance(id, |instance| {
                    instance.postponed = None;
                    instance.draining = Some(draining);
                });
                Reason::StopDrains { jobs, limit, schedule }
            }
        };
        self.decide(&workspace, About::Instance(id), reason.clone());
        Some(reason)
    }

    /// The jobs for which a stop waited have ended, or have had their time.
    pub(super) fn stop_drained(&mut self, id: InstanceId) {
        let draining = self.edit_instance(id, |instance| instance.draining.take()).flatten();
        if let Some(draining) = draining {
            // Stopping is legal in every state.
            drop(self.stop_instance(id, Trigger::Schedule, Reason::BySchedule { schedule: draining.schedule }));
        }
    }

    /// The time until which somebody kept it running has come.
    fn stop_postponed(&mut self, id: InstanceId, postponed: &Postponed) {
        let by = postponed.by.clone();
        let words = format!("{by} kept it running until now");
        let held = self.hold_for_jobs(id, postponed.jobs, StopWhy::Postponed, words);
        self.edit_instance(id, |instance| instance.postponed = None);
        if held.is_none() {
            drop(self.stop_instance(id, Trigger::Schedule, Reason::AsPostponed { by }));
        }
    }

    // ---- orders
    // -----------------------------------------------------------------------------------------------------

    fn judge_up(&self, command: &Command, id: InstanceId, verb: &str) -> Result<&Instance, Reason> {
        let instance = self.own_instance(&command.workspace, id)?;
        if instance.wish == Wish::Run {
            return Ok(instance);
        }
        Err(Reason::NotNow {
            verb: verb.into(),
            name: instance.name.to_string(),
            state: self.instance_state(instance).key().into(),
            help: crate::compute::verb::table::NOTHING_AHEAD.into(),
        })
    }

    /// Keeps an instance running until then, over all scheduled stops before and whatever its activity.
    pub(super) fn postpone_stop(
        &mut self,
        command: &Command,
        id: InstanceId,
        until: Timestamp,
    ) -> Result<Answer, Reason> {
        let now = self.now;
        let instance = self.judge_up(command, id, "keeping it running")?;
        let latest = now.wall.plus(MAX_POSTPONE);
        if until <= now.wall || until > latest {
            let message = if until <= now.wall {
                format!("That was {} ago; choose a time up to {MAX_POSTPONE} ahead.", now.wall.since(until))
            } else {
                format!("A stop can be put off for up to {MAX_POSTPONE}, not for {}.", until.since(now.wall))
            };
            return Err(Reason::invalid(Problem::new("until", message)));
        }
        let coming = self.coming_stop(id);
        let replaces =
            instance.postponed.is_some() || instance.draining.is_some() || coming.is_some_and(|(at, _)| at < until);
        if !replaces && instance.idle.is_none() {
            let why = match coming {
                Some((at, _)) => format!(
                    "{} stops in {} at the earliest, which is later than that anyway.",
                    instance.name,
                    at.since(now.wall)
                ),
                None => format!("{} has no stop ahead: no schedule stops it, and no idle time.", instance.name),
            };
            return Err(Reason::CannotPostpone { why });
        }
        let left = until.since(now.wall);
        let jobs = match (&instance.postponed, coming) {
            (Some(before), _) => before.jobs,
            (None, Some((_, schedule))) => {
                self.schedules.get(&schedule).map(|entry| entry.schedule.jobs).unwrap_or_default()
            }
            (None, None) => StopJobs::Now,
        };
        let by = command.name.clone();
        self.edit_instance(id, |instance| {
            instance.watch.extend(left, now.mono);
            if replaces {
                instance.postponed = Some(Postponed { until, by: by.clone(), jobs });
                instance.draining = None;
            }
        });
        let reason = match replaces {
            true => Reason::StopPostponed { by, left },
            false => Reason::KeptRunning { by, span: left },
        };
        self.decide(&command.workspace, About::Instance(id), reason);
        Ok(Answer::Done)
    }

    /// Leaves the next scheduled stop of an instance out, or the one that somebody put off, or that waits for
    /// jobs.
    pub(super) fn skip_stop(&mut self, command: &Command, id: InstanceId) -> Result<Answer, Reason> {
        let now = self.now.wall;
        let instance = self.judge_up(command, id, "leaving its stop out")?;
        let Some(ahead) = self.stop_ahead(instance) else {
            let why = format!("No schedule is going to stop {}, so there is nothing to leave out.", instance.name);
            return Err(Reason::CannotSkip { why });
        };
        if instance.draining.is_none() && instance.postponed.is_none() {
            // All that would stop it at that instant, which may be this one.
            let before = now.min(Timestamp(ahead.at.0 - 1));
            let acts_then = |entry: &&ScheduleEntry| {
                entry.schedule.next_acting_after(before).is_some_and(|next| next.at == ahead.at)
            };
            let mut skipped = Vec::new();
            for entry in self.schedules_of(id, Action::Stop).filter(acts_then) {
                let is_skipped = |next: &Firing| entry.schedule.dismissed == Some(next.at);
                if let Some(firing) = entry.schedule.next_after(before).filter(is_skipped) {
                    return Err(Reason::CannotSkip { why: CannotSkip::AlreadySkipped(firing).to_string() });
                }
                let mut entry = entry.clone();
                entry.schedule.dismissed = Some(ahead.at);
                skipped.push(entry);
            }
            skipped.into_iter().for_each(|entry| self.put_schedule(entry));
        }
        self.edit_instance(id, |instance| {
            instance.postponed = None;
            instance.draining = None;
        });
        let left = ahead.at.since(now);
        self.decide(&command.workspace, About::Instance(id), Reason::StopLeftOut { by: command.name.clone(), left });
        Ok(Answer::Done)
    }
}
