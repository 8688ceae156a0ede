//! Recurrences: every so many minutes, hours, days, weeks or months, counted from the schedule's start.
//!
//! - By minute and hour: elapsed time from the start, whatever the clocks do. Nothing else is chosen.
//! - By day, week and month: every chosen minute of every chosen hour, on every n-th day, on the chosen
//!   weekdays of every n-th week (weeks begin on Monday; the one with the start counts), or on the chosen
//!   days of every n-th month. A month without that day is passed over, never squeezed: who wants the last
//!   day says `last`.
//!
//! Azure ignores what does not belong to the frequency (with a warning, if at all). Here it is refused, so
//! that nobody relies on a field that does nothing.

use serde::{Deserialize, Serialize};

use super::civil::{Day, Weekday, days_in_month};
use super::set::{Set, Times};
use crate::text::{Problem, shortened};

/// The longest interval, in units of the frequency.
pub const MAX_INTERVAL: u16 = 1_000;

crate::keyed_enum! {
    /// The unit that an interval counts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum Frequency {
        /// Elapsed minutes.
        Minute = "minute";
        /// Elapsed hours.
        Hour = "hour";
        Day = "day";
        /// Calendar weeks, from Monday.
        Week = "week";
        Month = "month";
    }
}

impl Frequency {
    /// Whether it counts elapsed time instead of calendar days.
    pub(crate) const fn is_elapsed(self) -> bool {
        matches!(self, Self::Minute | Self::Hour)
    }
}

/// A day of the month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "MonthDayOnTheWire", try_from = "MonthDayOnTheWire")]
pub enum MonthDay {
    /// The first to the thirty-first.
    On(u8),
    /// The last one, whichever that is.
    Last,
}

/// `1` or `"last"`.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum MonthDayOnTheWire {
    Number(i64),
    Word(String),
}

impl From<MonthDay> for MonthDayOnTheWire {
    fn from(day: MonthDay) -> Self {
        match day {
            MonthDay::On(day) => Self::Number(day.into()),
            MonthDay::Last => Self::Word("last".into()),
        }
    }
}

impl TryFrom<MonthDayOnTheWire> for MonthDay {
    type Error = String;

    fn try_from(day: MonthDayOnTheWire) -> Result<Self, String> {
        match day {
            MonthDayOnTheWire::Number(day) => Self::parse(&day.to_string()),
            MonthDayOnTheWire::Word(day) => Self::parse(&day),
        }
        .map_err(|problem| problem.message)
    }
}

impl MonthDay {
    /// Parses one of the field `month_days`: a number from 1 to 31, or `last`.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let plain = text.trim();
        if plain.eq_ignore_ascii_case("last") {
            return Ok(Self::Last);
        }
        match plain.parse::<u8>() {
            Ok(day @ 1..=31) => Ok(Self::On(day)),
            _ => Err(Problem::new(
                "month_days",
                format!("The day of month “{}” is not allowed: use 1 to 31, or last.", shortened(plain)),
            )),
        }
    }
}

/// What a form or a request says, before it is checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    pub frequency: Frequency,
    /// How many units from one time to the next.
    #[serde(default = "one")]
    pub interval: i64,
    /// Hours of the day; for day, week and month.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hours: Vec<i64>,
    /// Minutes of each of those hours; for day, week and month.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub minutes: Vec<i64>,
    /// Days of the week; for week.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weekdays: Vec<Weekday>,
    /// Days of the month; for month.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub month_days: Vec<MonthDay>,
}

const fn one() -> i64 {
    1
}

impl Parts {
    /// Every `interval` of that unit, with nothing chosen yet.
    pub const fn every(interval: i64, frequency: Frequency) -> Self {
        Self {
            frequency,
            interval,
            hours: Vec::new(),
            minutes: Vec::new(),
            weekdays: Vec::new(),
            month_days: Vec::new(),
        }
    }
}

/// A recurrence whose parts fit together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "Parts", try_from = "Parts")]
pub struct Recurrence {
    pub(crate) interval: u16,
    pub(crate) every: Every,
}

/// The unit with what is chosen within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Every {
    Minute,
    Hour,
    Day(Times),
    /// Monday is 0.
    Week(Times, Set),
    Month(Times, MonthDays),
}

/// The chosen days of a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MonthDays {
    pub(crate) days: Set,
    pub(crate) is_last: bool,
}

impl MonthDays {
    fn first_from(self, day: u8, last: u8) -> Option<u8> {
        let chosen = self.days.first_from(day).filter(|day| *day <= last);
        chosen.or_else(|| Some(last).filter(|last| self.is_last && *last >= day))
    }
}

impl Recurrence {
    /// Checks the parts; each problem names its field.
    pub fn new(parts: &Parts) -> Result<Self, Problem> {
        let frequency = parts.frequency;
        let interval = u16::try_from(parts.interval).ok().filter(|interval| (1..=MAX_INTERVAL).contains(interval));
        let interval = interval.ok_or_else(|| {
            let (given, unit) = (parts.interval, frequency.key());
            Problem::new("interval", format!("An interval of {given} {unit}s is not allowed: use 1 to {MAX_INTERVAL}."))
        })?;
        let belongs = |field: &str, is_empty: bool, to: &[Frequency], instead: &str| {
            if is_empty || to.contains(&frequency) {
                return Ok(());
            }
            Err(Problem::new(field, format!("A recurrence by {} has no {}. {instead}", frequency.key(), said(field))))
        };
        let calendar = [Frequency::Day, Frequency::Week, Frequency::Month];
        let elapsed = "It counts from the start time; leave this out, or recur by day, week or month.";
        belongs("hours", parts.hours.is_empty(), &calendar, elapsed)?;
        belongs("minutes", parts.minutes.is_empty(), &calendar, elapsed)?;
        let weekly = "Leave them out, or recur by week.";
        belongs("weekdays", parts.weekdays.is_empty(), &[Frequency::Week], weekly)?;
        let monthly = "Leave them out, or recur by month.";
        belongs("month_days", parts.month_days.is_empty(), &[Frequency::Month], monthly)?;
        let times =
            || Ok(Times { hours: chosen("hours", &parts.hours, 23)?, minutes: chosen("minutes", &parts.minutes, 59)? });
        let every = match frequency {
            Frequency::Minute => Every::Minute,
            Frequency::Hour => Every::Hour,
            Frequency::Day => Every::Day(times()?),
            Frequency::Week => {
                let weekdays: Set = parts.weekdays.iter().map(|day| day.after_monday()).collect();
                if weekdays.is_empty() {
                    return Err(Problem::new("weekdays", "Choose at least one day of the week."));
                }
                Every::Week(times()?, weekdays)
            }
            Frequency::Month => Every::Month(times()?, month_days(&parts.month_days)?),
        };
        Ok(Self { interval, every })
    }

    pub const fn frequency(&self) -> Frequency {
        match self.every {
            Every::Minute => Frequency::Minute,
            Every::Hour => Frequency::Hour,
            Every::Day(_) => Frequency::Day,
            Every::Week(..) => Frequency::Week,
            Every::Month(..) => Frequency::Month,
        }
    }

    /// The times of day, where there are any.
    pub(crate) const fn times(&self) -> Option<Times> {
        match self.every {
            Every::Minute | Every::Hour => None,
            Every::Day(times) | Every::Week(times, _) | Every::Month(times, _) => Some(times),
        }
    }

    /// The elapsed minutes from one firing to the next, for the frequencies that count those.
    pub(crate) const fn elapsed_minutes(&self) -> Option<u32> {
        match self.every {
            Every::Minute => Some(self.interval as u32),
            Every::Hour => Some(self.interval as u32 * 60),
            Every::Day(_) | Every::Week(..) | Every::Month(..) => None,
        }
    }

    /// The first day that suits and is before neither `from` nor `anchor`, the day of the start.
    pub(crate) fn next_day(&self, from: Day, anchor: Day) -> Option<Day> {
        let from = from.max(anchor);
        let interval = i32::from(self.interval);
        let found = match self.every {
            Every::Minute | Every::Hour => None,
            Every::Day(_) => Some(anchor.plus(round_up(from.0 - anchor.0, interval))),
            Every::Week(_, weekdays) => {
                let monday = |day: Day| day.plus(-i32::from(day.weekday().after_monday()));
                let week = monday(anchor).plus(round_up(monday(from).0 - monday(anchor).0, 7 * interval));
                let earliest = if week == monday(from) { from.weekday().after_monday() } else { 0 };
                match weekdays.first_from(earliest) {
                    Some(weekday) => Some(week.plus(i32::from(weekday))),
                    None => weekdays.first_from(0).map(|weekday| week.plus(7 * interval + i32::from(weekday))),
                }
            }
            Every::Month(_, days) => next_in_months(days, interval, from, anchor),
        };
        found.filter(|day| *day <= Day::LAST)
    }
}

fn next_in_months(days: MonthDays, interval: i32, from: Day, anchor: Day) -> Option<Day> {
    let number = |day: Day| {
        let (year, month, _) = day.date();
        year * 12 + i32::from(month) - 1
    };
    let mut month = number(anchor) + round_up(number(from) - number(anchor), interval);
    let mut earliest = if month == number(from) { from.date().2 } else { 1 };
    while month <= number(Day::LAST) {
        let (year, of_year) = (month.div_euclid(12), month.rem_euclid(12) as u8 + 1);
        if let Some(day) = days.first_from(earliest, days_in_month(year, of_year)) {
            return Some(Day::of(year, of_year, day));
        }
        month += interval;
        earliest = 1;
    }
    None
}

/// The smallest multiple of `step` that is not under `value`.
const fn round_up(value: i32, step: i32) -> i32 {
    (value + step - 1).div_euclid(step) * step
}

fn said(field: &str) -> &str {
    if field == "month_days" { "days of the month" } else { field }
}

fn chosen(field: &str, numbers: &[i64], max: u8) -> Result<Set, Problem> {
    if numbers.is_empty() {
        return Err(Problem::new(field, format!("Choose at least one of the {field}: 0 to {max}.")));
    }
    let check = |number: &i64| {
        u8::try_from(*number)
            .ok()
            .filter(|number| *number <= max)
            .ok_or_else(|| Problem::new(field, format!("{number} is not one of the {field}: use 0 to {max}.")))
    };
    numbers.iter().map(check).collect()
}

fn month_days(chosen: &[MonthDay]) -> Result<MonthDays, Problem> {
    if chosen.is_empty() {
        return Err(Problem::new("month_days", "Choose at least one day of the month: 1 to 31, or last."));
    }
    let mut days = MonthDays { days: Set::default(), is_last: false };
    for day in chosen {
        match *day {
            MonthDay::Last => days.is_last = true,
            MonthDay::On(day @ 1..=31) => days.days.insert(day),
            MonthDay::On(day) => return MonthDay::parse(&day.to_string()).map(|_| days),
        }
    }
    Ok(days)
}

impl From<Recurrence> for Parts {
    fn from(recurrence: Recurrence) -> Self {
        let mut parts = Self::every(recurrence.interval.into(), recurrence.frequency());
        if let Some(times) = recurrence.times() {
            parts.hours = times.hours.iter().map(i64::from).collect();
            parts.minutes = times.minutes.iter().map(i64::from).collect();
        }
        match recurrence.every {
            Every::Minute | Every::Hour | Every::Day(_) => {}
            Every::Week(_, weekdays) => {
                parts.weekdays = weekdays.iter().map(|day| Weekday::ALL[usize::from(day)]).collect();
            }
            Every::Month(_, days) => {
                let last = days.is_last.then_some(MonthDay::Last);
                parts.month_days = days.days.iter().map(MonthDay::On).chain(last).collect();
            }
        }
        parts
    }
}

impl TryFrom<Parts> for Recurrence {
    type Error = String;

    fn try_from(parts: Parts) -> Result<Self, String> {
        Self::new(&parts).map_err(|problem| format!("{}: {}", problem.field, problem.message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_nine(interval: i64, frequency: Frequency) -> Parts {
        Parts { hours: vec![9], minutes: vec![0], ..Parts::every(interval, frequency) }
    }

    fn days(parts: &Parts, anchor: Day, count: usize) -> Vec<(i32, u8, u8)> {
        let recurrence = Recurrence::new(parts).unwrap();
        let mut from = Day(0);
        let mut found = Vec::new();
        while let Some(day) = recurrence.next_day(from, anchor).filter(|_| found.len() < count) {
            found.push(day.date());
            from = day.plus(1);
        }
        found
    }

    #[test]
    fn intervals_are_counted_from_the_start() {
        let anchor = Day::of(2026, 2, 26);
        assert_eq!(days(&at_nine(3, Frequency::Day), anchor, 3), [(2026, 2, 26), (2026, 3, 1), (2026, 3, 4)]);
        let fortnight = Parts { weekdays: vec![Weekday::Monday, Weekday::Friday], ..at_nine(2, Frequency::Week) };
        // The start is a Thursday: its week counts, but the Monday before it is over.
        assert_eq!(days(&fortnight, anchor, 3), [(2026, 2, 27), (2026, 3, 9), (2026, 3, 13)]);
        let quarter = Parts { month_days: vec![MonthDay::On(1), MonthDay::Last], ..at_nine(3, Frequency::Month) };
        assert_eq!(days(&quarter, anchor, 3), [(2026, 2, 28), (2026, 5, 1), (2026, 5, 31)]);
    }

    #[test]
    fn a_month_without_that_day_is_passed_over() {
        let parts = Parts { month_days: vec![MonthDay::On(31)], ..at_nine(1, Frequency::Month) };
        assert_eq!(days(&parts, Day::of(2026, 2, 1), 3), [(2026, 3, 31), (2026, 5, 31), (2026, 7, 31)]);
        let both = Parts { month_days: vec![MonthDay::On(31), MonthDay::Last], ..at_nine(1, Frequency::Month) };
        assert_eq!(days(&both, Day::of(2026, 2, 1), 3), [(2026, 2, 28), (2026, 3, 31), (2026, 4, 30)]);
    }

    #[test]
    fn parts_that_do_nothing_or_miss_are_refused_by_field() {
        let hourly = Parts::every(2, Frequency::Hour);
        let (mondays, first) = (vec![Weekday::Monday], vec![MonthDay::On(1)]);
        let cases = [
            (at_nine(0, Frequency::Day), "interval", "0 days is not allowed: use 1 to 1000"),
            (at_nine(-1, Frequency::Week), "interval", "-1 weeks"),
            (at_nine(1_001, Frequency::Month), "interval", "1001 months"),
            (at_nine(i64::MAX, Frequency::Month), "interval", "9223372036854775807"),
            (Parts { hours: vec![1], ..hourly.clone() }, "hours", "by hour has no hours"),
            (Parts { minutes: vec![1], ..hourly.clone() }, "minutes", "by hour has no minutes"),
            (Parts { weekdays: mondays.clone(), ..hourly }, "weekdays", "recur by week"),
            (Parts { weekdays: mondays.clone(), ..at_nine(1, Frequency::Day) }, "weekdays", "by day has no weekdays"),
            (Parts { weekdays: mondays.clone(), ..at_nine(1, Frequency::Month) }, "weekdays", "recur by week"),
            (Parts { month_days: first, ..at_nine(1, Frequency::Week) }, "month_days", "has no days of the month"),
            (at_nine(1, Frequency::Week), "weekdays", "at least one day of the week"),
            (at_nine(1, Frequency::Month), "month_days", "at least one day of the month"),
            (Parts { hours: vec![], ..at_nine(1, Frequency::Day) }, "hours", "at least one of the hours: 0 to 23"),
            (Parts { minutes: vec![], ..at_nine(1, Frequency::Day) }, "minutes", "0 to 59"),
            (Parts { hours: vec![9, 24], ..at_nine(1, Frequency::Day) }, "hours", "24 is not one of the hours"),
            (Parts { minutes: vec![-1], ..at_nine(1, Frequency::Day) }, "minutes", "-1 is not one of the minutes"),
            (
                Parts { month_days: vec![MonthDay::On(32)], ..at_nine(1, Frequency::Month) },
                "month_days",
                "“32” is not allowed: use 1 to 31, or last",
            ),
        ];
        for (parts, field, part) in cases {
            let problem = Recurrence::new(&parts).expect_err(part);
            assert_eq!(problem.field, field, "{}", problem.message);
            assert!(problem.message.contains(part), "{}", problem.message);
        }
        let many = Parts { hours: vec![5; 5_000_000], ..at_nine(1, Frequency::Day) };
        assert!(Recurrence::new(&many).is_ok());
    }
}
