//! What is to be done now: missed firings, skipped ones, edits, and what people did by hand.
//!
//! Ground rules:
//! - A schedule acts at its firings and at no other time. It does not hold a state: who starts an instance at
//!   20:00, after its stop at 19:00, keeps it until the next firing of *any* of its schedules
//!   ([`holds_until`]).
//! - What a person did counts more than a firing planned before it. A stop at 19:00 that was missed and would
//!   be made up at 20:05 does not undo the start of 20:00 ([`settle`]).
//! - After a downtime only the newest planned firing is made up, and only within the grace; the others are
//!   recorded as missed. Of several schedules of one thing again only the newest counts ([`settle`]).
//! - A schedule looks at no instant before its last edit ([`Schedule::since`]), so that an edit never acts on
//!   the past.

use serde::{Deserialize, Serialize};

use super::action::{Action, StopJobs};
use super::timetable::{Firing, Timetable};
use crate::time::{Span, Timestamp};

/// How late a firing may be and still be on time. Less than the minute between two firings of the densest
/// schedule.
pub const ON_TIME: Span = Span::seconds(59);

/// How late a missed firing is made up, unless set otherwise.
pub const DEFAULT_GRACE: Span = Span::hours(1);

/// The longest grace: what was planned yesterday is nobody's wish any more.
pub const MAX_GRACE: Span = Span::hours(24);

/// Missed firings are counted up to here; a year of missed minutes needs no exact number.
pub const MAX_COUNTED: u32 = 1_000;

/// A clock that went back by no more than this has been corrected; by more, it was wrong before.
pub const SMALL_STEP_BACK: Span = Span::hours(3);

/// A timetable and what to do at its firings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    pub action: Action,
    pub timetable: Timetable,
    /// Whether it acts at all.
    pub is_enabled: bool,
    /// When it was made, edited or enabled last. Only later firings count.
    pub since: Timestamp,
    /// The one firing that somebody dismissed.
    pub dismissed: Option<Timestamp>,
    /// What a stop does to running jobs.
    #[serde(default, skip_serializing_if = "StopJobs::is_now")]
    pub jobs: StopJobs,
}

/// Why no firing can be skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotSkip {
    /// It would not act anyway.
    #[error("The schedule is disabled, so there is nothing to skip.")]
    Disabled,
    #[error("The schedule will not fire again, so there is nothing to skip.")]
    NothingPlanned,
    /// One is skipped already, and skipping is for once.
    #[error("The time on {} is skipped already. Take that back, or disable the schedule.", .0.local)]
    AlreadySkipped(Firing),
}

impl Schedule {
    /// An enabled schedule, made at `now`.
    pub const fn new(action: Action, timetable: Timetable, now: Timestamp) -> Self {
        Self { action, timetable, is_enabled: true, since: now, dismissed: None, jobs: StopJobs::Now }
    }

    /// The schedule after an edit at `now`: nothing that was planned before fires, and a dismissed firing of
    /// the old timetable is forgotten.
    #[must_use]
    pub fn edited(self, action: Action, timetable: Timetable, now: Timestamp) -> Self {
        Self { action, timetable, since: now.max(self.since), dismissed: None, ..self }
    }

    /// The schedule with what its stops do to running jobs.
    #[must_use]
    pub fn with_jobs(self, jobs: StopJobs) -> Self {
        Self { jobs, ..self }
    }

    /// The schedule after it was enabled at `now`: what passed while it was disabled is not made up.
    #[must_use]
    pub fn enabled(self, now: Timestamp) -> Self {
        let since = if self.is_enabled { self.since } else { now.max(self.since) };
        Self { is_enabled: true, since, ..self }
    }

    /// The schedule after it was disabled.
    #[must_use]
    pub fn disabled(self) -> Self {
        Self { is_enabled: false, ..self }
    }

    /// The next firing after `after`, a dismissed one included: when to look at it again.
    pub fn next_after(&self, after: Timestamp) -> Option<Firing> {
        if self.is_enabled { self.timetable.next_after(after.max(self.since)) } else { None }
    }

    /// The next firing after `after` that will act.
    pub fn next_acting_after(&self, after: Timestamp) -> Option<Firing> {
        let next = self.next_after(after)?;
        if Some(next.at) == self.dismissed { self.next_after(next.at) } else { Some(next) }
    }

    /// Dismisses exactly the next firing after `now`.
    pub fn skip_next(self, now: Timestamp) -> Result<Self, CannotSkip> {
        if !self.is_enabled {
            return Err(CannotSkip::Disabled);
        }
        let next = self.next_after(now).ok_or(CannotSkip::NothingPlanned)?;
        if self.dismissed == Some(next.at) {
            return Err(CannotSkip::AlreadySkipped(next));
        }
        Ok(Self { dismissed: Some(next.at), ..self })
    }

    /// Takes a skip back.
    #[must_use]
    pub fn skip_none(self) -> Self {
        Self { dismissed: None, ..self }
    }

    /// Says it: `Start Mon–Fri at 08:30, Europe/Berlin`.
    pub fn sentence(&self) -> String {
        let when = self.timetable.sentence();
        // Names of days keep their capital.
        let when = match when.split_once(' ') {
            Some((word @ ("Every" | "On" | "In"), rest)) => format!("{} {rest}", word.to_lowercase()),
            Some(_) | None => when,
        };
        let disabled = if self.is_enabled { "" } else { " (disabled)" };
        format!("{} {when}{}{disabled}", self.action.phrase(), self.jobs.phrase())
    }
}

/// The week that these schedules of one instance are, with its zone, if they have that shape: weekly starts
/// and stops in one zone, all enabled, all stops alike.
pub fn week_of<'all>(
    schedules: impl IntoIterator<Item = &'all Schedule>,
) -> Option<(super::week::WeekGrid, super::timetable::Zone, StopJobs)> {
    let all: Vec<&Schedule> = schedules.into_iter().collect();
    let zone = all.first()?.timetable.zone();
    let jobs = all.iter().find(|one| one.action == Action::Stop).map(|one| one.jobs).unwrap_or_default();
    let fits = |one: &&Schedule| {
        one.is_enabled
            && one.timetable.zone() == zone
            && one.timetable.start().is_none()
            && (one.action != Action::Stop || one.jobs == jobs)
    };
    if !all.iter().all(fits) {
        return None;
    }
    let grid = super::week::WeekGrid::of(all.iter().map(|one| (one.action, one.timetable.trigger())))?;
    Some((grid, zone.clone(), jobs))
}

/// The planned firings that came to nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passed {
    /// How many were missed; no more than [`MAX_COUNTED`] are counted.
    pub missed: u32,
    /// Whether there were more than those.
    pub is_more: bool,
    /// The one that was dismissed, if its time has come.
    pub dismissed: Option<Timestamp>,
}

/// What a schedule has to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No firing was planned since the last look.
    Nothing,
    /// Act: its time has just come.
    Fire {
        planned: Firing,
        /// What came to nothing before it.
        passed: Passed,
    },
    /// Act, late: the newest missed firing is within the grace.
    CatchUp {
        planned: Firing,
        /// How late it is.
        late: Span,
        /// What came to nothing before it.
        passed: Passed,
    },
    /// Record only: all is older than the grace, or dismissed.
    Skipped {
        /// What came to nothing.
        passed: Passed,
    },
}

impl Outcome {
    /// The firing to act on.
    pub const fn planned(&self) -> Option<&Firing> {
        match self {
            Self::Fire { planned, .. } | Self::CatchUp { planned, .. } => Some(planned),
            Self::Nothing | Self::Skipped { .. } => None,
        }
    }
}

/// Judges what was planned after `last_checked` and up to `now`. A dismissed firing is still a boundary: if
/// it is the newest, an older one is not made up in its place.
pub fn due(schedule: &Schedule, last_checked: Timestamp, now: Timestamp, grace: Span) -> Outcome {
    let from = last_checked.max(schedule.since);
    let planned_by = |until: Timestamp| {
        move |after: &Timestamp| schedule.next_after(*after).map(|next| next.at).filter(|at| *at <= until)
    };
    if planned_by(now)(&from).is_none() {
        return Outcome::Nothing;
    }
    let dismissed = schedule.dismissed.filter(|at| *at > from && *at <= now);
    let counts = |at: &Timestamp| Some(*at) != dismissed;
    // Older than the grace: only counted, and not for ever.
    let grace = grace.clamp(ON_TIME, MAX_GRACE);
    let edge = from.max(Timestamp(now.0.saturating_sub(grace.as_millis()).saturating_sub(1)));
    let limit = MAX_COUNTED as usize + 1;
    let old = std::iter::successors(planned_by(edge)(&from), planned_by(edge)).take(limit + 1).filter(counts).count();
    // Within the grace there are at most 24 hours of minutes.
    let recent: Vec<Timestamp> = std::iter::successors(planned_by(now)(&edge), planned_by(now)).collect();
    let newest = recent.last().copied().filter(counts);
    let missed = old + recent.iter().filter(|at| counts(at) && Some(**at) != newest).count();
    let missed = u32::try_from(missed).unwrap_or(u32::MAX);
    let passed = Passed { missed: missed.min(MAX_COUNTED), is_more: missed > MAX_COUNTED, dismissed };
    let planned = newest.and_then(|newest| schedule.next_after(Timestamp(newest.0 - 1)));
    match planned {
        None => Outcome::Skipped { passed },
        Some(planned) if now.since(planned.at) <= ON_TIME => Outcome::Fire { planned, passed },
        Some(planned) => Outcome::CatchUp { planned, late: now.since(planned.at), passed },
    }
}

/// The instant up to which all has been looked at after a look at `now`: the next `last_checked`.
///
/// A clock set back a little keeps the later instant, so that nothing fires twice. Set back by much it had
/// been wrong, and staying with that would keep the schedules silent until it is reached again.
pub fn checked_until(last_checked: Timestamp, now: Timestamp) -> Timestamp {
    if now < last_checked && last_checked.since(now) <= SMALL_STEP_BACK { last_checked } else { now }
}

/// What becomes of a firing that one of several schedules wants to act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Apply {
        planned: Timestamp,
    },
    /// Another schedule of the same thing has a newer firing, or one at the same instant that keeps more
    /// running.
    Superseded {
        planned: Timestamp,
        /// That of the one which acts, or would have.
        by: Timestamp,
    },
    /// A person acted at that instant or after it.
    Overruled {
        planned: Timestamp,
        /// When the person acted.
        manual_at: Timestamp,
    },
}

/// Settles the firings of all schedules of one instance or cluster: at most one acts. `manual_at` is when a
/// person last started, stopped or resized it.
pub fn settle<Id: Clone>(firing: &[(Id, Action, Timestamp)], manual_at: Option<Timestamp>) -> Vec<(Id, Decision)> {
    // Of equals the first counts.
    let mut winner: Option<(usize, (Timestamp, u32))> = None;
    for (index, (_, action, planned)) in firing.iter().enumerate() {
        let weight = (*planned, action.rank());
        if winner.is_none_or(|(_, best)| weight > best) {
            winner = Some((index, weight));
        }
    }
    let decide = |(index, (id, _, planned)): (usize, &(Id, Action, Timestamp))| {
        let planned = *planned;
        let decision = match (winner, manual_at) {
            (_, Some(manual_at)) if planned <= manual_at => Decision::Overruled { planned, manual_at },
            (Some((best, (by, _))), _) if best != index => Decision::Superseded { planned, by },
            (Some(_) | None, _) => Decision::Apply { planned },
        };
        (id.clone(), decision)
    };
    firing.iter().enumerate().map(decide).collect()
}

/// How long a manual action at `at` holds: until the next firing of any of the thing's schedules that will
/// act. None means for good. A dismissed firing is passed over.
pub fn holds_until<'a>(schedules: impl IntoIterator<Item = &'a Schedule>, at: Timestamp) -> Option<(Action, Firing)> {
    let next = schedules.into_iter().filter_map(|schedule| {
        let firing = schedule.next_acting_after(at)?;
        Some((schedule.action, firing))
    });
    next.min_by_key(|(action, firing)| (firing.at, std::cmp::Reverse(action.rank())))
}

#[cfg(test)]
mod tests {
    use super::super::cron::Cron;
    use super::super::timetable::Zone;
    use super::super::trigger::Trigger;
    use super::*;

    fn timetable(cron: &str) -> Timetable {
        Timetable::new(Trigger::Cron(Cron::parse(cron).unwrap()), Zone::parse("UTC").unwrap(), None).unwrap()
    }

    fn at(text: &str) -> Timestamp {
        Timestamp(format!("2026-03-{text}:00Z").parse::<jiff::Timestamp>().unwrap().as_millisecond())
    }

    fn stop_at_seven() -> Schedule {
        Schedule::new(Action::Stop, timetable("0 19 * * *"), at("01T00:00"))
    }

    fn passed(missed: u32) -> Passed {
        Passed { missed, is_more: false, dismissed: None }
    }

    #[test]
    fn fires_on_time_once() {
        let schedule = stop_at_seven();
        let look = |from: &str, now: &str| due(&schedule, at(from), at(now), DEFAULT_GRACE);
        assert_eq!(look("02T18:00", "02T18:59"), Outcome::Nothing);
        let Outcome::Fire { planned, passed: none } = look("02T18:59", "02T19:00") else { panic!("it is time") };
        assert_eq!((planned.at, none), (at("02T19:00"), passed(0)));
        assert_eq!(look("02T19:00", "02T19:01"), Outcome::Nothing);
    }

    #[test]
    fn the_newest_missed_firing_is_made_up_within_the_grace() {
        let schedule = Schedule::new(Action::Stop, timetable("*/10 * * * *"), at("01T00:00"));
        let Outcome::CatchUp { planned, late, passed: older } =
            due(&schedule, at("02T10:00"), at("02T12:05"), Span::hours(1))
        else {
            panic!("within the grace")
        };
        assert_eq!((planned.at, late, older), (at("02T12:00"), Span::minutes(5), passed(11)));
    }

    #[test]
    fn what_is_older_than_the_grace_is_recorded_only() {
        let schedule = stop_at_seven();
        let look = |now: &str, grace| due(&schedule, at("02T00:00"), at(now), grace);
        assert_eq!(look("04T20:01", Span::hours(1)), Outcome::Skipped { passed: passed(3) });
        assert!(matches!(look("04T20:00", Span::hours(1)), Outcome::CatchUp { passed, .. } if passed.missed == 2));
        // However long the grace: a day at most.
        assert!(matches!(look("05T18:59", Span::hours(1_000)), Outcome::CatchUp { passed, .. } if passed.missed == 2));
        // No grace at all still allows for the moment that a look takes.
        assert!(matches!(look("02T19:00", Span::seconds(0)), Outcome::Fire { .. }));
    }

    #[test]
    fn ages_of_missed_minutes_are_counted_only_so_far() {
        let schedule = Schedule::new(Action::Stop, timetable("* * * * *"), Timestamp(0));
        let outcome = due(&schedule, Timestamp(0), at("02T12:00"), DEFAULT_GRACE);
        let expected = Passed { missed: MAX_COUNTED, is_more: true, dismissed: None };
        assert!(matches!(outcome, Outcome::Fire { passed, .. } if passed == expected));
    }

    #[test]
    fn editing_and_enabling_never_fire_the_past() {
        let schedule = stop_at_seven().edited(Action::Stop, timetable("0 18 * * *"), at("02T18:30"));
        assert_eq!(due(&schedule, at("02T17:00"), at("02T18:31"), DEFAULT_GRACE), Outcome::Nothing);
        let asleep = stop_at_seven().disabled();
        assert_eq!(due(&asleep, at("02T18:00"), at("02T19:00"), DEFAULT_GRACE), Outcome::Nothing);
        let awake = asleep.enabled(at("02T19:05"));
        assert_eq!(due(&awake, at("02T18:00"), at("02T19:06"), DEFAULT_GRACE), Outcome::Nothing);
        let next = due(&awake, at("02T18:00"), at("03T19:00"), DEFAULT_GRACE);
        assert!(matches!(next, Outcome::Fire { passed, .. } if passed.missed == 0));
        // To enable what is enabled is no edit and loses nothing.
        let twice = stop_at_seven().enabled(at("02T19:05"));
        assert!(matches!(due(&twice, at("02T18:00"), at("02T19:06"), DEFAULT_GRACE), Outcome::CatchUp { .. }));
    }

    #[test]
    fn skipping_is_for_exactly_one_firing_and_recorded() {
        let schedule = stop_at_seven().skip_next(at("02T12:00")).unwrap();
        let dismissed = Some(at("02T19:00"));
        assert_eq!(schedule.dismissed, dismissed);
        let record = Passed { missed: 0, is_more: false, dismissed };
        assert_eq!(due(&schedule, at("02T18:00"), at("02T19:00"), DEFAULT_GRACE), Outcome::Skipped { passed: record });
        let Outcome::Fire { planned, passed: none } = due(&schedule, at("02T19:00"), at("03T19:00"), DEFAULT_GRACE)
        else {
            panic!("the day after it fires again")
        };
        assert_eq!((planned.at, none), (at("03T19:00"), passed(0)));
        // After a downtime over both, the dismissed one is not counted as missed.
        let both = due(&schedule, at("02T18:00"), at("03T19:00"), DEFAULT_GRACE);
        assert!(matches!(both, Outcome::Fire { passed, .. } if passed == record));
        let again = schedule.clone().skip_next(at("02T13:00")).unwrap_err();
        assert_eq!(
            again.to_string(),
            "The time on Mon 2 Mar 2026 19:00 is skipped already. Take that back, or disable the schedule."
        );
        assert!(schedule.clone().skip_next(at("02T19:00")).is_ok_and(|next| next.dismissed == Some(at("03T19:00"))));
        assert_eq!(schedule.clone().skip_none().dismissed, None);
        assert_eq!(schedule.disabled().skip_next(at("02T13:00")), Err(CannotSkip::Disabled));
    }

    #[test]
    fn a_dismissed_firing_is_not_replaced_by_an_older_one() {
        let schedule = Schedule::new(Action::Stop, timetable("0 17,18 * * *"), at("01T00:00"));
        let schedule = schedule.skip_next(at("02T17:30")).unwrap();
        let record = Passed { missed: 1, is_more: false, dismissed: Some(at("02T18:00")) };
        assert_eq!(due(&schedule, at("02T16:00"), at("02T18:05"), Span::hours(2)), Outcome::Skipped { passed: record });
    }

    #[test]
    fn a_clock_that_goes_back_fires_nothing_twice() {
        let schedule = stop_at_seven();
        assert_eq!(due(&schedule, at("02T19:00"), at("02T18:59"), DEFAULT_GRACE), Outcome::Nothing);
        assert_eq!(checked_until(at("02T19:00"), at("02T18:59")), at("02T19:00"));
        assert_eq!(checked_until(at("02T19:00"), at("02T19:01")), at("02T19:01"));
        // A day back: the clock had been wrong, and the schedules must not wait for that day.
        assert_eq!(checked_until(at("03T19:00"), at("02T19:00")), at("02T19:00"));
    }

    #[test]
    fn a_manual_action_holds_until_the_next_boundary() {
        let start = Schedule::new(Action::Start, timetable("0 8 * * *"), at("01T00:00"));
        let stop = stop_at_seven();
        // Stopped by schedule at 19:00, started by hand at 20:00: nothing happens before 08:00, which is a
        // start.
        for schedule in [&start, &stop] {
            assert_eq!(due(schedule, at("02T20:00"), at("03T07:59"), DEFAULT_GRACE), Outcome::Nothing);
        }
        let (action, firing) = holds_until([&start, &stop], at("02T20:00")).unwrap();
        assert_eq!((action, firing.at), (Action::Start, at("03T08:00")));
        // A dismissed boundary is none.
        let skipping = stop.clone().skip_next(at("02T12:00")).unwrap();
        let (action, firing) = holds_until([&start, &skipping], at("02T12:00")).unwrap();
        assert_eq!((action, firing.at), (Action::Start, at("03T08:00")));
        assert_eq!(holds_until([&stop.disabled()], at("02T12:00")), None);
    }

    #[test]
    fn what_a_person_did_is_not_undone_by_an_older_firing() {
        let wanted = [("stop", Action::Stop, at("02T19:00"))];
        let manual_at = at("02T20:00");
        assert_eq!(
            settle(&wanted, Some(manual_at)),
            [("stop", Decision::Overruled { planned: at("02T19:00"), manual_at })]
        );
        assert_eq!(settle(&wanted, Some(at("02T18:59"))), [("stop", Decision::Apply { planned: at("02T19:00") })]);
        assert!(matches!(settle(&wanted, Some(at("02T19:00")))[0].1, Decision::Overruled { .. }));
    }

    #[test]
    fn of_several_schedules_the_newest_firing_acts() {
        let (morning, evening) = (at("02T08:00"), at("02T19:00"));
        let wanted = [("start", Action::Start, morning), ("stop", Action::Stop, evening)];
        let superseded = Decision::Superseded { planned: morning, by: evening };
        assert_eq!(settle(&wanted, None), [("start", superseded), ("stop", Decision::Apply { planned: evening })]);
        // A window that ends where the next begins goes on.
        let midnight = at("03T00:00");
        let joined = settle(&[(1, Action::Stop, midnight), (2, Action::Start, midnight)], None);
        assert_eq!(joined[1].1, Decision::Apply { planned: midnight });
        let nodes = settle(&[(1, Action::MinNodes(4), midnight), (2, Action::MinNodes(4), midnight)], None);
        assert_eq!(nodes[0].1, Decision::Apply { planned: midnight });
        assert!(matches!(nodes[1].1, Decision::Superseded { .. }));
    }

    #[test]
    fn a_schedule_survives_the_wire() {
        let schedule = Schedule::new(Action::MinNodes(4), timetable("0 8 * * MON-FRI"), at("01T00:00"));
        let text = serde_json::to_string(&schedule).unwrap();
        assert_eq!(serde_json::from_str::<Schedule>(&text).unwrap(), schedule);
        assert_eq!(schedule.sentence(), "Set the minimum to 4 nodes Mon–Fri at 08:00, UTC");
        assert_eq!(stop_at_seven().disabled().sentence(), "Stop every day at 19:00, UTC (disabled)");
    }
}
