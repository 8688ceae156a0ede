//! Weeks, rules and idle times as they are typed, and back.

use atelier_domain::fields::{DAYS, Fields};
use atelier_domain::schedule::{Action, StopJobs, WeekGrid, Weekday, Zone};
use atelier_domain::text::Problem;

use crate::schedules::commands::NewSchedule;
use crate::schedules::request::{self, action_of, timetable_of};
use crate::schedules::week::PlannedWeek;
use crate::typed::{Problems, whole};

/// The hours that are proposed.
const PROPOSED: (&str, &str) = ("08:30", "18:00");
/// How many minutes a stop waits for jobs, unless somebody says otherwise.
const PROPOSED_DRAIN: &str = "60";

/// Reads the grid; every problem beside its field.
pub fn week_of(fields: &Fields) -> Result<PlannedWeek, Vec<Problem>> {
    let mut problems = Problems::default();
    let zone = problems.take(Zone::parse(fields.get("time_zone")));
    let jobs = problems.take(jobs_of(fields));
    for day in DAYS {
        if matches!(fields.day(day), (true, "", "")) {
            let message = "Give a start, a stop or both, or take the tick away.";
            problems.0.push(Problem::new([day, "_start"].concat(), message));
        }
    }
    // What stands beside a box that is not ticked does not count.
    let of = |name: &str| if fields.is_on(&name[..3.min(name.len())]) { fields.get(name) } else { "" };
    let grid = WeekGrid::parse(of).map_err(|more| problems.0.extend(more)).ok();
    match (grid, zone, jobs) {
        (Some(grid), Some(zone), Some(jobs)) if problems.0.is_empty() => Ok(PlannedWeek { grid, zone, jobs }),
        _ => Err(problems.0),
    }
}

/// Reads a rule: what it does, when by cron, where the clock hangs, and what a stop does to jobs.
pub fn rule_of(fields: &Fields) -> Result<NewSchedule, Vec<Problem>> {
    let mut problems = Problems::default();
    let action = problems.take(action_of(fields.get("action")));
    let timetable = timetable_of(Some(fields.get("cron")), None, Some(fields.get("time_zone")), None);
    let timetable = timetable.map_err(|more| problems.0.extend(more)).ok();
    let jobs = match action {
        Some(Action::Stop) => problems.take(jobs_of(fields)),
        _ => Some(StopJobs::Now),
    };
    let (Some(action), Some(timetable), Some(jobs)) = (action, timetable, jobs) else { return Err(problems.0) };
    Ok(NewSchedule { action, timetable, jobs })
}

/// What a stop does to running jobs: `jobs`, and minutes in `drain` if it waits for them.
pub fn jobs_of(fields: &Fields) -> Result<StopJobs, Problem> {
    let wanted = fields.get("jobs");
    let minutes = match wanted {
        "drain" => Some(whole("drain", "The longest wait in minutes", fields.get("drain"))?),
        _ => None,
    };
    request::jobs_of(Some(wanted).filter(|wanted| !wanted.is_empty()), minutes, "drain")
}

/// After how many minutes without activity it stops; 0 if the box is not ticked.
pub fn idle_of(fields: &Fields) -> Result<u32, Problem> {
    if !fields.is_on("idle") {
        return Ok(0);
    }
    match whole("idle_minutes", "The idle time in minutes", fields.get("idle_minutes"))? {
        0 => {
            Err(Problem::new("idle_minutes", "After 0 minutes nothing could run. Take the tick away to switch it off."))
        }
        minutes => Ok(minutes),
    }
}

/// The week that is proposed to who has none.
pub fn workdays(zone: &str) -> Fields {
    let mut fields = Fields::default();
    fields.set("time_zone", zone);
    for (index, day) in DAYS.into_iter().enumerate() {
        fields.set_day(day, index < 5, PROPOSED.0, PROPOSED.1);
    }
    fields.set("jobs", "now");
    fields.set("drain", PROPOSED_DRAIN);
    fields
}

/// A week as it stands in the form.
pub fn fields_of(week: &PlannedWeek) -> Fields {
    let mut fields = workdays(week.zone.as_str());
    for (day, plan) in DAYS.into_iter().zip(week.grid.days) {
        let said =
            |clock: Option<atelier_domain::schedule::Clock>| clock.map(|clock| clock.to_string()).unwrap_or_default();
        match (plan.start, plan.stop) {
            // The proposal stays beside the box, for who ticks it.
            (None, None) => fields.set_day(day, false, PROPOSED.0, PROPOSED.1),
            (start, stop) => fields.set_day(day, true, &said(start), &said(stop)),
        }
    }
    set_jobs(&mut fields, week.jobs);
    fields
}

/// Puts what a stop does to jobs into its fields.
pub fn set_jobs(fields: &mut Fields, jobs: StopJobs) {
    fields.set("jobs", jobs.key());
    fields.set("drain", PROPOSED_DRAIN);
    if let StopJobs::Drain(span) = jobs {
        fields.set("drain", (span.as_millis() / 60_000).to_string());
    }
}

/// The whole name of a day, by its field.
pub fn day_name(day: &str) -> &'static str {
    let place = DAYS.iter().position(|known| *known == day).unwrap_or_default();
    atelier_domain::schedule::week::name(Weekday::ALL[place])
}

#[cfg(test)]
mod tests {
    use atelier_domain::time::Span;

    use super::*;
    use crate::schedules::week::say_week;

    fn wrong<T: std::fmt::Debug>(result: Result<T, Vec<Problem>>) -> Vec<String> {
        result.expect_err("refused").into_iter().map(|problem| problem.field).collect()
    }

    #[test]
    fn the_proposal_is_a_week_and_comes_back_as_it_was() {
        let mut fields = workdays("Europe/Berlin");
        let week = week_of(&fields).expect("a week");
        assert_eq!(say_week(&week.grid), "Workdays 08:30 to 18:00");
        assert_eq!(fields_of(&week), fields);
        fields.set("jobs", "drain");
        fields.set("drain", "90");
        fields.set_day("sat", true, "", "12:00");
        let week = week_of(&fields).expect("a week");
        assert_eq!(week.jobs, StopJobs::Drain(Span::minutes(90)));
        assert_eq!(fields_of(&week), fields);
    }

    #[test]
    fn what_is_not_ticked_does_not_count_and_what_is_must_say_something() {
        let mut fields = workdays("UTC");
        fields.set_day("sun", false, "nonsense", "25:00");
        assert!(week_of(&fields).is_ok());
        fields.set_day("sun", true, "nonsense", "25:00");
        fields.set_day("sat", true, "", "");
        fields.set("time_zone", "Mars/Olympus");
        fields.set("jobs", "drain");
        fields.set("drain", "2000");
        assert_eq!(wrong(week_of(&fields)), ["time_zone", "drain", "sat_start", "sun_start", "sun_stop"]);
    }

    #[test]
    fn a_rule_is_read_with_all_that_is_wrong() {
        let rule = [("action", "stop"), ("cron", "0 22 * * FRI"), ("time_zone", "UTC"), ("jobs", "skip")];
        let rule = rule_of(&rule.into_iter().collect()).expect("a rule");
        assert_eq!((rule.action, rule.jobs), (Action::Stop, StopJobs::Skip));
        let nonsense: Fields = [("action", "dance"), ("cron", "@daily"), ("time_zone", "")].into_iter().collect();
        assert_eq!(wrong(rule_of(&nonsense)), ["action", "cron", "time_zone"]);
    }

    #[test]
    fn no_idle_time_is_none_and_zero_is_a_mistake() {
        let of = |pairs: &[(&str, &str)]| idle_of(&pairs.iter().copied().collect());
        assert_eq!(of(&[("idle_minutes", "90")]), Ok(0));
        assert_eq!(of(&[("idle", "on"), ("idle_minutes", "90")]), Ok(90));
        for typed in ["0", "", "soon", "-5"] {
            assert!(of(&[("idle", "on"), ("idle_minutes", typed)]).is_err(), "{typed}");
        }
    }
}
