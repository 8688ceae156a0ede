//! What is to be done now: missed firings, skipped ones, edits, and what people did by hand.
//!
//! Ground rules:
//! - A schedule acts at its firings and at no other time. It does not hold a state: who starts an instance at 20:00,
//!   after its stop at 19:00, keeps it until the next firing of *any* of its schedules ([`holds_until`]).
//! - What a person did counts more than a firing planned before it. A stop at 19:00 that was missed and would be made up
//!   at 20:05 does not undo the start of 20:00 ([`settle`]).
//! - After a downtime only the newest planned firing is made up, and only within the grace; the others are recorded as
//!   missed. Of several schedules of one thing again only the newest counts ([`settle`]).
//! - A schedule looks at no instant before its last edit ([`Schedule::since`]), so that an edit never acts on the past.

use serde::{Deserialize, Serialize};

use super::action::Action;
use super::timetable::{Firing, Timetable};
use crate::time::{Span, Timestamp};

/// How late a firing may be and still be on time. Less than the minute between two firings of the densest schedule.
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
    /// What.
    pub action: Action,
    /// When.
    pub timetable: Timetable,
    /// Whether it acts at all.
    pub is_enabled: bool,
    /// When it was made, edited or enabled last. Only later firings count.
    pub since: Timestamp,
    /// The one firing that somebody dismissed.
    pub dismissed: Option<Timestamp>,
}

/// Why no firing can be skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotSkip {
    /// It would not act anyway.
    #[error("The schedule is disabled, so there is nothing to skip.")]
    Disabled,
    /// Nothing is planned.
    #[error("The schedule will not fire again, so there is nothing to skip.")]
    NothingPlanned,
    /// One is skipped already, and skipping is for once.
    #[error("The time on {} is skipped already. Take that back, or disable the schedule.", .0.local)]
    AlreadySkipped(Firing),
}

impl Schedule {
    /// An enabled schedule, made at `now`.
    pub const fn new(action: Action, timetable: Timetable, now: Timestamp) -> Self {
        Self { action, timetable, is_enabled: true, since: now, dismissed: None }
    }

    /// The schedule after an edit at `now`: nothing that was planned before fires, and a dismissed firing of the old
    /// timetable is forgotten.
    #[must_use]
    pub fn edited(self, action: Action, timetable: Timetable, now: Timestamp) -> Self {
        Self { action, timetable, since: now.max(self.since), dismissed: None, ..self }
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
        let when = match when
            .strip_prefix("Every ")
            .map(|rest| ("every", rest))
            .or(when.strip_prefix("On ").map(|rest| ("on", rest)))
        {
            Some((word, rest)) => format!("{word} {rest}"),
            None => when,
        };
        let disabled = if self.is_enabled { "" } else { " (disabled)" };
        format!("{} {when}{disabled}", self.action.phrase())
    }
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
        /// The planned firing.
        planned: Firing,
        /// What came to nothing before it.
        passed: Passed,
    },
    /// Act, late: the newest missed firing is within the grace.
    CatchUp {
        /// The planned firing.
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

/// Judges what was planned after `last_checked` and up to `now`. A dismissed firing is still a boundary: if it is the
/// newest, an older one is not made up in its place.
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
/// A clock set back a little keeps the later instant, so that nothing fires twice. Set back by much it had been wrong,
/// and staying with that would keep the schedules silent until it is reached again.
pub fn checked_until(last_checked: Timestamp, now: Timestamp) -> Timestamp {
    if now < last_checked && last_checked.since(now) <= SMALL_STEP_BACK { last_checked } else { now }
}

/// What becomes of a firing that one of several schedules wants to act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It acts.
    Apply {
        /// The planned instant.
        planned: Timestamp,
    },
    /// Another schedule of the same thing has a newer firing, or one at the same instant that keeps more running.
    Superseded {
        /// The planned instant.
        planned: Timestamp,
        /// That of the one which acts, or would have.
        by: Timestamp,
    },
    /// A person acted at that instant or after it.
    Overruled {
        /// The planned instant.
        planned: Timestamp,
        /// When the person acted.
        manual_at: Timestamp,
    },
}

/// Settles the firings of all schedules of one instance or cluster: at most one acts. `manual_at` is when a person
/// last started, stopped or resized it.
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

/// How long a manual action at `at` holds: until the next firing of any of the thing's schedules that will act. None
/// means for good. A dismissed firing is passed over.
pub fn holds_until<'a>(schedules: impl IntoIterator<Item = &'a Schedule>, at: Timestamp) -> Option<(Action, Firing)> {
    let next = schedules.into_iter().filter_map(|schedule| {
        let firing = schedule.next_acting_after(at)?;
        Some((schedule.action, firing))
    });
    next.min_by_key(|(action, firing)| (firing.at, std::cmp::Reverse(action.rank())))
}
