//! Schedules: when an instance starts or stops and when a cluster keeps nodes ready.
//!
//! The parts, from the calendar to the decision:
//! - [`cron`] and [`recurrence`] are the two ways to say *when*, a [`Trigger`] is either of them;
//! - a [`Timetable`] is a trigger in an IANA zone with an optional start: it knows its firings as instants;
//! - a [`Schedule`] adds what to do, and [`due()`] judges what is to be done now, after any downtime;
//! - a [`WeekGrid`] is a week as people draw it, made of schedules and making some;
//! - a [`Wheel`] keeps the next firings of very many schedules in order.
//!
//! Everything up to the trigger needs no tz database, so that a browser can check a form with the server's
//! own code.
//!
//! # Clocks that change
//!
//! When clocks go forward, some local times are missing (the gap); when they go back, some come twice. A
//! trigger has one of three paces, by its meaning and not by how it is written:
//!
//! - **Wall clock**, if hours are chosen (`30 2 * * *`, `0 */2 * * *`): what falls into a gap fires at the
//!   switch, the first instant after it; all that fall into one gap, and what is planned for the switch
//!   itself, are one firing. What comes twice fires once, at the first.
//! - **Every hour**, if all 24 hours are allowed (`*/15 * * * *`): fires whenever a wall clock shows a
//!   planned time. What falls into a gap is left out, since the next hour brings another; what comes twice
//!   fires twice.
//! - **Elapsed**, for recurrences by minute or hour: counted in elapsed time from the start, whatever the
//!   clocks do.
//!
//! A gap of a whole day or more is a day that a place left out (Pacific/Apia had no 30 December 2011). That
//! day does not exist, so nothing planned for it fires, and a daily schedule does not fire twice at its end.

pub mod action;
pub mod civil;
pub mod cron;
#[cfg(feature = "zones")]
pub mod due;
pub mod recurrence;
mod sentence;
mod set;
#[cfg(feature = "zones")]
pub mod timetable;
pub mod trigger;
pub mod week;
pub mod wheel;

pub use action::{Action, StopJobs, Target};
pub use civil::{LocalTime, UtcOffset, Weekday};

/// A month in three letters.
#[cfg(feature = "zones")]
pub(crate) fn month_name(month: u8) -> &'static str {
    civil::MONTHS.get(usize::from(month.saturating_sub(1))).copied().unwrap_or_default()
}
pub use cron::Cron;
#[cfg(feature = "zones")]
pub use due::{Decision, Outcome, Schedule, due};
pub use recurrence::{Frequency, MonthDay, Recurrence};
#[cfg(feature = "zones")]
pub use timetable::{Firing, Note, Previewed, Timetable, Zone};
pub use trigger::{Pace, Trigger};
pub use week::{Clock, DayPlan, WeekGrid};
pub use wheel::Wheel;
