//! Hours by a zone's clock, as stretches of the scenario's own time. The changes of clocks come from the same
//! timetables that schedules of the product use.

use atelier_domain::schedule::{Clock, Cron, Timetable, Trigger, Weekday, Zone};
use atelier_domain::text::{and_list, shortened};
use atelier_domain::time::{Span, Timestamp};

/// Days of the week and two times of day, in a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hours {
    days: Vec<Weekday>,
    from: Clock,
    to: Clock,
    zone: Zone,
}

impl Hours {
    /// Reads the fields; the error comes with the name of its own.
    pub(super) fn read(
        days: Option<&[String]>,
        from: &str,
        to: &str,
        zone: Zone,
    ) -> Result<Self, (&'static str, String)> {
        let days = match days {
            None => Weekday::ALL[..5].to_vec(),
            Some([]) => return Err(("days", format!("Name at least one day: {}.", all_days()))),
            Some(named) => {
                let mut days = named.iter().map(|day| read_day(day)).collect::<Result<Vec<_>, _>>()?;
                days.sort_unstable();
                days.dedup();
                days
            }
        };
        let from = Clock::parse(from).map_err(|message| ("from", message))?;
        let to = Clock::parse(to).map_err(|message| ("to", message))?;
        if from == to {
            let message = format!("From {from} to {to} is no time at all. Leave the hours out for the whole day.");
            return Err(("to", message));
        }
        Ok(Self { days, from, to, zone })
    }

    /// When they begin, as a schedule of the product would have it.
    pub(crate) fn opening(&self) -> Option<Timetable> {
        self.timetable(self.from, &self.days)
    }

    pub(crate) fn closing(&self) -> Option<Timetable> {
        let next = |day: &Weekday| Weekday::ALL[(*day as usize + 1) % 7];
        let days: Vec<Weekday> =
            if self.to < self.from { self.days.iter().map(next).collect() } else { self.days.clone() };
        self.timetable(self.to, &days)
    }

    fn timetable(&self, clock: Clock, days: &[Weekday]) -> Option<Timetable> {
        let days: Vec<String> = days.iter().map(|day| day.short().to_uppercase()).collect();
        let (hour, minute) = (clock.minutes() / 60, clock.minutes() % 60);
        let cron = Cron::parse(&format!("{minute} {hour} * * {}", days.join(","))).ok()?;
        Timetable::new(Trigger::Cron(cron), self.zone.clone(), None).ok()
    }

    /// All stretches between two instants, in milliseconds after the first.
    pub(crate) fn windows(&self, start: Timestamp, millis: u64) -> Vec<(u64, u64)> {
        let Some(opening) = self.opening() else { return Vec::new() };
        let end = start.plus(Span::millis(millis));
        // The night before may reach into the first morning.
        let mut after = Timestamp(start.0.saturating_sub(2 * 86_400_000));
        let mut windows = Vec::new();
        while let Some(firing) = opening.next_after(after).filter(|firing| firing.at < end) {
            after = firing.at;
            let Some(close) = self.zone.next_time(self.to, firing.at) else { continue };
            let (from, to) = (firing.at.max(start), close.min(end));
            if from < to {
                windows
                    .push((from.since(start).as_millis().unsigned_abs(), to.since(start).as_millis().unsigned_abs()));
            }
        }
        windows
    }

    /// Whether they have begun and not ended then.
    pub(crate) fn is_open(&self, at: Timestamp) -> bool {
        !self.windows(at, 1).is_empty()
    }
}

impl std::fmt::Display for Hours {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let days: Vec<&str> = self.days.iter().map(|day| day.short()).collect();
        let days = if self.days == Weekday::ALL[..5] { "Mon–Fri".to_owned() } else { and_list(&days) };
        write!(out, "{days} {}–{}", self.from, self.to)
    }
}

fn all_days() -> String {
    let days: Vec<String> = Weekday::ALL.iter().map(|day| day.short().to_lowercase()).collect();
    and_list(&days)
}

fn read_day(text: &str) -> Result<Weekday, (&'static str, String)> {
    let found = Weekday::ALL.into_iter().find(|day| day.short().eq_ignore_ascii_case(text.trim()));
    found.ok_or_else(|| ("days", format!("“{}” is not a day: use {}.", shortened(text), all_days())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-03-27 00:00 UTC, a Friday; clocks in Berlin go forward on the Sunday after.
    const FRIDAY: Timestamp = Timestamp(1_774_569_600_000);
    const HOUR: u64 = 3_600_000;

    fn hours(days: &[&str], from: &str, to: &str) -> Hours {
        let days: Vec<String> = days.iter().map(|day| (*day).to_owned()).collect();
        Hours::read(Some(&days), from, to, Zone::parse("Europe/Berlin").unwrap()).unwrap()
    }

    #[test]
    fn windows_follow_the_clocks_of_their_zone() {
        let office = hours(&["fri", "mon"], "09:00", "17:00");
        let windows = office.windows(FRIDAY, 5 * 24 * HOUR);
        assert_eq!(windows, [(8 * HOUR, 16 * HOUR), (79 * HOUR, 87 * HOUR)]);
        assert!(office.is_open(FRIDAY.plus(Span::hours(8))) && !office.is_open(FRIDAY.plus(Span::hours(16))));
    }

    #[test]
    fn a_night_reaches_into_the_next_morning() {
        let night = hours(&["thu", "fri"], "22:00", "02:00");
        assert_eq!(night.windows(FRIDAY, 24 * HOUR), [(0, HOUR), (21 * HOUR, 24 * HOUR)]);
        let closing = night.closing().unwrap().next_after(FRIDAY).unwrap();
        assert_eq!(closing.at, FRIDAY.plus(Span::hours(1)));
    }

    #[test]
    fn what_is_no_time_is_refused_by_field() {
        let zone = || Zone::parse("UTC").unwrap();
        let read = |days: &[&str], from: &str, to: &str| {
            let days: Vec<String> = days.iter().map(|day| (*day).to_owned()).collect();
            Hours::read(Some(&days), from, to, zone()).map_err(|(field, _)| field)
        };
        assert_eq!(read(&["mon"], "9", "10:00"), Err("from"));
        assert_eq!(read(&["mon"], "09:00", "24:00"), Err("to"));
        assert_eq!(read(&["mon"], "09:00", "09:00"), Err("to"));
        assert_eq!(read(&["monday"], "09:00", "10:00"), Err("days"));
        assert_eq!(read(&[], "09:00", "10:00"), Err("days"));
    }
}
