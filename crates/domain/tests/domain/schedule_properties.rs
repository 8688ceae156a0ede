//! What holds for every schedule in every zone at every instant.

use std::collections::BTreeSet;

use atelier_domain::Timestamp;
use atelier_domain::schedule::due::{MAX_COUNTED, MAX_GRACE, ON_TIME, Passed, checked_until};
use atelier_domain::schedule::recurrence::Parts;
use atelier_domain::schedule::{
    Action, Cron, Frequency, LocalTime, MonthDay, Note, Outcome, Pace, Recurrence, Schedule, Timetable, Trigger,
    Weekday, Wheel, Zone, due,
};
use atelier_domain::time::Span;
use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;

use crate::support::cases;

const MINUTE: i64 = 60_000;

/// Those of the oracle, and others with odd offsets, odd switches or none.
const ZONES: [&str; 14] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "America/St_Johns",
    "Pacific/Apia",
    "Pacific/Chatham",
    "Antarctica/Troll",
    "Antarctica/Casey",
    "Africa/Cairo",
    "Africa/Monrovia",
    "America/Sao_Paulo",
    "Europe/Dublin",
];

/// A trigger and the plain sets it was made of, by which the test judges local times itself.
#[derive(Clone, Debug)]
struct Sample {
    timetable: Timetable,
    hours: BTreeSet<u8>,
    minutes: BTreeSet<u8>,
    days: Days,
}

#[derive(Clone, Debug)]
enum Days {
    Cron { days: BTreeSet<u8>, months: BTreeSet<u8>, weekdays: BTreeSet<u8> },
    Every(i64),
    Weekdays(BTreeSet<u8>),
    Months(BTreeSet<u8>),
    Elapsed,
}

impl Sample {
    fn suits(&self, local: LocalTime) -> bool {
        let (hour, minute) = local.time();
        let (_, month, day) = local.date();
        let weekday = local.weekday() as u8;
        let on_that_day = match &self.days {
            Days::Cron { days, months, weekdays } => {
                let (by_day, by_weekday) = (days.contains(&day), weekdays.contains(&((weekday + 1) % 7)));
                let both = days.len() < 31 && weekdays.len() < 7;
                months.contains(&month) && if both { by_day || by_weekday } else { by_day && by_weekday }
            }
            Days::Every(1) => true,
            // The distance from the start is judged by the unit tests and the oracle.
            Days::Every(_) => true,
            Days::Weekdays(weekdays) => weekdays.contains(&weekday),
            Days::Months(days) => days.contains(&day),
            Days::Elapsed => return true,
        };
        on_that_day && self.hours.contains(&hour) && self.minutes.contains(&minute)
    }
}

fn some_or_all(first: u8, last: u8) -> impl Strategy<Value = BTreeSet<u8>> {
    prop_oneof![
        1 => Just((first..=last).collect::<BTreeSet<u8>>()),
        2 => btree_set(first..=last, 1..5),
    ]
}

fn list(set: &BTreeSet<u8>) -> String {
    set.iter().map(u8::to_string).collect::<Vec<_>>().join(",")
}

fn numbers(set: &BTreeSet<u8>) -> Vec<i64> {
    set.iter().map(|number| i64::from(*number)).collect()
}

fn start() -> impl Strategy<Value = LocalTime> {
    (1970i32..2040, 1u8..=12, 1u8..=28, 0u8..24, 0u8..60).prop_map(|(year, month, day, hour, minute)| {
        LocalTime::parse(&format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}")).expect("these exist")
    })
}

fn sample() -> impl Strategy<Value = Sample> {
    let zone = proptest::sample::select(&ZONES[..]).prop_map(|zone| Zone::parse(zone).expect("these exist"));
    let times = (some_or_all(0, 23), some_or_all(0, 59));
    let days = (some_or_all(1, 31), some_or_all(1, 12), some_or_all(0, 6), 1i64..40, 0usize..6);
    (zone, times, days, start(), option::of(start())).prop_filter_map(
        "fires at all",
        |(zone, (hours, minutes), (days, months, weekdays, interval, kind), start, maybe_start)| {
            let parts = |interval, frequency| Parts {
                hours: numbers(&hours),
                minutes: numbers(&minutes),
                ..Parts::every(interval, frequency)
            };
            let recurrence = |parts: Parts| Recurrence::new(&parts).ok().map(Trigger::Recurrence);
            let (trigger, judged, start) = match kind {
                0 => {
                    let parts = parts(interval, Frequency::Day);
                    (recurrence(parts)?, Days::Every(interval), Some(start))
                }
                1 => {
                    let chosen = weekdays.iter().map(|day| Weekday::ALL[usize::from(*day)]).collect();
                    let parts = Parts { weekdays: chosen, ..parts(interval, Frequency::Week) };
                    (recurrence(parts)?, Days::Weekdays(weekdays), Some(start))
                }
                2 => {
                    let chosen = days.iter().map(|day| MonthDay::On(*day)).collect();
                    let parts = Parts { month_days: chosen, ..parts(1, Frequency::Month) };
                    (recurrence(parts)?, Days::Months(days), maybe_start)
                }
                3 => {
                    let parts =
                        Parts::every(interval, if interval % 2 == 0 { Frequency::Minute } else { Frequency::Hour });
                    (recurrence(parts)?, Days::Elapsed, Some(start))
                }
                _ => {
                    let sets = [&minutes, &hours, &days, &months, &weekdays].map(list);
                    let trigger = Trigger::Cron(Cron::parse(&sets.join(" ")).ok()?);
                    (trigger, Days::Cron { days, months, weekdays }, maybe_start)
                }
            };
            let timetable = Timetable::new(trigger, zone, start).ok()?;
            Some(Sample { timetable, hours, minutes, days: judged })
        },
    )
}

/// Minutes since 1970, up to 2040, not always whole.
fn instant() -> impl Strategy<Value = Timestamp> {
    (0i64..2_208_988_800_000).prop_map(Timestamp)
}

fn schedule(sample: &Sample, since: Timestamp) -> Schedule {
    Schedule::new(Action::Stop, sample.timetable.clone(), since)
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn firings_strictly_increase_and_none_lies_between(sample in sample(), from in instant(), part in 0.0f64..1.0) {
        let mut after = from;
        for _ in 0..20 {
            let Some(firing) = sample.timetable.next_after(after) else { break };
            prop_assert!(firing.at > after);
            // Asked from anywhere between, the answer is the same.
            let between = Timestamp(after.0 + ((firing.at.0 - after.0 - 1) as f64 * part) as i64);
            prop_assert_eq!(sample.timetable.next_after(between), Some(firing));
            after = firing.at;
        }
    }

    #[test]
    fn every_firing_shows_a_planned_time_or_says_why_not(sample in sample(), from in instant()) {
        let pace = sample.timetable.trigger().pace();
        for firing in sample.timetable.preview(30, from) {
            match firing.note {
                Some(Note::Moved { planned }) => {
                    prop_assert!(sample.suits(planned) && planned < firing.local);
                    prop_assert_eq!(pace, Pace::WallClock);
                }
                Some(Note::FirstOfTwo | Note::SecondOfTwo) => {
                    prop_assert!(sample.suits(firing.local) && pace != Pace::WallClock);
                }
                Some(Note::OnlyFirst) => prop_assert!(sample.suits(firing.local) && pace == Pace::WallClock),
                None | Some(Note::ClocksChanged { .. }) => prop_assert!(sample.suits(firing.local), "{firing}"),
            }
            prop_assert_eq!(sample.timetable.zone().local(firing.at), firing.local);
            prop_assert_eq!(firing.note.is_some(), firing.explanation().is_some());
        }
    }

    #[test]
    fn a_preview_has_no_duplicates_and_nothing_before_the_start(sample in sample(), from in instant()) {
        let preview = sample.timetable.preview(40, from);
        prop_assert!(preview.windows(2).all(|pair| pair[0].at < pair[1].at));
        if !matches!(sample.timetable.trigger().pace(), Pace::EveryHour | Pace::Elapsed { .. }) {
            prop_assert!(preview.windows(2).all(|pair| pair[0].local < pair[1].local));
        }
        if let Some(start) = sample.timetable.start() {
            prop_assert!(preview.first().is_none_or(|first| first.local >= start));
        }
    }

    /// `due` agrees with a plain list of what was planned.
    #[test]
    fn due_equals_a_plain_list_and_never_fires_the_future_or_the_past_of_an_edit(
        sample in sample(), since in instant(), checked in -50_000i64..50_000, passed in -10i64..3_000,
        grace in 0u32..2_000, dismissed in option::of(0usize..5), late in 0i64..120_000,
    ) {
        let mut schedule = schedule(&sample, since);
        let last_checked = Timestamp(since.0 + checked * MINUTE);
        let now = Timestamp(since.0.max(last_checked.0) + passed * MINUTE + late);
        let from = since.max(last_checked);
        let planned: Vec<Timestamp> =
            std::iter::successors(sample.timetable.next_after(from), |last| sample.timetable.next_after(last.at))
                .map(|firing| firing.at).take_while(|at| *at <= now).collect();
        schedule.dismissed = dismissed.and_then(|index| planned.iter().rev().nth(index).copied());
        let grace = Span::minutes(grace);
        let window = grace.clamp(ON_TIME, MAX_GRACE);
        let counts = |at: &&Timestamp| Some(**at) != schedule.dismissed;
        let newest = planned.last().filter(counts).filter(|at| now.since(**at) <= window);
        let missed = planned.iter().filter(counts).filter(|at| Some(*at) != newest).count();
        let expected = Passed {
            missed: (missed as u32).min(MAX_COUNTED),
            is_more: missed > MAX_COUNTED as usize,
            dismissed: schedule.dismissed,
        };
        match due(&schedule, last_checked, now, grace) {
            Outcome::Nothing => prop_assert!(planned.is_empty()),
            Outcome::Skipped { passed } => {
                prop_assert!(newest.is_none() && !planned.is_empty());
                prop_assert_eq!(passed, expected);
            }
            Outcome::Fire { planned, passed } => {
                prop_assert_eq!(Some(&planned.at), newest);
                prop_assert!(now.since(planned.at) <= ON_TIME);
                prop_assert_eq!(passed, expected);
            }
            Outcome::CatchUp { planned, late, passed } => {
                prop_assert_eq!(Some(&planned.at), newest);
                prop_assert!(planned.at > since && planned.at <= now && late > ON_TIME && late <= window);
                prop_assert_eq!(passed, expected);
            }
        }
        prop_assert_eq!(due(&schedule.disabled(), last_checked, now, grace), Outcome::Nothing);
    }

    /// However looks are timed, each firing acts at most once and all are accounted for.
    #[test]
    fn looking_again_and_again_loses_nothing_and_repeats_nothing(
        sample in sample(), since in instant(), gaps in vec(-30i64..90, 1..40),
    ) {
        let schedule = schedule(&sample, since);
        let (mut checked, mut now) = (since, since);
        let (mut acted, mut missed) = (Vec::new(), 0);
        for gap in gaps {
            now = Timestamp(now.0 + gap * MINUTE);
            let outcome = due(&schedule, checked, now, Span::minutes(20));
            acted.extend(outcome.planned().map(|firing| firing.at));
            missed += match outcome {
                Outcome::Nothing => 0,
                Outcome::Fire { passed, .. } | Outcome::CatchUp { passed, .. } | Outcome::Skipped { passed } => {
                    prop_assume!(!passed.is_more);
                    passed.missed as usize
                }
            };
            // Steps back stay within what counts as a correction.
            prop_assume!(checked.since(now) <= Span::hours(3));
            checked = checked_until(checked, now);
        }
        prop_assert!(acted.is_sorted_by(|a, b| a < b));
        let planned = std::iter::successors(schedule.next_after(since), |last| schedule.next_after(last.at));
        prop_assert_eq!(planned.take_while(|firing| firing.at <= checked).count(), acted.len() + missed);
    }

    /// The loop's way of working: the wheel hands out every firing of every schedule, in order.
    #[test]
    fn a_wheel_of_schedules_hands_out_all_firings_in_order(samples in vec(sample(), 1..8), from in instant()) {
        let until = from.plus(Span::hours(30));
        let mut wheel = Wheel::new();
        for (id, sample) in samples.iter().enumerate() {
            wheel.set(id, sample.timetable.next_after(from).map(|firing| firing.at));
        }
        let mut handed_out = Vec::new();
        while let Some((at, id)) = wheel.pop_due(until) {
            handed_out.push((at, id));
            wheel.set(id, samples[id].timetable.next_after(at).map(|firing| firing.at));
        }
        let mut expected: Vec<(Timestamp, usize)> = Vec::new();
        for (id, sample) in samples.iter().enumerate() {
            let first = sample.timetable.next_after(from);
            let all = std::iter::successors(first, |last| sample.timetable.next_after(last.at));
            expected.extend(all.take_while(|firing| firing.at <= until).map(|firing| (firing.at, id)));
        }
        expected.sort();
        prop_assert_eq!(handed_out, expected);
    }

    /// Whatever text comes in, it is taken or refused with a short sentence; nothing panics.
    #[test]
    fn any_text_is_taken_or_refused_briefly(text in "([0-9*/,A-Z-]{1,6} ){0,6}|\\PC{0,60}") {
        match Cron::parse(&text) {
            Ok(cron) => prop_assert_eq!(Cron::parse(cron.as_str()), Ok(cron)),
            Err(problem) => prop_assert!(problem.message.chars().count() < 300, "{}", problem.message),
        }
        if let Err(problem) = LocalTime::parse(&text) {
            prop_assert!(problem.message.chars().count() < 300, "{}", problem.message);
        }
    }

    #[test]
    fn what_is_stored_comes_back(sample in sample(), since in instant()) {
        let schedule = schedule(&sample, since);
        let text = serde_json::to_string(&schedule).unwrap();
        prop_assert_eq!(serde_json::from_str::<Schedule>(&text).unwrap(), schedule);
    }
}
