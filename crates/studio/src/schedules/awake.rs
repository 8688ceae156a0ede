//! How long schedules keep an instance awake, for what that costs.

use atelier_domain::Timestamp;
use atelier_domain::money::MONTH;
use atelier_domain::schedule::Action;
use atelier_domain::schedule::timetable::MAX_PREVIEW;
use atelier_domain::time::Span;

use crate::schedules::commands::NewSchedule;

/// How far is looked ahead.
const AHEAD: Span = Span::hours(35 * 24);
/// How long is counted, from the first start or stop on: whole weeks.
const COUNTED: Span = Span::hours(28 * 24);

/// How long it is awake in an average month by these schedules alone; none if nobody can tell, since they
/// only start it or only stop it.
pub fn awake_a_month<'a>(schedules: impl IntoIterator<Item = &'a NewSchedule>, now: Timestamp) -> Option<Span> {
    let mut until = now.plus(AHEAD);
    let mut events: Vec<(Timestamp, bool)> = Vec::new();
    for new in schedules {
        let firings = new.timetable.preview(MAX_PREVIEW, now);
        if let Some(last) = firings.last().filter(|_| firings.len() == MAX_PREVIEW) {
            until = until.min(last.at);
        }
        events.extend(firings.iter().map(|firing| (firing.at, new.action == Action::Start)));
    }
    events.retain(|(at, _)| *at <= until);
    // Of a stop and a start at the same instant the start counts, so it comes last.
    events.sort_unstable();
    let has = |wanted: bool| events.iter().any(|(_, is_start)| *is_start == wanted);
    if !has(true) || !has(false) {
        return None;
    }
    let (first, mut is_awake) = *events.first()?;
    let until = until.min(first.plus(COUNTED));
    events.retain(|(at, _)| *at <= until);
    let (mut since, mut awake) = (first, Span::ZERO);
    for (at, is_start) in events.into_iter().chain([(until, false)]) {
        if is_awake {
            awake = awake.plus(at.since(since));
        }
        (since, is_awake) = (at, is_start);
    }
    let watched = u128::try_from(until.since(first).as_millis()).ok().filter(|watched| *watched > 0)?;
    let month = u128::try_from(MONTH.as_millis()).ok()? * u128::try_from(awake.as_millis()).ok()? / watched;
    u64::try_from(month).ok().map(Span::millis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedules::request::ScheduleRequest;

    fn hours(all: &[(&str, &str)]) -> Option<i64> {
        let make = |(action, cron): &(&str, &str)| {
            let request = ScheduleRequest {
                action: Some((*action).to_owned()),
                cron: Some((*cron).to_owned()),
                ..ScheduleRequest::default()
            };
            request.schedule().expect("a schedule")
        };
        let all: Vec<NewSchedule> = all.iter().map(make).collect();
        // A Monday.
        awake_a_month(&all, Timestamp(1_774_828_800_000)).map(|span| span.as_millis() / 3_600_000)
    }

    #[test]
    fn hours_are_counted_from_starts_to_stops() {
        let month = |share: f64| (MONTH.as_millis() as f64 / 3.6e6 * share) as i64;
        let near = |found: Option<i64>, wanted: i64| found.is_some_and(|found| (found - wanted).abs() <= 1);
        assert!(near(hours(&[("start", "0 8 * * *"), ("stop", "0 20 * * *")]), month(0.5)));
        assert!(near(hours(&[("start", "0 8 * * MON-FRI"), ("stop", "0 18 * * MON-FRI")]), month(50.0 / 168.0)));
        // A second stop changes nothing; a start at the same time as a stop wins.
        let twice = [("start", "0 8 * * *"), ("stop", "0 20 * * *"), ("stop", "0 22 * * *")];
        assert!(near(hours(&twice), month(0.5)));
        assert!(near(hours(&[("start", "0 8 * * *"), ("stop", "0 8 * * *")]), month(1.0)));
        assert_eq!(hours(&[("stop", "0 20 * * *")]), None);
        assert_eq!(hours(&[]), None);
    }
}
