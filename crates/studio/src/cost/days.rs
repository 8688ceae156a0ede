//! Which days are asked for, and which hours of the ledger belong to each.

use atelier_domain::Timestamp;
use atelier_domain::text::{Problem, shortened};
use atelier_engine::store::SpendBy;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp as Instant, ToSpan as _};

pub const MOST_DAYS: i32 = 366;

/// The ranges that one click chooses, in days up to today.
pub const RANGES: [i32; 3] = [7, 30, 90];

/// The range if none is asked for.
const USUAL: i32 = 30;

const HOUR: i64 = 3_600_000;

atelier_domain::keyed_enum! {
    /// What rows are about, in the order in which that is offered.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
    pub enum By {
        /// An instance or a cluster each.
        #[default]
        Compute = "compute";
        Person = "person";
        Job = "job";
        Day = "day";
    }
}

impl By {
    /// What the store sums by; days are sums of hours.
    pub const fn store(self) -> Option<SpendBy> {
        match self {
            Self::Day => None,
            Self::Compute => Some(SpendBy::Compute),
            Self::Person => Some(SpendBy::Person),
            Self::Job => Some(SpendBy::Job),
        }
    }
}

/// Days of one time zone, and what their cost is told apart by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    pub from: Date,
    /// The last day, which belongs to it.
    pub to: Date,
    pub by: By,
    zone: TimeZone,
}

impl Selection {
    /// Reads what an address says: so many `days` up to today, or `from` and `to`. Nothing of it means the
    /// usual range.
    pub fn parse([days, from, to, by]: [&str; 4], now: Timestamp, zone: &str) -> Result<Self, Vec<Problem>> {
        let mut selection = Self::usual(now, zone);
        let today = selection.to;
        let mut problems = Vec::new();
        match By::from_key(by) {
            Some(by) => selection.by = by,
            None if by.is_empty() => {}
            None => {
                let message = format!("“by” is day, compute, person or job, not “{}”.", shortened(by));
                problems.push(Problem::new("by", message));
            }
        }
        if from.is_empty() && to.is_empty() {
            match days.parse::<i32>() {
                Ok(count) if (1..=MOST_DAYS).contains(&count) => selection.from = earlier(today, count - 1),
                _ if days.is_empty() => {}
                _ => {
                    let message = format!("“days” is a number from 1 to {MOST_DAYS}, not “{}”.", shortened(days));
                    problems.push(Problem::new("days", message));
                }
            }
        } else {
            let mut day = |field: &'static str, text: &str| match text.trim().parse::<Date>() {
                _ if text.trim().is_empty() => None,
                Ok(date) if (1970..=9998).contains(&date.year()) => Some(date),
                _ => {
                    let message = format!("A day is written like 2026-03-01; this is “{}”.", shortened(text));
                    problems.push(Problem::new(field, message));
                    None
                }
            };
            let (first, last) = (day("from", from), day("to", to));
            selection.to = last.unwrap_or_else(|| first.map_or(today, |first| first.max(today)));
            selection.from = first.unwrap_or_else(|| earlier(selection.to, USUAL - 1));
            let count = selection.count();
            if problems.is_empty() && selection.from > selection.to {
                let message = format!("The first day, {}, is after the last, {}.", selection.from, selection.to);
                problems.push(Problem::new("from", message));
            } else if problems.is_empty() && count > MOST_DAYS {
                let message = format!("At most {MOST_DAYS} days are shown at once; these are {count}.");
                problems.push(Problem::new("from", message));
            }
        }
        if problems.is_empty() { Ok(selection) } else { Err(problems) }
    }

    /// The usual range up to today.
    pub fn usual(now: Timestamp, zone: &str) -> Self {
        let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
        let today = Instant::from_millisecond(now.0).unwrap_or_default().to_zoned(zone.clone()).date();
        Self { from: earlier(today, USUAL - 1), to: today, by: By::default(), zone }
    }

    fn count(&self) -> i32 {
        self.from.until(self.to).map_or(i32::MAX, |span| span.get_days().saturating_add(1))
    }

    pub fn len(&self) -> usize {
        usize::try_from(self.count()).unwrap_or(0)
    }

    /// Whether it has none, which no selection does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of days up to today, if it ends today and is one of [`RANGES`].
    pub fn range(&self, now: Timestamp) -> Option<i32> {
        let is_today = self.day_of(now).is_some_and(|day| day + 1 == self.len());
        Some(self.count()).filter(|count| is_today && RANGES.contains(count))
    }

    pub fn dates(&self) -> Vec<Date> {
        (0..self.count()).map(|day| self.from.saturating_add(day.days())).collect()
    }

    /// Where each day begins in hours counted from 1970, and where the last ends. An hour belongs to the day
    /// in which it begins.
    pub fn hours(&self) -> Vec<i64> {
        (0..=self.count()).map(|day| (self.midnight(day) + HOUR - 1).div_euclid(HOUR)).collect()
    }

    pub fn span(&self) -> (Timestamp, Timestamp) {
        (Timestamp(self.midnight(0)), Timestamp(self.midnight(self.count())))
    }

    /// The place of the day of that instant.
    pub fn day_of(&self, at: Timestamp) -> Option<usize> {
        place(&self.hours(), at.0.div_euclid(HOUR))
    }

    fn midnight(&self, day: i32) -> i64 {
        let date = self.from.saturating_add(day.days());
        date.to_zoned(self.zone.clone()).map_or(0, |start| start.timestamp().as_millisecond())
    }
}

fn earlier(day: Date, days: i32) -> Date {
    day.saturating_sub(days.days())
}

/// The day that an hour belongs to, by the hours with which days begin.
pub fn place(hours: &[i64], hour: i64) -> Option<usize> {
    let after = hours.partition_point(|begin| *begin <= hour);
    (after > 0 && after < hours.len()).then(|| after - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp(text.parse::<Instant>().unwrap().as_millisecond())
    }

    fn read(words: [&str; 4]) -> Result<Selection, Vec<Problem>> {
        // A Thursday, 00:30 of the 20th in Berlin.
        Selection::parse(words, at("2026-03-19T23:30:00Z"), "Europe/Berlin")
    }

    #[test]
    fn an_address_says_which_days() {
        for (words, from, to, count) in [
            (["", "", "", ""], "2026-02-19", "2026-03-20", 30),
            (["7", "", "", "day"], "2026-03-14", "2026-03-20", 7),
            (["90", "2026-01-01", "2026-01-31", "job"], "2026-01-01", "2026-01-31", 31),
            (["", "2026-03-20", "", ""], "2026-03-20", "2026-03-20", 1),
            (["", "", "2026-01-31", ""], "2026-01-02", "2026-01-31", 30),
            (["366", "", "", "person"], "2025-03-20", "2026-03-20", 366),
        ] {
            let found = read(words).expect("a selection");
            assert_eq!((found.from.to_string(), found.to.to_string(), found.len()), (from.into(), to.into(), count));
            assert_eq!((found.dates().len(), found.hours().len()), (count, count + 1));
        }
        assert_eq!(read(["7", "", "", ""]).expect("a selection").range(at("2026-03-19T23:30:00Z")), Some(7));
        assert_eq!(read(["8", "", "", ""]).expect("a selection").range(at("2026-03-19T23:30:00Z")), None);
    }

    #[test]
    fn what_is_wrong_is_named_by_its_field() {
        for (words, field) in [
            (["0", "", "", ""], "days"),
            (["367", "", "", ""], "days"),
            (["many", "", "", ""], "days"),
            (["", "2026-13-01", "", ""], "from"),
            (["", "", "tomorrow", ""], "to"),
            (["", "0001-01-01", "", ""], "from"),
            (["", "2026-03-02", "2026-03-01", ""], "from"),
            (["", "2020-01-01", "2026-03-01", ""], "from"),
            (["", "", "", "colour"], "by"),
        ] {
            let problems = read(words).expect_err("wrong");
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert_eq!(problems[0].field, field);
        }
    }

    #[test]
    fn days_are_as_long_as_the_clocks_say() {
        let march = Selection::parse(["", "2026-03-28", "2026-03-30", ""], at("2026-04-01T00:00:00Z"), "Europe/Berlin");
        let hours = march.expect("a selection").hours();
        let lengths: Vec<i64> = hours.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(lengths, [24, 23, 24], "clocks go forward on the 29th");
    }

    proptest! {
        /// Every hour between the first and the last belongs to exactly one day, and no other does.
        #[test]
        fn no_hour_is_lost(
            start in 0_i64..20_000,
            zone in prop::sample::select(vec!["UTC", "Europe/Berlin", "Asia/Kolkata", "Pacific/Apia"]),
        ) {
            let now = Timestamp(start * 86_400_000);
            let chosen = Selection::parse(["7", "", "", ""], now, zone).expect("a selection");
            let hours = chosen.hours();
            prop_assert!(hours.is_sorted());
            let all = (hours[0]..hours[7]).filter(|hour| place(&hours, *hour).is_some()).count();
            prop_assert_eq!(all as i64, hours[7] - hours[0]);
            prop_assert_eq!(place(&hours, hours[0] - 1), None);
            prop_assert_eq!(place(&hours, hours[7]), None);
        }
    }
}
