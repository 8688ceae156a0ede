//! A trigger in a zone: its firings as instants, with what the clocks did to them.

use jiff::tz::{AmbiguousOffset, TimeZone};
use serde::{Deserialize, Serialize};

use super::civil::{Day, LocalTime, UtcOffset};
use super::trigger::{Pace, Trigger};
use super::week::Clock;
use crate::text::Problem;
use crate::time::{Span, Timestamp};
use crate::zone::ZoneName;

/// The most firings that one preview shows.
pub const MAX_PREVIEW: usize = 366;

/// A gap of so many seconds is no change of clocks but a day that a place left out.
const WHOLE_DAY: i32 = 86_400;

/// A zone with its rules from the built-in tz database.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Zone {
    name: ZoneName,
    rules: TimeZone,
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Zone {}

impl From<Zone> for String {
    fn from(zone: Zone) -> Self {
        zone.as_str().to_owned()
    }
}

impl TryFrom<String> for Zone {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).map_err(|problem| problem.message)
    }
}

/// What a local time means in a zone. Instants are seconds since the epoch.
enum Meaning {
    Once { at: i64 },
    Twice { first: i64 },
    Never { switch: i64, is_whole_day: bool },
}

impl Zone {
    /// Parses the field `time_zone`.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let name = ZoneName::parse(text)?;
        match jiff::tz::db().get(name.as_str()) {
            Ok(rules) => Ok(Self { name, rules }),
            Err(_) => Err(Problem::new("time_zone", format!("The time zone {} has no rules.", name.as_str()))),
        }
    }

    pub fn as_str(&self) -> &str {
        self.name.as_str()
    }

    /// What a wall clock shows at that instant; seconds are left out.
    pub fn local(&self, at: Timestamp) -> LocalTime {
        let seconds = at.0.div_euclid(1_000);
        LocalTime::from_minutes((seconds + i64::from(self.offset(seconds))).div_euclid(60))
    }

    /// The same with how far that clock is ahead of UTC.
    pub fn shown(&self, at: Timestamp) -> (LocalTime, UtcOffset) {
        (self.local(at), UtcOffset(self.offset(at.0.div_euclid(1_000))))
    }

    /// The instant at which a wall clock shows that: at the switch if it never does, the first if it does
    /// twice.
    pub fn instant(&self, local: LocalTime) -> Timestamp {
        self.start(local)
    }

    /// The first instant of a day.
    pub(crate) fn midnight(&self, year: i32, month: u8, day: u8) -> Timestamp {
        self.start(LocalTime::new(Day::of(year, month, day), 0))
    }

    /// The next instant after `after` at which a wall clock shows that time of day, if it does within two
    /// days.
    pub fn next_time(&self, clock: Clock, after: Timestamp) -> Option<Timestamp> {
        let today = self.local(after).day();
        let on = |days: i32| self.start(LocalTime::new(today.plus(days), clock.minutes()));
        (0..=2).map(on).find(|at| *at > after)
    }

    /// An instant as people say it: `19:00` today, `Tue 19:00` within a week, else with the date.
    pub fn say(&self, at: Timestamp, now: Timestamp) -> String {
        let (local, today) = (self.local(at), self.local(now));
        match local.day().0 - today.day().0 {
            0 => local.clock(),
            1..=6 => format!("{} {}", local.weekday().short(), local.clock()),
            _ => local.to_string(),
        }
    }

    /// Seconds ahead of UTC at that second. Beyond what the database covers it stays as at its end.
    fn offset(&self, seconds: i64) -> i32 {
        self.rules.to_offset(instant(seconds)).seconds()
    }

    fn meaning(&self, local: LocalTime) -> Meaning {
        let seconds = local.minutes() * 60;
        let local = jiff::tz::Offset::UTC.to_datetime(instant(seconds));
        match self.rules.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => Meaning::Once { at: seconds - i64::from(offset.seconds()) },
            AmbiguousOffset::Fold { before, .. } => Meaning::Twice { first: seconds - i64::from(before.seconds()) },
            AmbiguousOffset::Gap { before, after } => {
                let (before, after) = (before.seconds(), after.seconds());
                let switch = self.switch(seconds - i64::from(after), seconds - i64::from(before));
                Meaning::Never { switch, is_whole_day: after - before >= WHOLE_DAY }
            }
        }
    }

    /// The first second with the later offset, between one before a switch and one after it.
    fn switch(&self, mut before: i64, mut after: i64) -> i64 {
        let old = self.offset(before);
        while after - before > 1 {
            let middle = before + (after - before) / 2;
            if self.offset(middle) == old { before = middle } else { after = middle }
        }
        after
    }

    /// The instant of a start: what does not exist begins at the switch, what comes twice at the first.
    fn start(&self, local: LocalTime) -> Timestamp {
        match self.meaning(local) {
            Meaning::Once { at } | Meaning::Twice { first: at } | Meaning::Never { switch: at, .. } => millis(at),
        }
    }

    /// The next second after `seconds` at which the offset changes.
    fn next_change(&self, seconds: i64) -> Option<i64> {
        let now = self.offset(seconds);
        // Some transitions change only a name.
        let change = self.rules.following(instant(seconds)).find(|change| change.offset().seconds() != now)?;
        Some(change.timestamp().as_second())
    }
}

fn instant(seconds: i64) -> jiff::Timestamp {
    let limit = if seconds < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
    jiff::Timestamp::from_second(seconds).unwrap_or(limit)
}

const fn millis(seconds: i64) -> Timestamp {
    Timestamp(seconds * 1_000)
}

/// What the clocks did to a firing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Note {
    /// Planned for a time that the clocks skip that day; fires at the switch. Others in the same gap are in
    /// it.
    Moved {
        /// The earliest planned time that does not exist.
        planned: LocalTime,
    },
    /// The time comes twice that day, and this is the first and the only one that fires.
    OnlyFirst,
    /// The time comes twice that day and fires both times; this is the first.
    FirstOfTwo,
    /// The second of the two.
    SecondOfTwo,
    /// In a preview only: the first in the list after a change of the clocks.
    ClocksChanged {
        /// How far they went forward; back, if negative.
        minutes: i32,
    },
}

/// One time at which a schedule fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firing {
    pub at: Timestamp,
    /// What a wall clock in the schedule's zone shows then; its text is `Mon 30 Mar 2026 08:30`.
    pub local: LocalTime,
    /// How far that clock is ahead of UTC.
    pub utc_offset: UtcOffset,
    /// What is unusual about it.
    pub note: Option<Note>,
}

impl Firing {
    /// The note as words: `02:30 does not exist that day, the clocks skip it; it fires at 03:00 instead`.
    pub fn explanation(&self) -> Option<String> {
        let clock = self.local.clock();
        Some(match self.note? {
            Note::Moved { planned } => {
                format!("{} does not exist that day, the clocks skip it; it fires at {clock} instead", planned.clock())
            }
            Note::OnlyFirst => format!("{clock} comes twice that day; only the first one fires"),
            Note::FirstOfTwo => format!("{clock} comes twice that day; this is the first"),
            Note::SecondOfTwo => format!("{clock} comes twice that day; this is the second"),
            Note::ClocksChanged { minutes } if minutes * 60 >= WHOLE_DAY => {
                "first after a day that was left out".into()
            }
            Note::ClocksChanged { minutes } => {
                let way = if minutes < 0 { "back" } else { "forward" };
                format!("first after the clocks go {way} by {}", Span::minutes(minutes.unsigned_abs()))
            }
        })
    }
}

impl std::fmt::Display for Firing {
    /// `Mon 30 Mar 2026 08:30 +02:00`.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} {}", self.local, self.utc_offset)
    }
}

/// One row of a preview in two zones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Previewed {
    /// The firing, with what clocks in the schedule's zone show.
    pub firing: Firing,
    /// What a clock in the other zone shows then.
    pub there: LocalTime,
    /// How far that one is ahead of UTC.
    pub there_offset: UtcOffset,
    /// What is unusual about it.
    pub explanation: Option<String>,
}

/// A trigger, its zone and its start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Parts", try_from = "Parts")]
pub struct Timetable {
    trigger: Trigger,
    zone: Zone,
    start: Option<LocalTime>,
    /// The instant of the start, so that it is worked out once.
    start_at: Option<Timestamp>,
}

/// What is stored and sent.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    trigger: Trigger,
    time_zone: Zone,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<LocalTime>,
}

impl From<Timetable> for Parts {
    fn from(timetable: Timetable) -> Self {
        Self { trigger: timetable.trigger, time_zone: timetable.zone, start: timetable.start }
    }
}

impl TryFrom<Parts> for Timetable {
    type Error = String;

    fn try_from(parts: Parts) -> Result<Self, String> {
        Self::new(parts.trigger, parts.time_zone, parts.start).map_err(|problem| problem.message)
    }
}

impl Timetable {
    /// Puts a trigger into a zone. Nothing fires before the start, and intervals are counted from it.
    pub fn new(trigger: Trigger, zone: Zone, start: Option<LocalTime>) -> Result<Self, Problem> {
        trigger.check_start(start)?;
        let start_at = start.map(|start| zone.start(start));
        Ok(Self { trigger, zone, start, start_at })
    }

    pub const fn trigger(&self) -> &Trigger {
        &self.trigger
    }

    /// Where the clock hangs.
    pub const fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Since when, as the zone's clocks show it.
    pub const fn start(&self) -> Option<LocalTime> {
        self.start
    }

    /// The first firing later than `after`; none if there is none up to the year 2999.
    pub fn next_after(&self, after: Timestamp) -> Option<Firing> {
        // Instants before 1970 have no schedules.
        let after = after.max(Timestamp(-1));
        let after = self.start_at.map_or(after, |start| after.max(Timestamp(start.0 - 1)));
        let firing = match self.trigger.pace() {
            Pace::WallClock => self.next_on_the_wall(after),
            Pace::EveryHour => self.next_shown(after),
            Pace::Elapsed { minutes } => self.next_elapsed(after, minutes),
        };
        firing.filter(|firing| firing.local.day() <= Day::LAST)
    }

    /// The next `count` firings after `from`, at most [`MAX_PREVIEW`], with a note where the clocks changed.
    pub fn preview(&self, count: usize, from: Timestamp) -> Vec<Firing> {
        let mut offset = UtcOffset(self.zone.offset(from.0.div_euclid(1_000)));
        let mut after = from;
        let mut firings = Vec::new();
        while firings.len() < count.min(MAX_PREVIEW)
            && let Some(mut firing) = self.next_after(after)
        {
            if firing.note.is_none() && firing.utc_offset != offset {
                firing.note = Some(Note::ClocksChanged { minutes: (firing.utc_offset.0 - offset.0) / 60 });
            }
            (after, offset) = (firing.at, firing.utc_offset);
            firings.push(firing);
        }
        firings
    }

    /// The same with what clocks elsewhere show then, and the notes as words.
    pub fn preview_with(&self, count: usize, from: Timestamp, elsewhere: &Zone) -> Vec<Previewed> {
        let both = |firing: Firing| {
            let (there, there_offset) = elsewhere.shown(firing.at);
            Previewed { there, there_offset, explanation: firing.explanation(), firing }
        };
        self.preview(count, from).into_iter().map(both).collect()
    }

    /// Says it: `Mon–Fri at 08:30, Europe/Berlin`.
    pub fn sentence(&self) -> String {
        let from = self.start.map(|start| format!(", from {start}")).unwrap_or_default();
        format!("{}, {}{from}", self.trigger.sentence(), self.zone.as_str())
    }

    /// Every planned local time has one instant, in the same order, so the first local time whose instant
    /// lies ahead is the answer. Only times that come twice or never are looked at more than once.
    fn next_on_the_wall(&self, after: Timestamp) -> Option<Firing> {
        let mut from = self.zone.local(after);
        loop {
            let local = self.trigger.next_local(from, self.start)?;
            let found = match self.zone.meaning(local) {
                Meaning::Once { at } => Some((at, None)),
                Meaning::Twice { first } => Some((first, Some(Note::OnlyFirst))),
                Meaning::Never { is_whole_day: true, .. } => None,
                Meaning::Never { switch, .. } => Some((switch, Some(Note::Moved { planned: local }))),
            };
            if let Some((at, note)) = found.filter(|(at, _)| millis(*at) > after) {
                return Some(self.firing(at, note));
            }
            from = LocalTime::from_minutes(local.minutes() + 1);
        }
    }

    /// Every instant at which the wall clock shows a planned time: searched in stretches of constant offset,
    /// since going back makes the clock show earlier times again.
    fn next_shown(&self, after: Timestamp) -> Option<Firing> {
        let mut from = after.0.div_euclid(1_000) + 1;
        loop {
            let offset = i64::from(self.zone.offset(from));
            let minute = (from + offset + 59).div_euclid(60);
            let found = self.trigger.next_local(LocalTime::from_minutes(minute), self.start);
            let found = found.map(|local| local.minutes() * 60 - offset);
            match (found, self.zone.next_change(from)) {
                (Some(at), Some(change)) if at >= change => from = change,
                (Some(at), Some(_) | None) => return Some(self.firing(at, self.which_of_two(at))),
                (None, _) => return None,
            }
        }
    }

    fn next_elapsed(&self, after: Timestamp, minutes: u32) -> Option<Firing> {
        let step = Span::minutes(minutes).as_millis();
        let anchor = self.start_at.map_or(0, |start| start.0);
        // Never before the anchor: `after` is at most one millisecond earlier than the start.
        let steps = after.0.saturating_sub(anchor).div_euclid(step) + 1;
        let at = anchor.checked_add(steps.checked_mul(step)?)?.div_euclid(1_000);
        Some(self.firing(at, self.which_of_two(at)))
    }

    fn which_of_two(&self, at: i64) -> Option<Note> {
        match self.zone.meaning(self.zone.local(millis(at))) {
            Meaning::Twice { first } if at < first + 60 => Some(Note::FirstOfTwo),
            Meaning::Twice { .. } => Some(Note::SecondOfTwo),
            Meaning::Once { .. } | Meaning::Never { .. } => None,
        }
    }

    fn firing(&self, at: i64, note: Option<Note>) -> Firing {
        let at_millis = millis(at);
        Firing { at: at_millis, local: self.zone.local(at_millis), utc_offset: UtcOffset(self.zone.offset(at)), note }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cron::Cron;
    use super::super::recurrence::{Frequency, Parts as Recur, Recurrence};
    use super::*;

    fn cron(text: &str, zone: &str) -> Timetable {
        Timetable::new(Trigger::Cron(Cron::parse(text).unwrap()), Zone::parse(zone).unwrap(), None).unwrap()
    }

    fn starting(trigger: Trigger, zone: &str, start: &str) -> Timetable {
        Timetable::new(trigger, Zone::parse(zone).unwrap(), LocalTime::parse(start).ok()).unwrap()
    }

    fn at(text: &str) -> Timestamp {
        Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
    }

    fn said(timetable: &Timetable, from: &str, count: usize) -> Vec<String> {
        timetable.preview(count, at(from)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_time_in_the_gap_fires_once_at_the_switch() {
        let timetable = cron("10,40 2 * * *", "Europe/Berlin");
        let firings = timetable.preview(3, at("2026-03-28T12:00:00Z"));
        assert_eq!(firings[0].at, at("2026-03-29T01:00:00Z"));
        assert_eq!(firings[0].local.to_string(), "Sun 29 Mar 2026 03:00");
        assert_eq!(firings[0].note, Some(Note::Moved { planned: LocalTime::parse("2026-03-29T02:10").unwrap() }));
        assert_eq!(firings[1].to_string(), "Mon 30 Mar 2026 02:10 +02:00");
    }

    #[test]
    fn a_chosen_hour_that_comes_twice_fires_at_the_first() {
        let timetable = cron("30 2 * * *", "Europe/Berlin");
        assert_eq!(
            said(&timetable, "2026-10-24T12:00:00Z", 2),
            ["Sun 25 Oct 2026 02:30 +02:00", "Mon 26 Oct 2026 02:30 +01:00"]
        );
        // Asked in the second pass, the first is over.
        assert_eq!(said(&timetable, "2026-10-25T01:10:00Z", 1), ["Mon 26 Oct 2026 02:30 +01:00"]);
    }

    #[test]
    fn every_half_hour_fires_in_both_passes_and_not_in_the_gap() {
        let timetable = cron("*/30 * * * *", "Australia/Lord_Howe");
        assert_eq!(
            said(&timetable, "2026-04-04T14:00:00Z", 3),
            ["Sun 5 Apr 2026 01:30 +11:00", "Sun 5 Apr 2026 01:30 +10:30", "Sun 5 Apr 2026 02:00 +10:30"]
        );
        assert_eq!(
            said(&timetable, "2026-10-03T15:00:00Z", 2),
            ["Sun 4 Oct 2026 02:30 +11:00", "Sun 4 Oct 2026 03:00 +11:00"]
        );
        let both = cron("30 * * * *", "Europe/Berlin").preview(2, at("2026-10-25T00:00:00Z"));
        assert_eq!([both[0].note, both[1].note], [Some(Note::FirstOfTwo), Some(Note::SecondOfTwo)]);
        assert_eq!(both[1].at.since(both[0].at), Span::hours(1));
    }

    #[test]
    fn a_day_that_was_left_out_has_no_firings() {
        assert_eq!(
            said(&cron("0 8 * * *", "Pacific/Apia"), "2011-12-29T00:00:00Z", 2),
            ["Thu 29 Dec 2011 08:00 -10:00", "Sat 31 Dec 2011 08:00 +14:00"]
        );
        assert_eq!(
            said(&cron("0 8 30 12 *", "Pacific/Apia"), "2011-06-01T00:00:00Z", 1),
            ["Sun 30 Dec 2012 08:00 +14:00"]
        );
    }

    #[test]
    fn elapsed_time_does_not_mind_the_clocks() {
        let every = |n, frequency| Trigger::Recurrence(Recurrence::new(&Recur::every(n, frequency)).unwrap());
        let timetable = starting(every(90, Frequency::Minute), "Europe/Berlin", "2026-03-29T00:30");
        let firings = timetable.preview(4, Timestamp(0));
        assert!(firings.windows(2).all(|pair| pair[1].at.since(pair[0].at) == Span::minutes(90)));
        assert_eq!(firings[0].to_string(), "Sun 29 Mar 2026 00:30 +01:00");
        assert_eq!(firings[1].to_string(), "Sun 29 Mar 2026 03:00 +02:00");
    }

    #[test]
    fn nothing_fires_before_the_start() {
        let daily = || Trigger::Cron(Cron::parse("0 8 * * *").unwrap());
        let on_time = starting(daily(), "UTC", "2026-05-01T08:00");
        assert_eq!(said(&on_time, "2026-01-01T00:00:00Z", 1), ["Fri 1 May 2026 08:00 +00:00"]);
        let too_late = starting(daily(), "UTC", "2026-05-01T08:01");
        assert_eq!(said(&too_late, "2026-01-01T00:00:00Z", 1), ["Sat 2 May 2026 08:00 +00:00"]);
        // A start in the past only leaves the next time to come.
        assert_eq!(said(&on_time, "2027-01-01T08:00:00Z", 1), ["Sat 2 Jan 2027 08:00 +00:00"]);
    }

    #[test]
    fn a_start_that_does_not_exist_is_the_switch_and_one_that_comes_twice_the_first() {
        let every = || Trigger::Recurrence(Recurrence::new(&Recur::every(20, Frequency::Minute)).unwrap());
        let skipped = starting(every(), "Europe/Berlin", "2026-03-29T02:30");
        assert_eq!(skipped.next_after(Timestamp(0)).unwrap().at, at("2026-03-29T01:00:00Z"));
        let twice = starting(every(), "Europe/Berlin", "2026-10-25T02:30");
        assert_eq!(twice.next_after(Timestamp(0)).unwrap().at, at("2026-10-25T00:30:00Z"));
        let left_out = starting(every(), "Pacific/Apia", "2011-12-30T12:00");
        assert_eq!(left_out.next_after(Timestamp(0)).unwrap().at, at("2011-12-30T10:00:00Z"));
    }

    #[test]
    fn the_ends_of_time_are_no_trouble() {
        let hourly = Trigger::Recurrence(Recurrence::new(&Recur::every(1, Frequency::Hour)).unwrap());
        let zone = "Pacific/Kiritimati";
        let all = [
            cron("0 8 * * *", zone),
            cron("*/5 * 29 2 *", zone),
            starting(hourly, zone, "1970-01-01T00:00"),
            starting(Trigger::Cron(Cron::parse("0 8 * * *").unwrap()), zone, "2999-12-31T09:00"),
        ];
        for timetable in all {
            for instant in [i64::MIN, -1, 0, 253_402_300_800_000, i64::MAX] {
                let next = timetable.next_after(Timestamp(instant));
                assert!(next.is_none_or(|next| next.at.0 > instant && next.at.0 >= -1));
            }
            assert_eq!(timetable.next_after(Timestamp(i64::MAX)), None);
            assert!(timetable.preview(usize::MAX, Timestamp(0)).len() <= MAX_PREVIEW);
        }
    }

    #[test]
    fn a_timetable_survives_the_wire() {
        let monthly = concat!(
            r#"{"trigger":{"recurrence":{"frequency":"month","interval":2,"hours":[8],"minutes":[30],"#,
            r#""month_days":[1,"last"]}},"time_zone":"Europe/Berlin","start":"2026-05-01T00:00"}"#
        );
        let by_cron = r#"{"trigger":{"cron":"30 8 * * MON-FRI"},"time_zone":"UTC"}"#;
        for text in [monthly, by_cron] {
            let timetable: Timetable = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&timetable).unwrap(), text);
        }
        for (text, part) in [
            (by_cron.replace("UTC", "Mars/Olympus"), "Mars/Olympus"),
            (by_cron.replace("30 8", "61 8"), "The minute “61”"),
            (monthly.replace("[8]", "[300]"), "300 is not one of the hours"),
            (monthly.replace(r#","start":"2026-05-01T00:00""#, ""), "every 2 months is counted from it"),
            (monthly.replace("month_days", "monthDays"), "unknown field"),
        ] {
            let message = serde_json::from_str::<Timetable>(&text).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
