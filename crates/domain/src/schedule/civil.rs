//! Local dates and times in whole minutes: what a wall clock and a calendar show, without a zone.
//!
//! A calendar of our own instead of a library's, so that triggers can be parsed and checked without a tz
//! database: in the browser, which does not carry one along.

use serde::{Deserialize, Serialize};

use crate::text::{Problem, shortened};

/// Schedules end with this year: far enough for everybody, near enough that a search always ends.
pub const LAST_YEAR: i32 = 2999;

/// Schedules begin with this year, like the instants of the core.
pub const FIRST_YEAR: i32 = 1970;

/// A day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weekday {
    /// The first day of the week, as ISO 8601 has it.
    Monday,
    /// The second.
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

impl Weekday {
    /// Every day, from Monday.
    pub const ALL: [Self; 7] =
        [Self::Monday, Self::Tuesday, Self::Wednesday, Self::Thursday, Self::Friday, Self::Saturday, Self::Sunday];

    /// Three letters: `Mon`.
    pub const fn short(self) -> &'static str {
        match self {
            Self::Monday => "Mon",
            Self::Tuesday => "Tue",
            Self::Wednesday => "Wed",
            Self::Thursday => "Thu",
            Self::Friday => "Fri",
            Self::Saturday => "Sat",
            Self::Sunday => "Sun",
        }
    }

    /// How many days after Monday.
    pub(crate) const fn after_monday(self) -> u8 {
        self as u8
    }
}

/// The months in three letters.
pub(crate) const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// How many days that month has.
pub(crate) const fn days_in_month(year: i32, month: u8) -> u8 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 => 29,
        2 => 28,
        _ => 31,
    }
}

/// A date, as days since 1 January 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Day(pub(crate) i32);

impl Day {
    /// The last day on which anything is searched for.
    pub(crate) const LAST: Self = Self::of(LAST_YEAR, 12, 31);

    /// That date; the caller has checked it. Howard Hinnant's `days_from_civil`: years counted from March, so
    /// that the leap day comes last.
    pub(crate) const fn of(year: i32, month: u8, day: u8) -> Self {
        let year = if month <= 2 { year - 1 } else { year };
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let month = (month as i32 + 9) % 12;
        let day_of_year = (153 * month + 2) / 5 + day as i32 - 1;
        Self(era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468)
    }

    /// Year, month and day: the reverse.
    pub(crate) const fn date(self) -> (i32, u8, u8) {
        let days = self.0 + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        let year = year_of_era + era * 400 + (month <= 2) as i32;
        (year, month as u8, day as u8)
    }

    pub(crate) const fn weekday(self) -> Weekday {
        // 1 January 1970 was a Thursday.
        Weekday::ALL[(self.0 + 3).rem_euclid(7) as usize]
    }

    pub(crate) const fn plus(self, days: i32) -> Self {
        Self(self.0 + days)
    }
}

/// A date and a time of day, in whole minutes, without a zone: `2026-03-30T08:30`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct LocalTime(i64);

impl LocalTime {
    pub(crate) const fn new(day: Day, minute: u16) -> Self {
        Self(day.0 as i64 * 1_440 + minute as i64)
    }

    /// So many minutes after the start of 1970.
    #[cfg(feature = "zones")]
    pub(crate) const fn from_minutes(minutes: i64) -> Self {
        Self(minutes)
    }

    /// Minutes since the start of 1970.
    #[cfg(feature = "zones")]
    pub(crate) const fn minutes(self) -> i64 {
        self.0
    }

    /// The date; beyond the calendar's end it stays there.
    pub(crate) fn day(self) -> Day {
        Day(i32::try_from(self.0.div_euclid(1_440)).unwrap_or(i32::MAX / 2))
    }

    /// Minutes since midnight.
    pub(crate) const fn minute_of_day(self) -> u16 {
        self.0.rem_euclid(1_440) as u16
    }

    /// Year, month and day.
    pub fn date(self) -> (i32, u8, u8) {
        self.day().date()
    }

    /// The day of the week.
    pub fn weekday(self) -> Weekday {
        self.day().weekday()
    }

    /// Hour and minute.
    pub const fn time(self) -> (u8, u8) {
        let minute = self.minute_of_day();
        ((minute / 60) as u8, (minute % 60) as u8)
    }

    /// Only the time: `08:30`.
    pub fn clock(self) -> String {
        let (hour, minute) = self.time();
        format!("{hour:02}:{minute:02}")
    }

    /// Parses the field `start`: `2026-05-01`, `2026-05-01T08:30` or `2026-05-01T08:30:00`, always without an
    /// offset, since the schedule has a zone of its own.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        const SHAPE: &str = "write it as 2026-05-01T08:30, without an offset; the schedule's time zone applies.";
        let wrong =
            |what: &str| Problem::new("start", format!("“{}” is not a start time: {what}", shortened(text.trim())));
        let plain = text.trim();
        if plain.len() > 40 {
            return Err(wrong(SHAPE));
        }
        let (date, time) = match plain.split_once(['T', 't', ' ']) {
            Some((date, time)) => (date, Some(time)),
            None => (plain, None),
        };
        let date = numbers::<3>(date, '-', &[4, 2, 2]).ok_or_else(|| wrong(SHAPE))?;
        let [hour, minute] = match time {
            None => [0, 0],
            Some(time) => match (numbers::<2>(time, ':', &[2, 2]), numbers::<3>(time, ':', &[2, 2, 2])) {
                (Some(time), _) => time,
                (None, Some([hour, minute, 0])) => [hour, minute],
                (None, Some(_)) => return Err(wrong("seconds must be 00, schedules work in whole minutes.")),
                (None, None) => return Err(wrong(SHAPE)),
            },
        };
        let year = i32::from(date[0]);
        if !(FIRST_YEAR..=LAST_YEAR).contains(&year) {
            return Err(wrong(&format!("the year must be {FIRST_YEAR} to {LAST_YEAR}.")));
        }
        let month = u8::try_from(date[1]).ok().filter(|month| (1..=12).contains(month));
        let month = month.ok_or_else(|| wrong("the month must be 01 to 12."))?;
        let last = days_in_month(year, month);
        let day = u8::try_from(date[2]).ok().filter(|day| (1..=last).contains(day));
        let day =
            day.ok_or_else(|| wrong(&format!("{} {year} has the days 01 to {last}.", MONTHS[usize::from(month) - 1])))?;
        if hour > 23 || minute > 59 {
            return Err(wrong("the time must be 00:00 to 23:59."));
        }
        Ok(Self::new(Day::of(year, month, day), hour * 60 + minute))
    }
}

/// Exactly `N` numbers with those counts of digits.
fn numbers<const N: usize>(text: &str, separator: char, digits: &[usize; N]) -> Option<[u16; N]> {
    let mut found = [0; N];
    let mut parts = text.split(separator);
    for (slot, digits) in found.iter_mut().zip(digits) {
        let part = parts.next()?;
        if part.len() != *digits || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *slot = part.parse().ok()?;
    }
    parts.next().is_none().then_some(found)
}

impl std::fmt::Display for LocalTime {
    /// As people read it: `Mon 30 Mar 2026 08:30`.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (year, month, day) = self.date();
        let month = MONTHS[usize::from(month) - 1];
        write!(out, "{} {day} {month} {year} {}", self.weekday().short(), self.clock())
    }
}

impl From<LocalTime> for String {
    fn from(local: LocalTime) -> Self {
        let (year, month, day) = local.date();
        format!("{year:04}-{month:02}-{day:02}T{}", local.clock())
    }
}

impl TryFrom<String> for LocalTime {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).map_err(|problem| problem.message)
    }
}

/// How far a wall clock is ahead of UTC, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UtcOffset(pub i32);

impl std::fmt::Display for UtcOffset {
    /// `+02:00`, `-03:30`.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let minutes = self.0.unsigned_abs() / 60;
        write!(out, "{}{:02}:{:02}", if self.0 < 0 { '-' } else { '+' }, minutes / 60, minutes % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_until_the_end_follows_the_one_before() {
        let mut expected = (FIRST_YEAR, 1, 1);
        for number in 0..=Day::LAST.0 {
            let day = Day(number);
            assert_eq!(day.date(), expected);
            assert_eq!(Day::of(expected.0, expected.1, expected.2), day);
            expected = match expected {
                (year, 12, 31) => (year + 1, 1, 1),
                (year, month, last) if last == days_in_month(year, month) => (year, month + 1, 1),
                (year, month, day) => (year, month, day + 1),
            };
        }
        assert_eq!(expected, (LAST_YEAR + 1, 1, 1));
        assert_eq!(Day::of(2026, 3, 30).weekday(), Weekday::Monday);
        assert_eq!(Day::of(2000, 2, 29).weekday(), Weekday::Tuesday);
        assert_eq!(Day(-1).date(), (1969, 12, 31));
    }

    #[test]
    fn start_times_are_read_and_said() {
        for text in ["2026-03-30T08:30", " 2026-03-30 08:30 ", "2026-03-30T08:30:00"] {
            let local = LocalTime::parse(text).unwrap();
            assert_eq!(local.to_string(), "Mon 30 Mar 2026 08:30");
            assert_eq!(String::from(local), "2026-03-30T08:30");
        }
        assert_eq!(LocalTime::parse("2026-03-30").unwrap().to_string(), "Mon 30 Mar 2026 00:00");
    }

    #[test]
    fn wrong_start_times_are_refused_with_what_is_wrong() {
        let cases = [
            ("", "write it as"),
            ("tomorrow", "write it as"),
            ("2026-03-30T08:30Z", "without an offset"),
            ("2026-03-30T08:30+02:00", "without an offset"),
            ("2026-03-30T08:30:15", "whole minutes"),
            ("2026-02-29T08:30", "Feb 2026 has the days 01 to 28"),
            ("2026-13-01T08:30", "01 to 12"),
            ("2026-01-00T08:30", "01 to 31"),
            ("2026-01-01T24:00", "00:00 to 23:59"),
            ("1969-12-31T00:00", "1970 to 2999"),
            ("9999-12-31T00:00", "1970 to 2999"),
            ("+026-01-01T00:00", "write it as"),
        ];
        for (text, part) in cases {
            let problem = LocalTime::parse(text).unwrap_err();
            assert_eq!(problem.field, "start");
            assert!(problem.message.contains(part), "{text}: {}", problem.message);
        }
        assert!(LocalTime::parse(&"2".repeat(10_000_000)).is_err_and(|p| p.message.len() < 300));
    }

    #[test]
    fn offsets_read_as_people_write_them() {
        assert_eq!(UtcOffset(7_200).to_string(), "+02:00");
        assert_eq!(UtcOffset(-12_600).to_string(), "-03:30");
        assert_eq!(UtcOffset(0).to_string(), "+00:00");
    }
}
