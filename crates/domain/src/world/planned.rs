//! What is planned: the next start or stop of an instance in one line, and the week of a whole workspace.

use serde::{Deserialize, Serialize};

use super::{ScheduleTarget, World};
use crate::Timestamp;
use crate::compute::idle::IdlePolicy;
use crate::compute::instance::{Instance, InstancePhase, Wish};
use crate::compute::notice::StopWhy;
use crate::compute::{InstanceId, ScheduleId};
use crate::id::WorkspaceId;
use crate::schedule::{Action, LocalTime, StopJobs, UtcOffset, Zone};
use crate::time::{Now, Span};

/// The most rows of a week.
pub const MAX_WEEK: usize = 5_000;

/// A start that is to come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStart {
    pub at: Timestamp,
    pub schedule: ScheduleId,
    /// In whose zone it was planned.
    pub zone: Zone,
}

/// A stop that is to come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStop {
    /// When; at the latest, if it waits for jobs.
    pub at: Timestamp,
    pub why: StopWhy,
    /// The zone of the schedule, if one does it.
    pub zone: Option<Zone>,
    /// Who put it off, if somebody did.
    pub by: Option<String>,
    /// Whether it waits for running jobs now.
    pub is_draining: bool,
}

/// What happens to an instance next, if nobody does anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextLine {
    /// The next scheduled start; only of one that is not to run.
    pub start: Option<PlannedStart>,
    /// The next stop by schedule, or as somebody put it off; only of one that is to run.
    pub stop: Option<PlannedStop>,
    /// When it stops if nothing counts as activity from now on; only of one that runs.
    pub idle: Option<Timestamp>,
    /// No stop for lack of activity before then.
    pub kept_until: Option<Timestamp>,
    /// Whether it is to run.
    pub is_wanted: bool,
}

impl NextLine {
    /// In words: `Stops 19:00 Europe/Berlin by schedule, or 16:02 if idle`. Times without a schedule are said
    /// in the zone of whoever looks; nothing if nothing is planned.
    pub fn sentence(&self, viewer: &Zone, now: Timestamp) -> Option<String> {
        if let Some(start) = &self.start {
            return Some(format!("Starts {} {} by schedule", start.zone.say(start.at, now), start.zone.as_str()));
        }
        let zone = self.stop.as_ref().and_then(|stop| stop.zone.as_ref()).unwrap_or(viewer);
        let named = |at: Timestamp| format!("{} {}", zone.say(at, now), zone.as_str());
        let Some(stop) = &self.stop else {
            return self.idle.map(|idle| format!("Stops {} if idle", named(idle)));
        };
        let mut line = match (stop.why, &stop.by) {
            _ if stop.is_draining => format!("Stops when its jobs have ended, {} at the latest", named(stop.at)),
            (StopWhy::Postponed, Some(by)) => format!("Stops {}, put off by {by}", named(stop.at)),
            _ => format!("Stops {} by schedule", named(stop.at)),
        };
        if let Some(idle) = self.idle.filter(|idle| *idle < stop.at) {
            line.push_str(&format!(", or {} if idle", zone.say(idle, now)));
        }
        Some(line)
    }
}

/// One start or stop, or another minimum, in the plan of a week.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeekEntry {
    pub at: Timestamp,
    /// What a clock in the schedule's zone shows then; none for a stop that somebody put off.
    pub local: Option<LocalTime>,
    /// How far that clock is ahead of UTC.
    pub utc_offset: Option<UtcOffset>,
    /// The zone.
    pub zone: Option<Zone>,
    /// Which schedule; none for a stop that somebody put off.
    pub schedule: Option<ScheduleId>,
    /// What it acts on.
    pub target: ScheduleTarget,
    pub name: String,
    pub action: Action,
    /// What a stop does to running jobs.
    pub jobs: StopJobs,
    /// Whether it is left out: dismissed, or somebody keeps the instance running past it.
    pub is_skipped: bool,
    /// What the clocks do to it, in words.
    pub note: Option<String>,
}

/// The plan of a week, or of some days.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeekPlan {
    /// In the order of time.
    pub entries: Vec<WeekEntry>,
    /// Whether there is more than is listed.
    pub is_cut: bool,
}

impl World {
    /// What happens to an instance next, if nobody does anything. The World knows only the time of its last
    /// step; `now` is what the clocks show to whoever asks.
    pub fn next_actions(&self, id: InstanceId, now: Now) -> Option<NextLine> {
        let instance = self.instances.get(&id)?;
        if matches!(instance.phase, InstancePhase::CreateFailed) || instance.wish == Wish::Delete {
            return Some(NextLine::default());
        }
        if instance.wish != Wish::Run {
            return Some(NextLine { start: self.next_start(id, now.wall), ..NextLine::default() });
        }
        let stop = self.stop_ahead(instance).map(|ahead| {
            let schedule = match ahead.why {
                StopWhy::Schedule(schedule) => self.schedules.get(&schedule),
                StopWhy::Postponed | StopWhy::Idle => None,
            };
            PlannedStop {
                at: ahead.at,
                why: ahead.why,
                zone: schedule.map(|entry| entry.schedule.timetable.zone().clone()),
                by: instance.postponed.as_ref().map(|postponed| postponed.by.to_string()),
                is_draining: instance.draining.is_some(),
            }
        });
        let (idle, kept_until) = idle_stop(instance, self.idle_policy_of(instance).as_ref(), now);
        Some(NextLine { start: None, stop, idle, kept_until, is_wanted: true })
    }

    fn next_start(&self, id: InstanceId, now: Timestamp) -> Option<PlannedStart> {
        let starts = self.schedules_for(ScheduleTarget::Instance(id));
        let starts = starts.filter(|entry| entry.schedule.action == Action::Start);
        let next = starts.filter_map(|entry| Some((entry.schedule.next_acting_after(now)?.at, entry)));
        let (at, entry) = next.min_by_key(|(at, entry)| (*at, entry.id))?;
        Some(PlannedStart { at, schedule: entry.id, zone: entry.schedule.timetable.zone().clone() })
    }

    /// All that schedules of a workspace are going to do in so many days.
    pub fn week_plan(&self, workspace: &WorkspaceId, from: Timestamp, days: u32) -> WeekPlan {
        let until = from.plus(Span::hours(24).times(days));
        let mut plan = WeekPlan::default();
        for entry in self.schedules.values().filter(|entry| entry.workspace == *workspace && entry.schedule.is_enabled)
        {
            let Some(name) = self.target_name(entry.target) else { continue };
            let since = from.max(entry.schedule.since);
            let firings = entry.schedule.timetable.preview(crate::schedule::timetable::MAX_PREVIEW, since);
            plan.is_cut |= firings.len() == crate::schedule::timetable::MAX_PREVIEW
                && firings.last().is_some_and(|last| last.at < until);
            for firing in firings.into_iter().take_while(|firing| firing.at < until) {
                plan.entries.push(WeekEntry {
                    at: firing.at,
                    local: Some(firing.local),
                    utc_offset: Some(firing.utc_offset),
                    zone: Some(entry.schedule.timetable.zone().clone()),
                    schedule: Some(entry.id),
                    target: entry.target,
                    name: name.clone(),
                    action: entry.schedule.action,
                    jobs: entry.schedule.jobs,
                    is_skipped: entry.schedule.dismissed == Some(firing.at)
                        || (entry.schedule.action == Action::Stop && self.is_kept_past(entry.target, firing.at)),
                    note: firing.explanation(),
                });
            }
        }
        for instance in self.instances.values().filter(|instance| instance.workspace == *workspace) {
            let put_off = instance.postponed.as_ref().filter(|postponed| (from..until).contains(&postponed.until));
            plan.entries.extend(put_off.map(|postponed| WeekEntry {
                at: postponed.until,
                local: None,
                utc_offset: None,
                zone: None,
                schedule: None,
                target: ScheduleTarget::Instance(instance.id),
                name: instance.name.to_string(),
                action: Action::Stop,
                jobs: postponed.jobs,
                is_skipped: false,
                note: Some(format!("put off by {}", postponed.by)),
            }));
        }
        plan.entries.sort_by(|a, b| (a.at, &a.name, a.schedule).cmp(&(b.at, &b.name, b.schedule)));
        plan.is_cut |= plan.entries.len() > MAX_WEEK;
        plan.entries.truncate(MAX_WEEK);
        plan
    }

    fn target_name(&self, target: ScheduleTarget) -> Option<String> {
        match target {
            ScheduleTarget::Instance(id) => self.instances.get(&id).map(|instance| instance.name.to_string()),
            ScheduleTarget::Cluster(id) => self.clusters.get(&id).map(|cluster| cluster.name.to_string()),
        }
    }

    fn is_kept_past(&self, target: ScheduleTarget, at: Timestamp) -> bool {
        let ScheduleTarget::Instance(id) = target else { return false };
        let postponed = self.instances.get(&id).and_then(|instance| instance.postponed.as_ref());
        postponed.is_some_and(|postponed| at < postponed.until)
    }
}

/// When it stops if nothing counts from now on, and until when it does not whatever happens.
fn idle_stop(instance: &Instance, policy: Option<&IdlePolicy>, now: Now) -> (Option<Timestamp>, Option<Timestamp>) {
    let watch = &instance.watch;
    let is_up = matches!(instance.phase, InstancePhase::Running | InstancePhase::Unknown);
    let Some(policy) = policy.filter(|_| is_up) else { return (None, None) };
    let kept = (watch.kept_until > now.mono).then(|| now.wall.plus(watch.kept_until.since(now.mono)));
    // What was announced stands, whatever the clocks did meanwhile.
    let announced = instance.notices.iter().find(|notice| notice.why == StopWhy::Idle).map(|notice| notice.at);
    (Some(announced.unwrap_or_else(|| now.wall.plus(watch.left(policy, now.mono)))), kept)
}
