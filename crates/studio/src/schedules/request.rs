//! A schedule as programs ask for it.

use atelier_domain::schedule::recurrence::Parts;
use atelier_domain::schedule::{Action, Cron, LocalTime, Recurrence, Schedule, StopJobs, Timetable, Trigger, Zone};
use atelier_domain::text::{Problem, shortened};
use atelier_domain::time::Span;
use serde::{Deserialize, Serialize};

use crate::schedules::commands::NewSchedule;
use crate::schedules::week::as_cron;
use crate::typed::Problems;

/// A schedule as programs ask for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScheduleRequest {
    /// `start` or `stop`.
    pub action: Option<String>,
    /// Five fields: minute, hour, day of month, month, day of week.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// In place of cron.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recurrence: Option<Parts>,
    /// Where the clock hangs; UTC if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// Nothing fires before, and intervals are counted from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// What a stop does to running jobs: `now`, `drain` or `skip`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<String>,
    /// How long it waits for them at most, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_minutes: Option<u32>,
    /// Whether it acts; it does if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// When, said by cron or by a recurrence; or all that is wrong with it. The clock hangs in UTC if nobody says
/// where.
pub fn timetable_of(
    cron: Option<&str>,
    recurrence: Option<&Parts>,
    time_zone: Option<&str>,
    start: Option<&str>,
) -> Result<Timetable, Vec<Problem>> {
    let mut problems = Problems::default();
    let trigger = problems.take(match (cron, recurrence) {
        (Some(cron), None) => Cron::parse(cron).map(Trigger::Cron),
        (None, Some(parts)) => Recurrence::new(parts).map(Trigger::Recurrence),
        (Some(_), Some(_)) => Err(Problem::new("recurrence", "Give cron or a recurrence, not both.")),
        (None, None) => Err(Problem::new("cron", "Say when: by cron, such as 30 8 * * MON-FRI, or by a recurrence.")),
    });
    let zone = problems.take(Zone::parse(time_zone.unwrap_or("UTC")));
    let start = problems.take(start.map(LocalTime::parse).transpose());
    let (Some(trigger), Some(zone), Some(start)) = (trigger, zone, start) else { return Err(problems.0) };
    Timetable::new(trigger, zone, start).map_err(|problem| vec![problem])
}

impl ScheduleRequest {
    /// Whether it says anything but on or off.
    pub fn is_more_than_a_switch(&self) -> bool {
        *self != Self { enabled: self.enabled, ..Self::default() }
    }

    /// The schedule, or all that is wrong with it.
    pub fn schedule(&self) -> Result<NewSchedule, Vec<Problem>> {
        let Self { cron, recurrence, time_zone, start, .. } = self;
        let mut problems = Problems::default();
        let action = problems.take(action_of(self.action.as_deref().unwrap_or_default()));
        let timetable = timetable_of(cron.as_deref(), recurrence.as_ref(), time_zone.as_deref(), start.as_deref());
        let timetable = timetable.map_err(|more| problems.0.extend(more)).ok();
        let jobs = problems.take(jobs_of(self.jobs.as_deref(), self.drain_minutes, "drain_minutes"));
        if action == Some(Action::Start) && jobs.is_some_and(|jobs| !jobs.is_now()) {
            problems.0.push(Problem::new("jobs", "Only a stop does something to running jobs."));
        }
        match (action, timetable, jobs) {
            (Some(action), Some(timetable), Some(jobs)) if problems.0.is_empty() => {
                Ok(NewSchedule { action, timetable, jobs })
            }
            _ => Err(problems.0),
        }
    }

    /// What a schedule becomes: what is left out stays as it is.
    pub fn over(&self, known: &Schedule) -> Result<NewSchedule, Vec<Problem>> {
        let is_other = self.cron.is_some() || self.recurrence.is_some();
        let old = Self::of(&NewSchedule { action: known.action, timetable: known.timetable.clone(), jobs: known.jobs });
        Self {
            action: self.action.clone().or(old.action),
            cron: if is_other { self.cron.clone() } else { old.cron },
            recurrence: if is_other { self.recurrence.clone() } else { old.recurrence },
            time_zone: self.time_zone.clone().or(old.time_zone),
            start: self.start.clone().or(old.start),
            drain_minutes: self.drain_minutes.or(if self.jobs.is_some() { None } else { old.drain_minutes }),
            jobs: self.jobs.clone().or(old.jobs),
            enabled: None,
        }
        .schedule()
    }

    /// The request that would make it.
    pub fn of(new: &NewSchedule) -> Self {
        let timetable = &new.timetable;
        let cron = as_cron(timetable);
        let recurrence = match timetable.trigger() {
            Trigger::Recurrence(recurrence) if cron.is_none() => Some(Parts::from(recurrence.clone())),
            Trigger::Recurrence(_) | Trigger::Cron(_) => None,
        };
        Self {
            action: Some(new.action.key().to_owned()),
            cron,
            recurrence,
            time_zone: Some(timetable.zone().as_str().to_owned()),
            start: timetable.start().map(String::from),
            jobs: (!new.jobs.is_now()).then(|| new.jobs.key().to_owned()),
            drain_minutes: match new.jobs {
                StopJobs::Drain(span) => u32::try_from(span.as_millis() / 60_000).ok(),
                StopJobs::Now | StopJobs::Skip => None,
            },
            enabled: None,
        }
    }
}

/// Reads what a schedule of an instance does.
pub fn action_of(text: &str) -> Result<Action, Problem> {
    match text {
        "start" => Ok(Action::Start),
        "stop" => Ok(Action::Stop),
        other => Err(Problem::new(
            "action",
            format!("An instance has schedules to “start” and to “stop”, not “{}”.", shortened(other)),
        )),
    }
}

/// Reads what a stop does to running jobs; `minutes_field` is where minutes are given.
pub fn jobs_of(text: Option<&str>, minutes: Option<u32>, minutes_field: &'static str) -> Result<StopJobs, Problem> {
    let wrong = |message: &str| Err(Problem::new(minutes_field, message));
    let jobs = match (text, minutes) {
        (None | Some("now"), None) => StopJobs::Now,
        (Some("skip"), None) => StopJobs::Skip,
        (None | Some("drain"), Some(minutes)) => StopJobs::Drain(Span::minutes(minutes)),
        (Some("drain"), None) => return wrong("Say how long it waits for jobs at most."),
        (Some("now" | "skip"), Some(_)) => return wrong("Only “drain” waits for jobs; leave this out."),
        (Some(other), _) => {
            let message = format!("A stop does “now”, “drain” or “skip” to running jobs, not “{}”.", shortened(other));
            return Err(Problem::new("jobs", message));
        }
    };
    jobs.check().map(|()| jobs).map_err(|problem| Problem::new(minutes_field, problem.message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> ScheduleRequest {
        serde_json::from_str(json).expect("a request")
    }

    #[test]
    fn a_schedule_and_its_request_say_the_same() {
        for json in [
            r#"{"action":"start","cron":"30 8 * * MON-FRI","time_zone":"Europe/Berlin"}"#,
            r#"{"action":"stop","cron":"0 18 * * *","time_zone":"UTC","jobs":"drain","drain_minutes":45}"#,
            "{\"action\":\"stop\",\"recurrence\":{\"frequency\":\"hour\",\"interval\":36},\"time_zone\":\"UTC\",\
             \"start\":\"2026-05-01T08:30\",\"jobs\":\"skip\"}",
        ] {
            let request = read(json);
            let made = request.schedule().expect("a schedule");
            assert_eq!(ScheduleRequest::of(&made), request, "{json}");
        }
    }

    #[test]
    fn all_that_is_wrong_is_named() {
        let fields = |json: &str| {
            read(json).schedule().expect_err(json).into_iter().map(|problem| problem.field).collect::<Vec<_>>()
        };
        assert_eq!(fields("{}"), ["action", "cron"]);
        assert_eq!(
            fields(r#"{"action":"min-nodes","cron":"x","time_zone":"Mars","start":"soon","jobs":"later"}"#),
            ["action", "cron", "time_zone", "start", "jobs"]
        );
        assert_eq!(fields(r#"{"action":"start","cron":"0 8 * * *","jobs":"skip"}"#), ["jobs"]);
        assert_eq!(fields(r#"{"action":"stop","cron":"0 8 * * *","drain_minutes":0}"#), ["drain_minutes"]);
        assert_eq!(fields(r#"{"action":"stop","cron":"0 8 * * *","jobs":"drain"}"#), ["drain_minutes"]);
    }

    #[test]
    fn what_is_left_out_of_a_change_stays() {
        let stop = read(
            r#"{"action":"stop","cron":"0 18 * * *","time_zone":"Europe/Berlin","jobs":"drain","drain_minutes":45}"#,
        );
        let NewSchedule { action, timetable, jobs } = stop.schedule().expect("a schedule");
        let known = Schedule::new(action, timetable, atelier_domain::Timestamp(0)).with_jobs(jobs);
        let changed = read(r#"{"cron":"0 20 * * *"}"#).over(&known).expect("a schedule");
        assert_eq!(changed.timetable.sentence(), "Every day at 20:00, Europe/Berlin");
        assert_eq!(changed.jobs, StopJobs::Drain(Span::minutes(45)));
        let changed = read(r#"{"jobs":"now"}"#).over(&known).expect("a schedule");
        assert_eq!(changed.jobs, StopJobs::Now);
        assert!(!read(r#"{"enabled":false}"#).is_more_than_a_switch());
    }
}
