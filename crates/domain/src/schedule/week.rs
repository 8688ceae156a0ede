//! A week as people draw it: for each day when to start and when to stop. It becomes schedules, and schedules
//! of that shape become a week again.
//!
//! A stop that is earlier than the start of its row means the next day: Monday 20:00 to 04:00 ends on
//! Tuesday.

use serde::{Deserialize, Serialize};

use super::action::Action;
use super::civil::Weekday;
use super::recurrence::{Every, Frequency, Parts, Recurrence};
use super::set::{Set, Times};
use super::trigger::Trigger;
use crate::text::{Problem, shortened};
use crate::time::Span;

const DAY: u16 = 1_440;
const WEEK: u16 = 7 * DAY;

/// A time of day, in whole minutes: `08:30`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Clock(u16);

impl Clock {
    /// So many minutes after midnight; none beyond the end of the day.
    pub const fn of(minutes: u16) -> Option<Self> {
        if minutes < DAY { Some(Self(minutes)) } else { None }
    }

    /// Reads `8:30` and `08:30`, as browsers and people write it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("“{}” is not a time of day: use 00:00 to 23:59.", shortened(text.trim()));
        let (hour, minute) = text.trim().split_once(':').ok_or_else(wrong)?;
        let digits = |text: &str, most: usize| {
            let is_plain = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
            is_plain.then(|| text.parse::<u16>().ok()).flatten()
        };
        match (digits(hour, 2), digits(minute, 2).filter(|_| minute.len() == 2)) {
            (Some(hour @ 0..24), Some(minute @ 0..60)) => Ok(Self(hour * 60 + minute)),
            _ => Err(wrong()),
        }
    }

    /// Minutes after midnight.
    pub const fn minutes(self) -> u16 {
        self.0
    }
}

impl std::fmt::Display for Clock {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

impl From<Clock> for String {
    fn from(clock: Clock) -> Self {
        clock.to_string()
    }
}

impl TryFrom<String> for Clock {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

/// One row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DayPlan {
    /// When to start that day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Clock>,
    /// When to stop; before the start it means the next day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Clock>,
}

impl DayPlan {
    fn crosses_midnight(self) -> bool {
        matches!((self.start, self.stop), (Some(start), Some(stop)) if stop < start)
    }
}

/// A week, from Monday.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WeekGrid {
    pub days: [DayPlan; 7],
}

/// A stretch in which the instance runs, in minutes of the week from Monday 00:00.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub from: u16,
    /// How long it is; it may go over the end of the week.
    pub minutes: u16,
}

/// The prefix of a day's fields: `mon` in `mon_start`.
pub fn day_key(day: Weekday) -> String {
    day.short().to_lowercase()
}

/// The whole name of a day.
pub const fn name(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "Monday",
        Weekday::Tuesday => "Tuesday",
        Weekday::Wednesday => "Wednesday",
        Weekday::Thursday => "Thursday",
        Weekday::Friday => "Friday",
        Weekday::Saturday => "Saturday",
        Weekday::Sunday => "Sunday",
    }
}

/// A start or a stop at a minute of the week.
type Event = (u16, bool);

impl WeekGrid {
    /// Reads a form: `field` gives the text of `mon_start`, `mon_stop` … `sun_stop`; empty means none. All
    /// problems at once.
    pub fn parse<'text>(field: impl Fn(&str) -> &'text str) -> Result<Self, Vec<Problem>> {
        let mut grid = Self::default();
        let mut problems = Vec::new();
        for (day, row) in Weekday::ALL.into_iter().zip(&mut grid.days) {
            let mut read = |what: &str| {
                let name = format!("{}_{what}", day_key(day));
                let text = field(&name).trim();
                if text.is_empty() {
                    return None;
                }
                Clock::parse(text).map_err(|message| problems.push(Problem::new(name, message))).ok()
            };
            (row.start, row.stop) = (read("start"), read("stop"));
        }
        if problems.is_empty() {
            problems = grid.problems();
        }
        if problems.is_empty() { Ok(grid) } else { Err(problems) }
    }

    /// What does not fit together, each with its field.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (index, (day, row)) in Weekday::ALL.into_iter().zip(self.days).enumerate() {
            let (Some(start), Some(stop)) = (row.start, row.stop) else { continue };
            if start == stop {
                let message = format!(
                    "It would start and stop at {start}. Choose another time; earlier than the start means the next \
                     day."
                );
                problems.push(Problem::new(format!("{}_stop", day_key(day)), message));
            }
            let (next_day, next) = (Weekday::ALL[(index + 1) % 7], self.days[(index + 1) % 7]);
            if let Some(next_start) = next.start.filter(|next_start| row.crosses_midnight() && *next_start < stop) {
                let message = format!(
                    "The row of {} runs until {stop} on {}, which is after this start at {next_start} and would stop \
                     it.",
                    name(day),
                    name(next_day),
                );
                problems.push(Problem::new(format!("{}_start", day_key(next_day)), message));
            }
        }
        problems
    }

    /// Whether nothing is planned.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for (day, row) in (0..).zip(self.days) {
            events.extend(row.start.map(|start| (day * DAY + start.0, true)));
            let next = if row.crosses_midnight() { DAY } else { 0 };
            events.extend(row.stop.map(|stop| ((day * DAY + stop.0 + next) % WEEK, false)));
        }
        // Of a stop and a start at the same minute the start counts: the stop comes first.
        events.sort_unstable();
        events.dedup();
        events
    }

    /// What it takes: one weekly recurrence for all days that have the same time, starts first. Fourteen at
    /// most.
    pub fn schedules(&self) -> Vec<(Action, Recurrence)> {
        let events = self.events();
        let mut all = Vec::new();
        for (is_start, action) in [(true, Action::Start), (false, Action::Stop)] {
            let mine = || events.iter().filter(move |(_, start)| *start == is_start);
            let mut times: Vec<u16> = mine().map(|(minute, _)| minute % DAY).collect();
            times.sort_unstable();
            times.dedup();
            for time in times {
                let days = mine().filter(|(minute, _)| minute % DAY == time);
                let parts = Parts {
                    hours: vec![i64::from(time / 60)],
                    minutes: vec![i64::from(time % 60)],
                    weekdays: days.map(|(minute, _)| Weekday::ALL[usize::from(minute / DAY) % 7]).collect(),
                    ..Parts::every(1, Frequency::Week)
                };
                // Every part is within its bounds.
                all.extend(Recurrence::new(&parts).ok().map(|recurrence| (action, recurrence)));
            }
        }
        all
    }

    /// The week that these schedules are, if they have that shape: at most one start and one stop a row.
    pub fn of<'all>(schedules: impl IntoIterator<Item = (Action, &'all Trigger)>) -> Option<Self> {
        let mut events = Vec::new();
        for (action, trigger) in schedules {
            let is_start = match action {
                Action::Start => true,
                Action::Stop => false,
                Action::MinNodes(_) => return None,
            };
            let (times, days) = weekly(trigger)?;
            if times.hours.len() * times.minutes.len() > 2 {
                return None;
            }
            for day in days.iter() {
                for hour in times.hours.iter() {
                    let minute = |minute: u8| u16::from(day) * DAY + u16::from(hour) * 60 + u16::from(minute);
                    events.extend(times.minutes.iter().map(|at| (minute(at), is_start)));
                }
            }
        }
        events.sort_unstable();
        events.dedup();
        let grid = Self::arrange(&events)?;
        (grid.problems().is_empty() && grid.events() == events).then_some(grid)
    }

    /// Puts starts and stops into rows.
    fn arrange(events: &[Event]) -> Option<Self> {
        let mut grid = Self::default();
        for (minute, _) in events.iter().filter(|(_, is_start)| *is_start) {
            let row = &mut grid.days[usize::from(minute / DAY)];
            if row.start.replace(Clock(minute % DAY)).is_some() {
                return None;
            }
        }
        for (minute, _) in events.iter().filter(|(_, is_start)| !*is_start) {
            let (day, stop) = (usize::from(minute / DAY), Clock(minute % DAY));
            let (own, before) = (grid.days[day].start, grid.days[(day + 6) % 7]);
            let is_of_before = own.is_none_or(|start| stop <= start)
                && before.stop.is_none()
                && before.start.is_some_and(|start| stop < start);
            let index = if is_of_before { (day + 6) % 7 } else { day };
            if grid.days[index].stop.replace(stop).is_some() {
                return None;
            }
        }
        Some(grid)
    }

    /// When it runs; none if it only starts or only stops, so that nobody can tell.
    pub fn windows(&self) -> Option<Vec<Window>> {
        let all = self.events();
        let has = |wanted: bool| all.iter().any(|(_, is_start)| *is_start == wanted);
        if !has(true) || !has(false) {
            return None;
        }
        // A stop at the minute of a start does not count: what ends where the next begins goes on.
        let events: Vec<Event> =
            all.iter().filter(|(at, is_start)| *is_start || !all.contains(&(*at, true))).copied().collect();
        if events.iter().all(|(_, is_start)| *is_start) {
            return Some(vec![Window { from: 0, minutes: WEEK }]);
        }
        let mut windows = Vec::new();
        for (index, (from, is_start)) in events.iter().enumerate() {
            let was_on = events[(index + events.len() - 1) % events.len()].1;
            let mut after = events.iter().cycle().skip(index + 1);
            if *is_start
                && !was_on
                && let Some((stop, _)) = after.find(|(_, is_start)| !is_start)
            {
                windows.push(Window { from: *from, minutes: (stop + WEEK - from) % WEEK });
            }
        }
        Some(windows)
    }

    /// How long it runs each week; none if nobody can tell.
    pub fn awake(&self) -> Option<Span> {
        let minutes = self.windows()?.iter().map(|window| u32::from(window.minutes)).sum::<u32>();
        Some(Span::minutes(minutes.min(u32::from(WEEK))))
    }
}

/// The times and the days (Monday is 0) of what repeats each week.
fn weekly(trigger: &Trigger) -> Option<(Times, Set)> {
    let all = || (0..7).collect::<Set>();
    match trigger {
        Trigger::Recurrence(recurrence) if recurrence.interval == 1 => match recurrence.every {
            Every::Week(times, days) => Some((times, days)),
            Every::Day(times) => Some((times, all())),
            Every::Minute | Every::Hour | Every::Month(..) => None,
        },
        Trigger::Cron(cron) if !cron.restricts_days() && !cron.restricts_months() => {
            // There Sunday is 0.
            Some((cron.times, cron.weekdays.iter().map(|day| (day + 6) % 7).collect()))
        }
        Trigger::Recurrence(_) | Trigger::Cron(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::cron::Cron;
    use super::*;

    fn clock(text: &str) -> Option<Clock> {
        Clock::parse(text).ok()
    }

    fn office() -> WeekGrid {
        let day = DayPlan { start: clock("08:30"), stop: clock("19:00") };
        let mut grid = WeekGrid::default();
        grid.days[..5].fill(day);
        grid
    }

    fn said(grid: &WeekGrid) -> Vec<String> {
        let say = |(action, recurrence): &(Action, Recurrence)| {
            format!("{} {}", action.phrase(), Trigger::Recurrence(recurrence.clone()).sentence())
        };
        grid.schedules().iter().map(say).collect()
    }

    fn back(grid: &WeekGrid) -> Option<WeekGrid> {
        let triggers: Vec<(Action, Trigger)> =
            grid.schedules().into_iter().map(|(action, one)| (action, Trigger::Recurrence(one))).collect();
        WeekGrid::of(triggers.iter().map(|(action, trigger)| (*action, trigger)))
    }

    #[test]
    fn an_office_week_is_two_schedules() {
        assert_eq!(said(&office()), ["Start Mon–Fri at 08:30", "Stop Mon–Fri at 19:00"]);
        assert_eq!(office().awake(), Some(Span::minutes(5 * 630)));
        assert_eq!(back(&office()), Some(office()));
    }

    #[test]
    fn another_friday_is_two_more() {
        let mut grid = office();
        grid.days[4] = DayPlan { start: clock("9:00"), stop: clock("14:00") };
        assert_eq!(
            said(&grid),
            ["Start Mon–Thu at 08:30", "Start Fri at 09:00", "Stop Fri at 14:00", "Stop Mon–Thu at 19:00"]
        );
        assert_eq!(back(&grid), Some(grid));
    }

    #[test]
    fn a_stop_before_the_start_is_the_next_day() {
        let mut grid = WeekGrid::default();
        grid.days[6] = DayPlan { start: clock("20:00"), stop: clock("04:00") };
        assert_eq!(said(&grid), ["Start Sun at 20:00", "Stop Mon at 04:00"]);
        assert_eq!(grid.awake(), Some(Span::hours(8)));
        assert_eq!(grid.windows(), Some(vec![Window { from: 6 * DAY + 1_200, minutes: 480 }]));
        assert_eq!(back(&grid), Some(grid));
    }

    #[test]
    fn windows_that_meet_are_one() {
        let mut grid = WeekGrid::default();
        grid.days[0] = DayPlan { start: clock("20:00"), stop: clock("08:00") };
        grid.days[1] = DayPlan { start: clock("08:00"), stop: clock("12:00") };
        assert_eq!(grid.problems(), []);
        assert_eq!(grid.awake(), Some(Span::hours(16)));
    }

    #[test]
    fn only_starts_or_only_stops_say_nothing_about_hours() {
        let mut grid = WeekGrid::default();
        assert!(grid.is_empty() && grid.schedules().is_empty());
        grid.days[2].stop = clock("19:00");
        assert_eq!((grid.awake(), back(&grid)), (None, Some(grid)));
    }

    #[test]
    fn problems_name_their_fields() {
        let parse = |fields: &[(&str, &'static str)]| {
            let fields: std::collections::BTreeMap<&str, &str> = fields.iter().copied().collect();
            WeekGrid::parse(|name| fields.get(name).copied().unwrap_or_default())
        };
        let fields = |problems: &[Problem]| problems.iter().map(|one| one.field.clone()).collect::<Vec<_>>();
        let problems = parse(&[("mon_start", "25:00"), ("tue_stop", "noon"), ("wed_start", "9:5")]).unwrap_err();
        assert_eq!(fields(&problems), ["mon_start", "tue_stop", "wed_start"]);
        assert_eq!(problems[1].message, "“noon” is not a time of day: use 00:00 to 23:59.");
        let problems = parse(&[("fri_start", "08:00"), ("fri_stop", "8:00")]).unwrap_err();
        assert_eq!(fields(&problems), ["fri_stop"]);
        let problems = parse(&[("sun_start", "20:00"), ("sun_stop", "08:00"), ("mon_start", "07:00")]).unwrap_err();
        assert_eq!(fields(&problems), ["mon_start"]);
        assert_eq!(
            problems[0].message,
            "The row of Sunday runs until 08:00 on Monday, which is after this start at 07:00 and would stop it."
        );
        assert_eq!(
            parse(&[("mon_start", " 8:30 "), ("mon_stop", "19:00")]).map(|grid| grid.days[0]),
            Ok(office().days[0])
        );
    }

    #[test]
    fn what_has_another_shape_is_no_week() {
        let cron = |text: &str| Trigger::Cron(Cron::parse(text).unwrap());
        let of = |all: &[(Action, &str)]| {
            let all: Vec<(Action, Trigger)> = all.iter().map(|(action, text)| (*action, cron(text))).collect();
            WeekGrid::of(all.iter().map(|(action, trigger)| (*action, trigger)))
        };
        assert_eq!(of(&[(Action::Start, "30 8 * * MON-FRI"), (Action::Stop, "0 19 * * MON-FRI")]), Some(office()));
        assert!(of(&[(Action::Stop, "0 19 * * *")]).is_some_and(|grid| grid.days.iter().all(|day| day.stop.is_some())));
        for text in ["0 8 1 * *", "0 8 * 3 *", "*/15 * * * *", "0 8-18 * * *"] {
            assert_eq!(of(&[(Action::Start, text)]), None, "{text}");
        }
        // Two starts on one day have no row.
        assert_eq!(of(&[(Action::Start, "0 8 * * MON"), (Action::Start, "0 13 * * MON")]), None);
        assert_eq!(of(&[(Action::MinNodes(1), "0 8 * * MON")]), None);
    }

    fn grids() -> impl Strategy<Value = WeekGrid> {
        let time = || proptest::option::weighted(0.6, (0u16..48).prop_map(|half| Clock(half * 30)));
        let day = (time(), time()).prop_map(|(start, stop)| DayPlan { start, stop });
        proptest::array::uniform7(day).prop_map(|days| WeekGrid { days })
    }

    /// Whether it runs at that minute of the week, by going through the schedules minute by minute.
    fn runs(grid: &WeekGrid) -> u32 {
        let events = grid.events();
        let mut is_on = false;
        let mut count = 0;
        for round in 0..2 {
            for minute in 0..WEEK {
                if events.contains(&(minute, true)) {
                    is_on = true;
                } else if events.contains(&(minute, false)) {
                    is_on = false;
                }
                count += u32::from(round == 1 && is_on);
            }
        }
        count
    }

    proptest! {
        /// A week becomes schedules; what comes back from them makes the same schedules.
        #[test]
        fn a_week_comes_back_from_its_schedules(grid in grids()) {
            prop_assume!(grid.problems().is_empty());
            prop_assert!(grid.schedules().len() <= 14);
            if let Some(again) = back(&grid) {
                prop_assert_eq!(again.schedules(), grid.schedules());
            }
            let is_plain = grid.days.iter().all(|day| match (day.start, day.stop) {
                (None, None) => true,
                (Some(start), Some(stop)) => start < stop,
                _ => false,
            });
            if is_plain {
                prop_assert_eq!(back(&grid), Some(grid));
            }
        }

        /// The hours are what a clock would count.
        #[test]
        fn the_hours_are_what_a_clock_counts(grid in grids()) {
            prop_assume!(grid.problems().is_empty());
            if let Some(awake) = grid.awake() {
                prop_assert_eq!(awake, Span::minutes(runs(&grid)));
            }
        }

        #[test]
        fn any_text_is_a_time_or_refused(text in any::<String>()) {
            if let Ok(clock) = Clock::parse(&text) {
                prop_assert_eq!(Clock::parse(&clock.to_string()), Ok(clock));
            }
        }
    }
}
