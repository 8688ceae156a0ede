//! A trigger: either way to say when, on a wall calendar that has no zone yet.

use serde::{Deserialize, Serialize};

use super::civil::{Day, LAST_YEAR, LocalTime};
use super::cron::Cron;
use super::recurrence::{Every, Recurrence};
use super::set::Times;
use crate::text::{Problem, counted};

/// When something is to happen.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// By a cron expression.
    Cron(Cron),
    Recurrence(Recurrence),
}

/// How a trigger goes through a change of the clocks; the table is in the module [`super`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// At chosen hours: each planned local time once, whatever the clocks do.
    WallClock,
    /// In all 24 hours: whenever the wall clock shows a planned time.
    EveryHour,
    /// So many minutes apart.
    Elapsed {
        /// At least one.
        minutes: u32,
    },
}

impl Trigger {
    /// How it goes through a change of the clocks.
    pub fn pace(&self) -> Pace {
        match (self.times(), self) {
            (Some(times), _) if times.is_every_hour() => Pace::EveryHour,
            (None, Self::Recurrence(recurrence)) => match recurrence.elapsed_minutes() {
                Some(minutes) => Pace::Elapsed { minutes },
                None => Pace::WallClock,
            },
            (Some(_) | None, _) => Pace::WallClock,
        }
    }

    fn times(&self) -> Option<Times> {
        match self {
            Self::Cron(cron) => Some(cron.times),
            Self::Recurrence(recurrence) => recurrence.times(),
        }
    }

    /// Refuses a start that does not suit: one is needed to count from, and something must come of it.
    pub fn check_start(&self, start: Option<LocalTime>) -> Result<(), Problem> {
        let Self::Recurrence(recurrence) = self else {
            return Ok(());
        };
        let (interval, unit) = (u64::from(recurrence.interval), recurrence.frequency().key());
        let is_counted = interval > 1 || matches!(recurrence.every, Every::Hour);
        let Some(start) = start else {
            return if is_counted {
                let every = if interval == 1 { unit.to_owned() } else { format!("{interval} {unit}s") };
                Err(Problem::new("start", format!("Give a start time: every {every} is counted from it.")))
            } else {
                Ok(())
            };
        };
        let is_elapsed = recurrence.frequency().is_elapsed();
        if !is_elapsed && recurrence.next_day(start.day(), start.day()).is_none() {
            let every = counted(interval, unit, &format!("{unit}s"));
            return Err(Problem::new(
                "month_days",
                format!(
                    "With {every} from {start} no month up to the year {LAST_YEAR} has such a day, so this would \
                     never fire. Choose an earlier day, last, or another start."
                ),
            ));
        }
        Ok(())
    }

    /// The first local time at or after `from` that is planned, whether or not it exists in a zone. Intervals
    /// count from the day of `start`. Nothing for triggers that count elapsed time.
    pub fn next_local(&self, from: LocalTime, start: Option<LocalTime>) -> Option<LocalTime> {
        let times = self.times()?;
        // Without a start the interval is one, so that any day serves to count from.
        let next_day = |from: Day| match self {
            Self::Cron(cron) => cron.next_day(from),
            Self::Recurrence(recurrence) => recurrence.next_day(from, start.map_or(from, LocalTime::day)),
        };
        let day = next_day(from.day())?;
        let earliest = if day == from.day() { from.minute_of_day() } else { 0 };
        match times.first_from(earliest) {
            Some(minute) => Some(LocalTime::new(day, minute)),
            None => Some(LocalTime::new(next_day(day.plus(1))?, times.first_from(0)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::recurrence::{Frequency, MonthDay, Parts};
    use super::*;

    fn cron(text: &str) -> Trigger {
        Trigger::Cron(Cron::parse(text).unwrap())
    }

    fn monthly(interval: i64, day: u8) -> Trigger {
        let parts = Parts {
            hours: vec![9],
            minutes: vec![0],
            month_days: vec![MonthDay::On(day)],
            ..Parts::every(interval, Frequency::Month)
        };
        Trigger::Recurrence(Recurrence::new(&parts).unwrap())
    }

    fn every(interval: i64, frequency: Frequency) -> Trigger {
        Trigger::Recurrence(Recurrence::new(&Parts::every(interval, frequency)).unwrap())
    }

    #[test]
    fn the_pace_goes_by_the_meaning() {
        for text in ["* * * * *", "*/15 */1 * * *", "0 0-23 * * MON"] {
            assert_eq!(cron(text).pace(), Pace::EveryHour, "{text}");
        }
        for text in ["0 */2 * * *", "0 8 * * *", "* 0-22 * * *"] {
            assert_eq!(cron(text).pace(), Pace::WallClock, "{text}");
        }
        assert_eq!(every(2, Frequency::Hour).pace(), Pace::Elapsed { minutes: 120 });
        assert_eq!(monthly(1, 1).pace(), Pace::WallClock);
    }

    #[test]
    fn what_is_counted_needs_a_start() {
        let start = LocalTime::parse("2026-02-01").ok();
        for trigger in [every(15, Frequency::Minute), every(1, Frequency::Hour), monthly(2, 1)] {
            assert_eq!(trigger.check_start(None).unwrap_err().field, "start");
            assert_eq!(trigger.check_start(start), Ok(()));
        }
        for trigger in [every(1, Frequency::Minute), monthly(1, 31), cron("0 0 * * *")] {
            assert_eq!(trigger.check_start(None), Ok(()));
        }
    }

    #[test]
    fn a_recurrence_that_never_fires_is_refused() {
        let start = LocalTime::parse("2026-02-01").ok();
        let problem = monthly(12, 30).check_start(start).unwrap_err();
        assert_eq!(problem.field, "month_days");
        assert!(problem.message.contains("With 12 months from Sun 1 Feb 2026 00:00"), "{}", problem.message);
        // Every second year, and always an odd one: never a leap year… but every fourth from 2028 is one.
        assert!(monthly(24, 29).check_start(LocalTime::parse("2027-02-01").ok()).is_err());
        assert!(monthly(48, 29).check_start(LocalTime::parse("2028-02-01").ok()).is_ok());
    }

    #[test]
    fn the_search_ends_with_the_calendar() {
        let end = LocalTime::parse("2999-12-31T23:59").unwrap();
        assert_eq!(cron("0 8 * * *").next_local(end, None), None);
        assert_eq!(cron("59 23 * * *").next_local(end, None), Some(end));
    }
}
