//! Cron expressions: five fields, `minute hour day-of-month month day-of-week`.
//!
//! A field is `*` or a list of numbers and ranges, each range with an optional step: `0,30`, `8-18`, `*/15`,
//! `8-18/2`. Months and weekdays may be named (`JAN`, `MON`, in any case); Sunday is 0 or 7.
//!
//! Which days: if only the day of month or only the day of week is restricted, that one decides. If both are,
//! a day that suits *either* fires, as in Vixie cron: `0 9 13 * FRI` is every 13th and every Friday. A field
//! that allows every day is not restricted, however it is written (`*`, `*/1`, `0-6`); Vixie cron looks at
//! the first character instead, so that there `*/2` counts as a star. We go by the meaning.
//!
//! What other dialects have and this one has not (seconds, `L`, `W`, `#`, `?`, `@daily`) is refused, not
//! guessed.

use serde::{Deserialize, Serialize};

use super::civil::{Day, MONTHS, days_in_month};
use super::set::{Set, Times};
use crate::text::{Problem, shortened};

/// Longer expressions are refused unread; every minute, hour, day, month and weekday listed one by one
/// has 304.
pub const MAX_LENGTH: usize = 400;

/// A parsed expression that fires at least once in every eight years.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Cron {
    pub(crate) times: Times,
    pub(crate) days: Set,
    pub(crate) months: Set,
    /// Sunday is 0.
    pub(crate) weekdays: Set,
    text: Box<str>,
}

#[derive(Clone, Copy)]
enum Field {
    Minute,
    Hour,
    Day,
    Month,
    Weekday,
}

impl Field {
    const fn name(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day of month",
            Self::Month => "month",
            Self::Weekday => "day of week",
        }
    }

    const fn allowed(self) -> &'static str {
        match self {
            Self::Minute => "0 to 59",
            Self::Hour => "0 to 23",
            Self::Day => "1 to 31",
            Self::Month => "1 to 12, or JAN to DEC",
            Self::Weekday => "0 to 7 (both are Sunday), or MON to SUN",
        }
    }

    /// What `*` stands for.
    const fn bounds(self) -> (u8, u8) {
        match self {
            Self::Minute => (0, 59),
            Self::Hour => (0, 23),
            Self::Day => (1, 31),
            Self::Month => (1, 12),
            Self::Weekday => (0, 6),
        }
    }

    fn named(self, text: &str) -> Option<u8> {
        const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
        let (names, first): (&[&str], u8) = match self {
            Self::Minute | Self::Hour | Self::Day => return None,
            Self::Month => (&MONTHS, 1),
            Self::Weekday => (&DAYS, 0),
        };
        let index = names.iter().position(|name| name.eq_ignore_ascii_case(text))?;
        u8::try_from(index).ok().map(|index| index + first)
    }

    /// One number or name of `item`, which is quoted whole if there is nothing in this place.
    fn value(self, text: &str, item: &str) -> Result<u8, Problem> {
        let (min, mut max) = self.bounds();
        if matches!(self, Self::Weekday) {
            max = 7;
        }
        number(text).filter(|value| (min..=max).contains(value)).or_else(|| self.named(text)).ok_or_else(|| {
            let (name, quoted) = (self.name(), shortened(if text.is_empty() { item } else { text }));
            problem(format!("The {name} “{quoted}” is not allowed: use {}.", self.allowed()))
        })
    }

    fn parse(self, text: &str) -> Result<Set, Problem> {
        let mut set = Set::default();
        for item in text.split(',') {
            if item.is_empty() {
                let (name, text) = (self.name(), shortened(text));
                return Err(problem(format!("The {name} “{text}” has an empty place beside a comma; take it out.")));
            }
            self.item(item, &mut set)?;
        }
        Ok(set)
    }

    fn item(self, item: &str, set: &mut Set) -> Result<(), Problem> {
        let (name, quoted) = (self.name(), shortened(item));
        let (min, max) = self.bounds();
        let (base, step) = match item.split_once('/') {
            Some((base, step)) => (base, Some(step)),
            None => (item, None),
        };
        let (first, last) = if base == "*" {
            (min, max)
        } else if let Some((first, last)) = base.split_once('-') {
            self.in_order(self.value(first, item)?, self.value(last, item)?)
        } else {
            let value = self.value(base, item)?;
            if step.is_some() {
                let base = shortened(base);
                return Err(problem(format!(
                    "The {name} “{quoted}” has a step without a range. Write {base}-{max}/… or */…."
                )));
            }
            (value, value)
        };
        if first > last {
            return Err(problem(format!(
                "The {name} range “{quoted}” runs backwards. Write it in two parts, such as {first}-{max},{min}-{last}."
            )));
        }
        let step = match step {
            None => 1,
            Some(step) => number(step).filter(|step| (1..=max - min).contains(step)).ok_or_else(|| {
                problem(format!("The step in the {name} “{quoted}” is not allowed: use 1 to {}.", max - min))
            })?,
        };
        // A weekday 7 is the Sunday that is 0.
        let is_weekday = matches!(self, Self::Weekday);
        for value in (first..=last).step_by(usize::from(step)) {
            set.insert(if is_weekday { value % 7 } else { value });
        }
        Ok(())
    }

    /// Sunday opens or closes a range of weekdays, as it is written: `SUN-TUE`, `SAT-SUN`.
    const fn in_order(self, first: u8, last: u8) -> (u8, u8) {
        match (self, first, last) {
            (Self::Weekday, 7, last) if last < 7 => (0, last),
            (Self::Weekday, first, 0) if first > 0 => (first, 7),
            _ => (first, last),
        }
    }
}

fn number(text: &str) -> Option<u8> {
    let is_plain = (1..=3).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain { text.parse().ok() } else { None }
}

fn problem(message: impl Into<String>) -> Problem {
    Problem::new("cron", message)
}

impl Cron {
    /// Parses the field `cron`.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        const FIELDS: &str = "minute, hour, day of month, month and day of week, such as 30 8 * * MON-FRI";
        if text.len() > MAX_LENGTH {
            return Err(problem(format!(
                "A cron expression has at most {MAX_LENGTH} characters; this one has {} bytes.",
                text.len()
            )));
        }
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            let message = match fields[..] {
                [] => format!("Write a cron expression: {FIELDS}."),
                [first, ..] if first.starts_with('@') => {
                    format!("“{}” is not supported. Write out the five fields: {FIELDS}.", shortened(first))
                }
                [_, _, _, _, _, _] => {
                    format!("“{}” has 6 fields. There are no seconds and no years: {FIELDS}.", shortened(text.trim()))
                }
                _ => format!(
                    "“{}” has {} instead of 5: {FIELDS}.",
                    shortened(text.trim()),
                    crate::text::counted(fields.len() as u64, "field", "fields")
                ),
            };
            return Err(problem(message));
        };
        let cron = Self {
            times: Times { minutes: Field::Minute.parse(minute)?, hours: Field::Hour.parse(hour)? },
            days: Field::Day.parse(day)?,
            months: Field::Month.parse(month)?,
            weekdays: Field::Weekday.parse(weekday)?,
            text: fields.join(" ").into(),
        };
        cron.check_it_ever_fires()?;
        Ok(cron)
    }

    /// The expression as it was written, with single spaces.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) const fn restricts_days(&self) -> bool {
        self.days.len() < 31
    }

    pub(crate) const fn restricts_weekdays(&self) -> bool {
        self.weekdays.len() < 7
    }

    pub(crate) const fn restricts_months(&self) -> bool {
        self.months.len() < 12
    }

    fn check_it_ever_fires(&self) -> Result<(), Problem> {
        const LEAP_YEAR: i32 = 2000;
        let first = self.days.first_from(0).unwrap_or(1);
        let fits = self.months.iter().any(|month| first <= days_in_month(LEAP_YEAR, month));
        // With weekdays as well, those fire even where the day of month cannot.
        if fits || self.restricts_weekdays() {
            return Ok(());
        }
        let months: Vec<&str> = self.months.iter().map(|month| MONTHS[usize::from(month) - 1]).collect();
        let verb = if months.len() == 1 { "has" } else { "have" };
        Err(problem(format!(
            "“{}” would never fire: {} never {verb} a day {first}. Choose an earlier day or another month.",
            shortened(&self.text),
            crate::text::and_list(&months)
        )))
    }

    fn suits(&self, day: Day, day_of_month: u8) -> bool {
        let by_day = self.days.contains(day_of_month);
        let by_weekday = self.weekdays.contains((day.weekday().after_monday() + 1) % 7);
        if self.restricts_days() && self.restricts_weekdays() { by_day || by_weekday } else { by_day && by_weekday }
    }

    /// The first day that suits and is not before `from`.
    pub(crate) fn next_day(&self, from: Day) -> Option<Day> {
        let (mut year, mut month, mut day_of_month) = from.date();
        let mut day = from;
        while day <= Day::LAST {
            if self.months.contains(month) {
                for day_of_month in day_of_month..=days_in_month(year, month) {
                    if self.suits(day, day_of_month) {
                        return Some(day).filter(|day| *day <= Day::LAST);
                    }
                    day = day.plus(1);
                }
            }
            (year, month) = match self.months.first_from(month + 1) {
                Some(month) => (year, month),
                None => (year + 1, self.months.first_from(1)?),
            };
            day_of_month = 1;
            day = Day::of(year, month, 1);
        }
        None
    }
}

impl From<Cron> for String {
    fn from(cron: Cron) -> Self {
        cron.text.into()
    }
}

impl TryFrom<String> for Cron {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).map_err(|problem| problem.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(set: Set) -> Vec<u8> {
        set.iter().collect()
    }

    #[test]
    fn fields_mean_what_they_say() {
        let all = |first: u8, last: u8| (first..=last).collect::<Vec<_>>();
        type Sets = [Vec<u8>; 5];
        let cases: [(&str, Sets); 12] = [
            ("* * * * *", [all(0, 59), all(0, 23), all(1, 31), all(1, 12), all(0, 6)]),
            ("30 8 * * MON-FRI", [vec![30], vec![8], all(1, 31), all(1, 12), all(1, 5)]),
            ("0,30 8-10 1 JAN 0", [vec![0, 30], vec![8, 9, 10], vec![1], vec![1], vec![0]]),
            (
                "*/15 */6 */10 */4 */3",
                [vec![0, 15, 30, 45], vec![0, 6, 12, 18], vec![1, 11, 21, 31], vec![1, 5, 9], vec![0, 3, 6]],
            ),
            (
                "5-20/5 8-18/4 2-9/7 2-12/5 1-5/2",
                [vec![5, 10, 15, 20], vec![8, 12, 16], vec![2, 9], vec![2, 7, 12], vec![1, 3, 5]],
            ),
            ("0 0 1 1 7", [vec![0], vec![0], vec![1], vec![1], vec![0]]),
            ("0 0 1 1 5-7", [vec![0], vec![0], vec![1], vec![1], vec![0, 5, 6]]),
            ("0 0 1 1 sat-sun", [vec![0], vec![0], vec![1], vec![1], vec![0, 6]]),
            ("0 0 1 1 SUN-TUE", [vec![0], vec![0], vec![1], vec![1], vec![0, 1, 2]]),
            ("0 0 1 1 0-7", [vec![0], vec![0], vec![1], vec![1], all(0, 6)]),
            ("00 007 01 feb,Dec,6-7 tue", [vec![0], vec![7], vec![1], vec![2, 6, 7, 12], vec![2]]),
            ("  1,1,1   2  3\t4  5 ", [vec![1], vec![2], vec![3], vec![4], vec![5]]),
        ];
        for (text, sets) in cases {
            let cron = Cron::parse(text).unwrap_or_else(|problem| panic!("{text}: {}", problem.message));
            let parsed = [cron.times.minutes, cron.times.hours, cron.days, cron.months, cron.weekdays].map(members);
            assert_eq!(parsed, sets, "{text}");
        }
        assert_eq!(Cron::parse(" 30  8 * *\tMON ").unwrap().as_str(), "30 8 * * MON");
    }

    #[test]
    fn wrong_expressions_are_refused_by_field_value_and_what_is_allowed() {
        let cases = [
            ("", "minute, hour, day of month"),
            ("* * * *", "has 4 fields instead of 5"),
            ("*", "has 1 field instead of 5"),
            ("0 0 8 * * MON", "There are no seconds"),
            ("@daily", "“@daily” is not supported"),
            ("60 * * * *", "The minute “60” is not allowed: use 0 to 59."),
            ("-1 * * * *", "The minute “-1” is not allowed"),
            ("+1 * * * *", "The minute “+1” is not allowed"),
            ("256 * * * *", "The minute “256” is not allowed"),
            ("99999999999999999999 * * * *", "is not allowed: use 0 to 59"),
            ("1.5 * * * *", "The minute “1.5” is not allowed"),
            ("* 24 * * *", "The hour “24” is not allowed: use 0 to 23."),
            ("* MON * * *", "The hour “MON” is not allowed"),
            ("* * 0 * *", "The day of month “0” is not allowed: use 1 to 31."),
            ("* * 32 * *", "The day of month “32”"),
            ("* * L * *", "The day of month “L”"),
            ("* * ? * *", "The day of month “?”"),
            ("* * 15W * *", "The day of month “15W”"),
            ("* * * 0 *", "The month “0” is not allowed: use 1 to 12, or JAN to DEC."),
            ("* * * 13 *", "The month “13”"),
            ("* * * JANUARY *", "The month “JANUARY”"),
            ("* * * * 8", "The day of week “8” is not allowed: use 0 to 7 (both are Sunday), or MON to SUN."),
            ("* * * * MON#2", "The day of week “MON#2”"),
            ("* * * * 5L", "The day of week “5L”"),
            ("1,,2 * * * *", "The minute “1,,2” has an empty place"),
            (", * * * *", "has an empty place"),
            ("1, * * * *", "has an empty place"),
            ("30-10 * * * *", "The minute range “30-10” runs backwards. Write it in two parts, such as 30-59,0-10."),
            ("* 22-2 * * *", "such as 22-23,0-2"),
            ("* * * * FRI-MON", "runs backwards"),
            ("*/0 * * * *", "The step in the minute “*/0” is not allowed: use 1 to 59."),
            ("*/60 * * * *", "use 1 to 59"),
            ("*/ * * * *", "The step in the minute “*/”"),
            ("*/5/5 * * * *", "The step in the minute “*/5/5”"),
            ("* */24 * * *", "use 1 to 23"),
            ("5/15 * * * *", "has a step without a range. Write 5-59/… or */…."),
            ("1-2-3 * * * *", "The minute “2-3”"),
            ("*-5 * * * *", "The minute “*”"),
            ("** * * * *", "The minute “**”"),
            ("\u{661} * * * *", "The minute “\u{661}”"),
            ("0 0 30 2 *", "“0 0 30 2 *” would never fire: Feb never has a day 30."),
            ("0 0 31 2,4,6,9,11 *", "Feb, Apr, Jun, Sep and Nov never have a day 31"),
        ];
        for (text, part) in cases {
            let problem = Cron::parse(text).expect_err(text);
            assert_eq!(problem.field, "cron");
            assert!(problem.message.contains(part), "{text}: {}", problem.message);
        }
    }

    #[test]
    fn what_fires_seldom_is_taken() {
        for text in ["0 0 29 2 *", "0 0 31 */2 *", "0 0 30 2 MON", "0 0 31 4,5 *"] {
            assert!(Cron::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn huge_input_is_refused_unread_and_never_quoted_at_length() {
        let problem = Cron::parse(&"9".repeat(10_000_000)).unwrap_err();
        assert!(problem.message.contains("10000000 bytes"), "{}", problem.message);
        for long in
            [format!("{} * * * *", "9".repeat(300)), "9 ".repeat(190), format!("{}1 * * * *", "1,".repeat(150) + "é")]
        {
            let message = Cron::parse(&long).expect_err("too long or wrong").message;
            let quoted = message.split(['“', '”']).nth(1).unwrap_or_default();
            assert!(quoted.chars().count() <= 41, "{message}");
        }
        let listed = |first: u32, last: u32| (first..=last).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
        let everything = [listed(0, 59), listed(0, 23), listed(1, 31), listed(1, 12), listed(0, 7)].join(" ");
        assert!(everything.len() < MAX_LENGTH && Cron::parse(&everything).is_ok());
    }

    #[test]
    fn both_days_restricted_means_either() {
        let days = |text: &str| {
            let cron = Cron::parse(text).unwrap();
            let (mut day, mut found) = (Day::of(2026, 3, 1), Vec::new());
            while let Some(next) = cron.next_day(day).filter(|day| *day <= Day::of(2026, 3, 31)) {
                found.push(next.date().2);
                day = next.plus(1);
            }
            found
        };
        assert_eq!(days("0 0 13 * *"), [13]);
        assert_eq!(days("0 0 * * FRI"), [6, 13, 20, 27]);
        assert_eq!(days("0 0 11 * FRI"), [6, 11, 13, 20, 27]);
        assert_eq!(days("0 0 13 * 0-6"), [13]);
        assert_eq!(days("0 0 1-31 * FRI"), [6, 13, 20, 27]);
        assert!(days("0 0 11 4 FRI").is_empty());
    }

    #[test]
    fn the_leap_day_is_found_across_the_century_without_one() {
        let cron = Cron::parse("0 0 29 2 *").unwrap();
        assert_eq!(cron.next_day(Day::of(2096, 3, 1)), Some(Day::of(2104, 2, 29)));
        assert_eq!(cron.next_day(Day::of(2996, 3, 1)), None);
    }
}
