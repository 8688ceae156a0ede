//! What schedules are going to do: the next times in two zones, what they cost, and what a cron expression
//! says.

use atelier_domain::compute::size::Price;
use atelier_domain::schedule::{Action, Cron, Note, Previewed, Schedule, Timetable, Trigger, Zone};
use atelier_domain::text::Problem;
use atelier_domain::time::Span;
use atelier_domain::{Money, Timestamp};

use crate::schedules::awake::awake_a_month;
use crate::schedules::commands::NewSchedule;

pub const SHOWN: usize = 5;

/// One time at which something happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextTime {
    pub at: Timestamp,
    pub action: Action,
    /// What a clock in the schedule's zone shows then, with its zone: `Mon 08:30`, `Europe/Berlin`.
    pub there: (String, String),
    /// The day and the clock where the viewer is; empty if that is the same.
    pub here: String,
    /// What is unusual about it.
    pub note: Option<String>,
    /// Whether the clocks have to do with it.
    pub is_about_clocks: bool,
    pub is_skipped: bool,
}

/// One schedule, saved or not.
#[derive(Clone, Debug)]
pub struct Source {
    pub new: NewSchedule,
    /// Only later times count.
    pub since: Timestamp,
    /// The one time that is left out.
    pub dismissed: Option<Timestamp>,
}

impl Source {
    /// One that is saved, if it acts at all.
    pub fn saved(schedule: &Schedule) -> Option<Self> {
        let Schedule { action, timetable, jobs, since, dismissed, is_enabled } = schedule.clone();
        is_enabled.then_some(Self { new: NewSchedule { action, timetable, jobs }, since, dismissed })
    }

    /// One that would be.
    pub const fn typed(new: NewSchedule) -> Self {
        Self { new, since: Timestamp(0), dismissed: None }
    }
}

/// The next times of all of them together, as somebody in the zone `here` sees them.
pub fn next_times(sources: &[Source], kept: Option<(Timestamp, &str)>, here: &Zone, now: Timestamp) -> Vec<NextTime> {
    let mut times: Vec<NextTime> = Vec::new();
    for source in sources {
        let timetable = &source.new.timetable;
        for previewed in timetable.preview_with(SHOWN + 1, now.max(source.since), here) {
            times.push(of(&previewed, source, timetable, kept, here));
        }
    }
    if let Some((until, by)) = kept {
        let (local, _) = here.shown(until);
        times.push(NextTime {
            at: until,
            action: Action::Stop,
            there: (short(&local.to_string()), here.as_str().to_owned()),
            here: String::new(),
            note: Some(format!("put off by {by}")),
            is_about_clocks: false,
            is_skipped: false,
        });
    }
    // A stop at the instant of a start does not act.
    times.sort_by_key(|time| (time.at, time.action.rank()));
    times.truncate(SHOWN);
    times
}

fn of(
    previewed: &Previewed,
    source: &Source,
    timetable: &Timetable,
    kept: Option<(Timestamp, &str)>,
    here: &Zone,
) -> NextTime {
    let firing = &previewed.firing;
    let is_kept = kept.filter(|(until, _)| source.new.action == Action::Stop && firing.at < *until);
    let is_dismissed = source.dismissed == Some(firing.at);
    let note = match (is_kept, is_dismissed) {
        (Some((_, by)), _) => Some(format!("left out: {by} keeps it running past it")),
        (None, true) => Some("skipped".to_owned()),
        (None, false) => previewed.explanation.clone(),
    };
    let is_same = timetable.zone() == here;
    NextTime {
        at: firing.at,
        action: source.new.action,
        there: (short(&firing.local.to_string()), timetable.zone().as_str().to_owned()),
        here: match is_same {
            true if here.as_str() == "UTC" => String::new(),
            true => format!("UTC {}", utc(firing.at)),
            false => short(&previewed.there.to_string()),
        },
        note,
        is_about_clocks: matches!(
            firing.note,
            Some(
                Note::Moved { .. }
                    | Note::OnlyFirst
                    | Note::FirstOfTwo
                    | Note::SecondOfTwo
                    | Note::ClocksChanged { .. }
            )
        ),
        is_skipped: is_kept.is_some() || is_dismissed,
    }
}

/// `Mon 30 Mar 2026 08:30` without the year, which is this one or the next.
fn short(local: &str) -> String {
    let parts: Vec<&str> = local.split(' ').collect();
    match parts[..] {
        [weekday, day, month, _, clock] => format!("{weekday} {day} {month} {clock}"),
        _ => local.to_owned(),
    }
}

fn utc(at: Timestamp) -> String {
    Zone::parse("UTC").map(|zone| zone.local(at).clock()).unwrap_or_default()
}

/// What schedules cost in a month.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwakeCost {
    /// `€182.00`, if it can be told.
    pub month: Option<String>,
    /// How that comes about, or why it cannot be told.
    pub how: String,
    pub always: String,
    /// Hours awake of a month, for the meter.
    pub hours: Option<u64>,
}

/// What these schedules cost on a size of that price.
pub fn awake_cost(sources: &[Source], price: Price, currency: &str, now: Timestamp) -> AwakeCost {
    let always = Money::of_month(price).said(currency);
    let hour = price.said(currency);
    let awake = awake_a_month(sources.iter().map(|source| &source.new), now);
    let whole = |span: Span| u64::try_from((span.as_millis() + 1_800_000) / 3_600_000).unwrap_or_default();
    let how = match awake {
        Some(awake) => format!("{} h at {hour}. Always on would be {always}.", whole(awake)),
        None if sources.is_empty() => format!("{hour} an hour while it runs. Always on would be {always} a month."),
        None => format!(
            "{hour} an hour while it runs; these schedules do not tell how long. Always on would be {always} a month."
        ),
    };
    let month = awake.map(|awake| Money::of(price, awake).said(currency));
    AwakeCost { month, how, always, hours: awake.map(whole) }
}

/// What a cron expression says, and when it fires next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CronReading {
    /// There is none yet.
    Nothing,
    /// `Mon–Fri at 08:30`, and the next times.
    Says(String, Vec<String>),
    Wrong(String),
}

/// Reads a cron expression in words.
pub fn read_cron(cron: &str, zone: &str, now: Timestamp) -> CronReading {
    if cron.trim().is_empty() {
        return CronReading::Nothing;
    }
    let read = || -> Result<Timetable, Problem> {
        Timetable::new(Trigger::Cron(Cron::parse(cron)?), Zone::parse(zone)?, None)
    };
    match read() {
        Err(problem) => CronReading::Wrong(problem.message),
        Ok(timetable) => {
            let times = timetable.preview(3, now).iter().map(|firing| short(&firing.local.to_string())).collect();
            CronReading::Says(timetable.sentence(), times)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedules::request::ScheduleRequest;

    fn at(text: &str) -> Timestamp {
        Timestamp(text.parse::<jiff::Timestamp>().expect("an instant").as_millisecond())
    }

    fn source(action: &str, cron: &str) -> Source {
        let request = ScheduleRequest {
            action: Some(action.into()),
            cron: Some(cron.into()),
            time_zone: Some("Europe/Berlin".into()),
            ..ScheduleRequest::default()
        };
        Source::typed(request.schedule().expect("a schedule"))
    }

    fn said(times: &[NextTime]) -> Vec<String> {
        let say = |time: &NextTime| {
            let note = time.note.as_deref().map(|note| format!(" ({note})")).unwrap_or_default();
            format!("{} {} = {}{note}", time.action.phrase(), time.there.0, time.here)
        };
        times.iter().map(say).collect()
    }

    #[test]
    fn the_next_times_are_said_in_both_zones_with_what_the_clocks_do() {
        let sources = [source("start", "30 8 * * MON-FRI"), source("stop", "0 18 * * MON-FRI")];
        let new_york = Zone::parse("America/New_York").expect("a zone");
        // A Friday; the clocks of Berlin go forward on Sunday.
        let times = next_times(&sources, None, &new_york, at("2026-03-27T12:00:00Z"));
        assert_eq!(
            said(&times),
            [
                "Stop Fri 27 Mar 18:00 = Fri 27 Mar 13:00",
                "Start Mon 30 Mar 08:30 = Mon 30 Mar 02:30 (first after the clocks go forward by 1 h)",
                "Stop Mon 30 Mar 18:00 = Mon 30 Mar 12:00 (first after the clocks go forward by 1 h)",
                "Start Tue 31 Mar 08:30 = Tue 31 Mar 02:30",
                "Stop Tue 31 Mar 18:00 = Tue 31 Mar 12:00",
            ]
        );
        assert!(times[1].is_about_clocks && !times[0].is_about_clocks);
    }

    #[test]
    fn what_is_left_out_says_so() {
        let mut sources = [source("stop", "0 18 * * *"), source("start", "30 8 * * *")];
        let berlin = Zone::parse("Europe/Berlin").expect("a zone");
        let now = at("2026-06-01T12:00:00Z");
        sources[0].dismissed = Some(at("2026-06-02T16:00:00Z"));
        let kept = Some((at("2026-06-01T17:00:00Z"), "Mara"));
        let times = next_times(&sources, kept, &berlin, now);
        assert_eq!(
            said(&times)[..4],
            [
                "Stop Mon 1 Jun 18:00 = UTC 16:00 (left out: Mara keeps it running past it)",
                "Stop Mon 1 Jun 19:00 =  (put off by Mara)",
                "Start Tue 2 Jun 08:30 = UTC 06:30",
                "Stop Tue 2 Jun 18:00 = UTC 16:00 (skipped)",
            ]
        );
    }

    #[test]
    fn what_a_month_costs_is_told_or_why_not() {
        let now = at("2026-06-01T12:00:00Z");
        let sources = [source("start", "0 0 * * *"), source("stop", "0 12 * * *")];
        let cost = awake_cost(&sources, Price(1_000_000), "EUR", now);
        assert!(cost.hours.is_some_and(|hours| hours.abs_diff(365) < 8), "{cost:?}");
        assert_eq!(cost.always, "€730.00");
        let cost = awake_cost(&sources[..1], Price(1_000_000), "EUR", now);
        assert!(cost.month.is_none() && cost.how.contains("do not tell how long"), "{cost:?}");
    }

    #[test]
    fn cron_is_read_in_words() {
        let now = at("2026-06-01T12:00:00Z");
        assert_eq!(read_cron(" ", "UTC", now), CronReading::Nothing);
        let CronReading::Says(words, times) = read_cron("30 8 * * MON-FRI", "Europe/Berlin", now) else {
            panic!("reads")
        };
        assert_eq!((words.as_str(), times.len()), ("Mon–Fri at 08:30, Europe/Berlin", 3));
        assert!(matches!(read_cron("@daily", "UTC", now), CronReading::Wrong(_)));
        assert!(matches!(read_cron("0 8 * * *", "Mars", now), CronReading::Wrong(_)));
    }
}
