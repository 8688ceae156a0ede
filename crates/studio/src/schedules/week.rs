//! The weekly grid of an instance: which of its schedules make it, and how it is said.

use atelier_domain::compute::ScheduleId;
use atelier_domain::schedule::recurrence::Parts;
use atelier_domain::schedule::week::{DayPlan, WeekGrid};
use atelier_domain::schedule::{Action, Cron, Frequency, Schedule, StopJobs, Timetable, Trigger, Weekday, Zone};

use crate::schedules::commands::NewSchedule;

/// A week, the zone of its clocks, and what its stops do to running jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedWeek {
    pub grid: WeekGrid,
    /// Where the clock hangs.
    pub zone: Zone,
    pub jobs: StopJobs,
}

impl PlannedWeek {
    pub fn schedules(&self) -> Vec<NewSchedule> {
        let make = |(action, recurrence)| {
            // A weekly recurrence needs no start, so it always has a timetable.
            let timetable = Timetable::new(Trigger::Recurrence(recurrence), self.zone.clone(), None).ok()?;
            let jobs = if action == Action::Stop { self.jobs } else { StopJobs::Now };
            Some(NewSchedule { action, timetable, jobs })
        };
        self.grid.schedules().into_iter().filter_map(make).collect()
    }
}

/// Finds the week in an instance's schedules: what it is, and which of them make it; the others are rules
/// beside it. Those that are disabled count only if all are.
pub fn find_week(schedules: &[(ScheduleId, Schedule)]) -> Option<(PlannedWeek, Vec<ScheduleId>)> {
    let is_any_enabled = schedules.iter().any(|(_, schedule)| schedule.is_enabled);
    let weekly: Vec<&(ScheduleId, Schedule)> = schedules
        .iter()
        .filter(|(_, schedule)| schedule.is_enabled || !is_any_enabled)
        .filter(|(_, schedule)| schedule.timetable.start().is_none() && grid_of(&[schedule]).is_some())
        .collect();
    let zone = weekly.first()?.1.timetable.zone().clone();
    let mut chosen: Vec<&(ScheduleId, Schedule)> =
        weekly.into_iter().filter(|(_, schedule)| *schedule.timetable.zone() == zone).collect();
    // What does not fit beside the others is a rule: the newest first, since the week was there before it.
    let grid = loop {
        let (all, jobs) = (chosen.iter().map(|(_, one)| one).collect::<Vec<_>>(), jobs_of(&chosen));
        match grid_of(&all).filter(|_| jobs.is_some()) {
            Some(grid) => break grid,
            None => drop(chosen.pop()?),
        }
    };
    let jobs = jobs_of(&chosen)?;
    let ids = chosen.into_iter().map(|(id, _)| *id).collect();
    Some((PlannedWeek { grid, zone, jobs }, ids))
}

fn grid_of(schedules: &[&Schedule]) -> Option<WeekGrid> {
    WeekGrid::of(schedules.iter().map(|schedule| (schedule.action, schedule.timetable.trigger())))
}

/// What all stops do to running jobs, if they do the same.
fn jobs_of(schedules: &[&(ScheduleId, Schedule)]) -> Option<StopJobs> {
    let mut stops = schedules.iter().filter(|(_, schedule)| schedule.action == Action::Stop).map(|(_, one)| one.jobs);
    let first = stops.next().unwrap_or_default();
    stops.all(|jobs| jobs == first).then_some(first)
}

/// As people say it: `Workdays 08:30 to 18:00`, `Mon–Thu 08:30 to 18:00, Fri 08:30 to 16:00`. Empty for an
/// empty week.
pub fn say_week(grid: &WeekGrid) -> String {
    let mut by_hours: Vec<(DayPlan, Vec<usize>)> = Vec::new();
    for (day, plan) in grid.days.iter().enumerate().filter(|(_, plan)| **plan != DayPlan::default()) {
        match by_hours.iter_mut().find(|(known, _)| known == plan) {
            Some((_, days)) => days.push(day),
            None => by_hours.push((*plan, vec![day])),
        }
    }
    let say = |(plan, days): &(DayPlan, Vec<usize>)| {
        let hours = match (plan.start, plan.stop) {
            (Some(start), Some(stop)) => format!("{start} to {stop}"),
            (Some(start), None) => format!("from {start}"),
            (None, Some(stop)) => format!("until {stop}"),
            (None, None) => String::new(),
        };
        format!("{} {hours}", say_days(days))
    };
    by_hours.iter().map(say).collect::<Vec<_>>().join(", ")
}

fn say_days(days: &[usize]) -> String {
    match days {
        [0, 1, 2, 3, 4] => return "Workdays".to_owned(),
        [0, 1, 2, 3, 4, 5, 6] => return "Every day".to_owned(),
        [5, 6] => return "Weekends".to_owned(),
        _ => {}
    }
    let days: Vec<Weekday> = days.iter().map(|day| Weekday::ALL[*day]).collect();
    runs(&days, "–", ", ")
}

/// A timetable as a cron expression, if it can be one.
pub fn as_cron(timetable: &Timetable) -> Option<String> {
    let parts = match timetable.trigger() {
        Trigger::Cron(cron) => return Some(cron.as_str().to_owned()),
        Trigger::Recurrence(recurrence) => Parts::from(recurrence.clone()),
    };
    let list = |numbers: &[i64]| numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let days = match parts.frequency {
        Frequency::Day => "*".to_owned(),
        Frequency::Week => runs(&parts.weekdays, "-", ",").to_uppercase(),
        Frequency::Minute | Frequency::Hour | Frequency::Month => return None,
    };
    let text = format!("{} {} * * {days}", list(&parts.minutes), list(&parts.hours));
    (parts.interval == 1 && timetable.start().is_none() && Cron::parse(&text).is_ok()).then_some(text)
}

/// Three and more neighbours as `Mon–Fri`, others one by one.
fn runs(days: &[Weekday], to: &str, and: &str) -> String {
    let place = |day: &Weekday| Weekday::ALL.iter().position(|known| known == day).unwrap_or_default();
    let is_run = days.len() > 2 && days.windows(2).all(|pair| place(&pair[1]) == place(&pair[0]) + 1);
    match (days.first(), days.last()) {
        (Some(first), Some(last)) if is_run => [first.short(), to, last.short()].concat(),
        _ => days.iter().map(|day| day.short()).collect::<Vec<_>>().join(and),
    }
}

#[cfg(test)]
mod tests {
    use atelier_domain::Timestamp;

    use super::*;

    fn zone() -> Zone {
        Zone::parse("Europe/Berlin").expect("a zone")
    }

    fn plan() -> PlannedWeek {
        let fields = |name: &str| match name {
            "fri_stop" => "16:00",
            name if name.starts_with("sat") || name.starts_with("sun") => "",
            name if name.ends_with("start") => "08:30",
            _ => "18:00",
        };
        PlannedWeek { grid: WeekGrid::parse(fields).expect("a week"), zone: zone(), jobs: StopJobs::Skip }
    }

    fn saved(plan: &PlannedWeek) -> Vec<(ScheduleId, Schedule)> {
        let make = |(index, new): (usize, NewSchedule)| {
            let schedule = Schedule::new(new.action, new.timetable, Timestamp(0)).with_jobs(new.jobs);
            (ScheduleId(index as u64 + 1), schedule)
        };
        plan.schedules().into_iter().enumerate().map(make).collect()
    }

    fn cron(action: Action, text: &str) -> Schedule {
        let trigger = Trigger::Cron(Cron::parse(text).expect("an expression"));
        Schedule::new(action, Timetable::new(trigger, zone(), None).expect("a timetable"), Timestamp(0))
    }

    #[test]
    fn a_week_is_found_in_its_schedules_and_a_rule_beside_it_stays_one() {
        let mut schedules = saved(&plan());
        assert_eq!(find_week(&schedules), Some((plan(), (1..=3).map(ScheduleId).collect())));
        for (id, rule) in [(8, "0 12 * * MON"), (9, "0 22 1 * *"), (10, "*/15 * * * *")] {
            schedules.push((ScheduleId(id), cron(Action::Stop, rule)));
            assert_eq!(find_week(&schedules), Some((plan(), (1..=3).map(ScheduleId).collect())), "{rule}");
        }
        assert_eq!(find_week(&[]), None);
        assert_eq!(find_week(&[(ScheduleId(1), cron(Action::Start, "0 8 1 * *"))]), None);
    }

    #[test]
    fn stops_that_do_otherwise_to_jobs_are_rules() {
        let mut schedules = saved(&plan());
        schedules[2].1.jobs = StopJobs::Now;
        let (found, ids) = find_week(&schedules).expect("a week");
        assert_eq!((found.jobs, ids.len()), (StopJobs::Skip, 2));
    }

    #[test]
    fn paused_schedules_still_show_their_week() {
        let mut schedules: Vec<_> = saved(&plan()).into_iter().map(|(id, one)| (id, one.disabled())).collect();
        assert_eq!(find_week(&schedules).map(|(found, _)| found), Some(plan()));
        schedules[0].1.is_enabled = true;
        assert_eq!(find_week(&schedules).map(|(_, ids)| ids), Some(vec![ScheduleId(1)]));
    }

    #[test]
    fn weeks_are_said_and_written_as_cron() {
        assert_eq!(say_week(&plan().grid), "Mon–Thu 08:30 to 18:00, Fri 08:30 to 16:00");
        let say = |fields: &'static [(&str, &str)]| {
            let of = |name: &str| fields.iter().find(|(field, _)| *field == name).map_or("", |(_, text)| *text);
            say_week(&WeekGrid::parse(of).expect("a week"))
        };
        assert_eq!(say(&[("mon_stop", "20:00"), ("wed_stop", "20:00")]), "Mon, Wed until 20:00");
        assert_eq!(say(&[("sat_start", "9:00"), ("sun_start", "9:00")]), "Weekends from 09:00");
        assert_eq!(say(&[]), "");
        let all: Vec<Option<String>> =
            saved(&plan()).iter().map(|(_, schedule)| as_cron(&schedule.timetable)).collect();
        assert_eq!(all, ["30 8 * * MON-FRI", "0 16 * * FRI", "0 18 * * MON-THU"].map(|text| Some(text.to_owned())));
    }
}
