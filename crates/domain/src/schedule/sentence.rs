//! A trigger as people say it: `Mon–Fri at 08:30`. Page, API and command line all use these words.

use super::civil::{MONTHS, Weekday};
use super::cron::Cron;
use super::recurrence::{Every, MonthDays, Recurrence};
use super::set::{Set, Times};
use super::trigger::Trigger;
use crate::text::and_list;

/// More single times than this are said by minutes and hours.
const MAX_LISTED: u32 = 6;

impl Trigger {
    /// Says it, without the zone: `Mon–Fri at 08:30`.
    pub fn sentence(&self) -> String {
        let words = match self {
            Self::Cron(cron) => say_cron(cron),
            Self::Recurrence(recurrence) => say_recurrence(recurrence),
        };
        let mut chars = words.chars();
        chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
    }
}

fn say_cron(cron: &Cron) -> String {
    let monday_first = cron.weekdays.iter().map(|day| (day + 6) % 7).collect();
    let times = say_times(cron.times);
    let days = match (cron.restricts_days(), cron.restricts_weekdays()) {
        (false, false) if times.starts_with("every") => String::new(),
        (false, false) => "every day".into(),
        (false, true) => say_weekdays(monday_first),
        (true, false) => format!("on the {}", say_month_days(cron.days, &[])),
        (true, true) => format!("on the {} or any {}", say_month_days(cron.days, &[]), say_weekdays(monday_first)),
    };
    let months = match (cron.restricts_months(), cron.restricts_days()) {
        (true, _) => format!("in {}", and_list(&runs(cron.months, |month| MONTHS[usize::from(month) - 1].into()))),
        (false, true) if !cron.restricts_weekdays() => "of the month".into(),
        (false, _) => String::new(),
    };
    let parts: Vec<&str> = [&*days, &*months, &*times].into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

fn say_recurrence(recurrence: &Recurrence) -> String {
    let unit = recurrence.frequency().key();
    let every = match recurrence.interval {
        1 => format!("every {unit}"),
        interval => format!("every {interval} {unit}s"),
    };
    match (recurrence.every, recurrence.interval) {
        (Every::Minute | Every::Hour, _) => every,
        (Every::Day(times), 1) if times.is_every_hour() => say_times(times),
        (Every::Day(times), _) => format!("{every} {}", say_times(times)),
        (Every::Week(times, days), 1) => format!("{} {}", say_weekdays(days), say_times(times)),
        (Every::Week(times, days), _) => format!("{every} on {} {}", say_weekdays(days), say_times(times)),
        (Every::Month(times, days), 1) => format!("on the {} of the month {}", say_days(days), say_times(times)),
        (Every::Month(times, days), _) => format!("{every} on the {} {}", say_days(days), say_times(times)),
    }
}

fn say_days(days: MonthDays) -> String {
    say_month_days(days.days, if days.is_last { &["last day"] } else { &[] })
}

fn say_month_days(days: Set, more: &[&str]) -> String {
    let mut said = runs(days, ordinal);
    said.extend(more.iter().map(|more| (*more).to_owned()));
    and_list(&said)
}

fn say_weekdays(monday_first: Set) -> String {
    if monday_first.len() == 7 {
        return "every day".into();
    }
    and_list(&runs(monday_first, |day| Weekday::ALL[usize::from(day)].short().into()))
}

fn say_times(times: Times) -> String {
    let Times { hours, minutes } = times;
    let clock = |hour: u8, minute: u8| format!("{hour:02}:{minute:02}");
    let every_minutes = match minutes.evenly() {
        Some((0, 1, 59)) => Some("every minute".to_owned()),
        Some((0, step, last)) if step > 0 && last + step == 60 => Some(format!("every {step} minutes")),
        Some(_) | None => None,
    };
    if times.is_every_hour() {
        let single = |minute: u8| format!(":{minute:02}");
        return match every_minutes {
            Some(said) => said,
            None if minutes.evenly() == Some((0, 0, 0)) => "every hour".into(),
            None => format!("every hour at {}", and_list(&runs(minutes, single))),
        };
    }
    if hours.len() * minutes.len() <= MAX_LISTED {
        let all = hours.iter().flat_map(|hour| minutes.iter().map(move |minute| clock(hour, minute)));
        return format!("at {}", and_list(&all.collect::<Vec<_>>()));
    }
    let (first_minute, last_minute) = (minutes.iter().next().unwrap_or(0), minutes.iter().last().unwrap_or(0));
    match (hours.evenly(), every_minutes) {
        (Some((first, 0 | 1, last)), Some(said)) => {
            format!("{said} from {} to {}", clock(first, first_minute), clock(last, last_minute))
        }
        (Some((first, step, last)), None) if minutes.len() == 1 && step > 0 => {
            let said = if step == 1 { "every hour".into() } else { format!("every {step} hours") };
            format!("{said} from {} to {}", clock(first, first_minute), clock(last, first_minute))
        }
        (Some(_) | None, _) => {
            let number = |number: u8| format!("{number:02}");
            let (hours, minutes) = (and_list(&runs(hours, number)), and_list(&runs(minutes, number)));
            format!("at the minutes {minutes} of the hours {hours}")
        }
    }
}

fn ordinal(number: u8) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        (_, _) => "th",
    };
    format!("{number}{ending}")
}

/// The members in order, three and more neighbours as `first–last`.
fn runs(set: Set, say: impl Fn(u8) -> String) -> Vec<String> {
    let mut said = Vec::new();
    let mut rest = set.iter().peekable();
    while let Some(first) = rest.next() {
        let mut last = first;
        while let Some(next) = rest.next_if(|next| *next == last + 1) {
            last = next;
        }
        match last - first {
            0 => said.push(say(first)),
            1 => said.extend([say(first), say(last)]),
            _ => said.push(format!("{}–{}", say(first), say(last))),
        }
    }
    said
}
