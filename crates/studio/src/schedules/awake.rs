//! How long schedules keep something awake in a month, for what that costs.

use atelier_domain::Timestamp;
use atelier_domain::money::MONTH;
use atelier_domain::schedule::timetable::MAX_PREVIEW;
use atelier_domain::schedule::{Action, Timetable};
use atelier_domain::time::Span;

use crate::schedules::commands::NewSchedule;

/// How far is looked ahead.
const AHEAD: Span = Span::hours(35 * 24);
/// How long is counted, from the first change on: whole weeks.
const COUNTED: Span = Span::hours(28 * 24);

/// How many nodes timetables keep up, one change after another.
pub struct Averaged {
    now: Timestamp,
    until: Timestamp,
    changes: Vec<(Timestamp, u32)>,
}

impl Averaged {
    /// Nothing yet.
    pub fn from(now: Timestamp) -> Self {
        Self { now, until: now.plus(AHEAD), changes: Vec::new() }
    }

    /// From each of these times on it is so many nodes.
    pub fn add(&mut self, timetable: &Timetable, nodes: u32) {
        let firings = timetable.preview(MAX_PREVIEW, self.now);
        if let Some(last) = firings.last().filter(|_| firings.len() == MAX_PREVIEW) {
            self.until = self.until.min(last.at);
        }
        self.changes.extend(firings.iter().map(|firing| (firing.at, nodes)));
    }

    /// The time of all nodes together in an average month; none if nothing changes.
    pub fn a_month(mut self) -> Option<Span> {
        self.changes.retain(|(at, _)| *at <= self.until);
        // Of two at the same instant the larger counts, so it comes last.
        self.changes.sort_unstable();
        let &(first, _) = self.changes.first()?;
        let until = self.until.min(first.plus(COUNTED));
        let counted = self.changes.into_iter().filter(|(at, _)| *at <= until);
        let (mut since, mut nodes, mut sum) = (first, 0_u32, 0_u128);
        for (at, next) in counted.chain([(until, 0)]) {
            sum += u128::from(nodes) * u128::try_from(at.since(since).as_millis()).unwrap_or(0);
            (since, nodes) = (at, next);
        }
        let watched = u128::try_from(until.since(first).as_millis()).unwrap_or(0).max(1);
        let month = u128::from(MONTH.as_millis().unsigned_abs());
        Some(Span::millis(u64::try_from(sum * month / watched).unwrap_or(u64::MAX)))
    }
}

/// How long it is awake in an average month by these schedules alone; none if nobody can tell, since they
/// only start it or only stop it.
pub fn awake_a_month<'a>(schedules: impl IntoIterator<Item = &'a NewSchedule>, now: Timestamp) -> Option<Span> {
    let mut changes = Averaged::from(now);
    for new in schedules {
        changes.add(&new.timetable, u32::from(new.action == Action::Start));
    }
    let has = |nodes: u32| changes.changes.iter().any(|(at, to)| *at <= changes.until && *to == nodes);
    if has(0) && has(1) { changes.a_month() } else { None }
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
