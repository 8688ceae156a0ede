//! Instants as people say them, in their own time zone.

use atelier_domain::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp as Instant, Zoned};

const MINUTE: i64 = 60_000;

/// Says when something was, as briefly as it stays clear: "now", "2 min ago", "14:18", "yesterday", "Mon
/// 17:40", "3 March", "3 March 2025". What lies ahead is said by day and clock.
pub fn relative(at: Timestamp, now: Timestamp, zone: &str) -> String {
    let (then, today) = (local(at, zone), local(now, zone));
    let past = now.0.saturating_sub(at.0);
    let days = days_between(then.date(), today.date());
    match (past, days) {
        // Clocks of two machines differ by a little; a minute ahead is no prophecy.
        (-60_000..MINUTE, _) => "now".to_owned(),
        (MINUTE..3_600_000, _) => format!("{} min ago", past / MINUTE),
        (_, 0) => then.strftime("%H:%M").to_string(),
        (_, 1) => "yesterday".to_owned(),
        (_, -1) => then.strftime("tomorrow %H:%M").to_string(),
        (_, -6..=6) => then.strftime("%a %H:%M").to_string(),
        _ if then.year() == today.year() => then.strftime("%-d %B").to_string(),
        _ => then.strftime("%-d %B %Y").to_string(),
    }
}

/// Says an instant exactly, with its zone: "Tuesday 3 March 2026, 14:18:09 Europe/Berlin".
pub fn exact(at: Timestamp, zone: &str) -> String {
    let then = local(at, zone);
    let name = then.time_zone().iana_name().unwrap_or("UTC").to_owned();
    format!("{} {name}", then.strftime("%A %-d %B %Y, %H:%M:%S"))
}

/// Says day and clock without the zone, for lists of events: "3 March 2026, 14:18".
pub fn date_and_time(at: Timestamp, zone: &str) -> String {
    local(at, zone).strftime("%-d %B %Y, %H:%M").to_string()
}

/// The day as a heading over events: "Today", "Yesterday", "Monday 2 March", "3 March 2025".
pub fn day(at: Timestamp, now: Timestamp, zone: &str) -> String {
    let (then, today) = (local(at, zone), local(now, zone));
    match days_between(then.date(), today.date()) {
        0 => "Today".to_owned(),
        1 => "Yesterday".to_owned(),
        _ if then.year() == today.year() => then.strftime("%A %-d %B").to_string(),
        _ => then.strftime("%-d %B %Y").to_string(),
    }
}

/// The clock alone: "14:18".
pub fn time_of_day(at: Timestamp, zone: &str) -> String {
    local(at, zone).strftime("%H:%M").to_string()
}

/// The clock to the second, for what did not take long: "14:18:09".
pub fn second_of_day(at: Timestamp, zone: &str) -> String {
    local(at, zone).strftime("%H:%M:%S").to_string()
}

/// The part of the day for a greeting: "Good morning", "Good afternoon", "Good evening".
pub fn greeting(now: Timestamp, zone: &str) -> &'static str {
    match local(now, zone).hour() {
        4..12 => "Good morning",
        12..18 => "Good afternoon",
        _ => "Good evening",
    }
}

/// When the day of that instant began there.
pub fn midnight(now: Timestamp, zone: &str) -> Timestamp {
    local(now, zone).start_of_day().map_or(now, |start| Timestamp(start.timestamp().as_millisecond()))
}

/// Reads what `<input type="datetime-local">` sends, in that zone: `2026-03-19T19:30`. A time that a change
/// of clocks leaves out is the one after the gap.
pub fn parse_local(text: &str, zone: &str) -> Option<Timestamp> {
    let typed: jiff::civil::DateTime = text.trim().parse().ok()?;
    let zoned = typed.to_zoned(TimeZone::get(zone).unwrap_or(TimeZone::UTC)).ok()?;
    Some(Timestamp(zoned.timestamp().as_millisecond()))
}

/// The same the other way round, to the minute.
pub fn typed_local(at: Timestamp, zone: &str) -> String {
    local(at, zone).strftime("%Y-%m-%dT%H:%M").to_string()
}

/// The instant in RFC 3339, in UTC, for machines.
pub fn rfc3339(at: Timestamp) -> String {
    instant(at).to_string()
}

/// Instants beyond what calendars know are shown as the nearest that they do.
fn instant(at: Timestamp) -> Instant {
    Instant::from_millisecond(at.0).unwrap_or(if at.0 < 0 { Instant::MIN } else { Instant::MAX })
}

fn local(at: Timestamp, zone: &str) -> Zoned {
    instant(at).to_zoned(TimeZone::get(zone).unwrap_or(TimeZone::UTC))
}

/// Calendar days from the first to the second; 0 also if the calendar cannot say.
fn days_between(from: Date, until: Date) -> i32 {
    from.until(until).map_or(0, |span| span.get_days())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp(text.parse::<Instant>().unwrap().as_millisecond())
    }

    #[test]
    fn instants_are_said_as_people_say_them() {
        // A Thursday, 14:20 in Berlin.
        let now = at("2026-03-19T13:20:00Z");
        for (then, said) in [
            ("2026-03-19T13:20:00Z", "now"),
            ("2026-03-19T13:20:30Z", "now"),
            ("2026-03-19T13:19:01Z", "now"),
            ("2026-03-19T13:19:00Z", "1 min ago"),
            ("2026-03-19T13:17:30Z", "2 min ago"),
            ("2026-03-19T12:20:01Z", "59 min ago"),
            ("2026-03-19T12:20:00Z", "13:20"),
            ("2026-03-18T23:00:00Z", "00:00"),
            ("2026-03-18T22:59:59Z", "yesterday"),
            ("2026-03-17T23:00:00Z", "yesterday"),
            ("2026-03-16T16:40:00Z", "Mon 17:40"),
            ("2026-03-13T12:00:00Z", "Fri 13:00"),
            ("2026-03-12T12:00:00Z", "12 March"),
            ("2026-03-03T12:00:00Z", "3 March"),
            ("2025-03-03T12:00:00Z", "3 March 2025"),
            ("2026-03-19T17:00:00Z", "18:00"),
            ("2026-03-20T07:30:00Z", "tomorrow 08:30"),
            ("2026-03-22T07:30:00Z", "Sun 08:30"),
            ("2026-04-22T07:30:00Z", "22 April"),
        ] {
            assert_eq!(relative(at(then), now, "Europe/Berlin"), said, "{then}");
        }
    }

    #[test]
    fn minutes_win_over_midnight() {
        assert_eq!(relative(at("2026-03-18T23:55:00Z"), at("2026-03-19T00:05:00Z"), "UTC"), "10 min ago");
    }

    #[test]
    fn the_exact_time_names_its_zone() {
        let then = at("2026-03-03T13:18:09Z");
        assert_eq!(exact(then, "Europe/Berlin"), "Tuesday 3 March 2026, 14:18:09 Europe/Berlin");
        assert_eq!(exact(then, "Mars/Olympus"), "Tuesday 3 March 2026, 13:18:09 UTC");
        assert_eq!(date_and_time(then, "Europe/Berlin"), "3 March 2026, 14:18");
        assert_eq!(time_of_day(then, "Europe/Berlin"), "14:18");
        assert_eq!(rfc3339(then), "2026-03-03T13:18:09Z");
    }

    #[test]
    fn days_make_headings() {
        let now = at("2026-03-19T13:20:00Z");
        for (then, said) in [
            ("2026-03-19T01:00:00Z", "Today"),
            ("2026-03-18T01:00:00Z", "Yesterday"),
            ("2026-03-02T12:00:00Z", "Monday 2 March"),
            ("2025-12-31T12:00:00Z", "31 December 2025"),
        ] {
            assert_eq!(day(at(then), now, "Europe/Berlin"), said);
        }
    }

    #[test]
    fn what_a_field_for_times_sends_is_read_in_the_zone() {
        let zone = "Europe/Berlin";
        let then = at("2026-03-19T18:30:00Z");
        assert_eq!(parse_local(" 2026-03-19T19:30 ", zone), Some(then));
        assert_eq!(parse_local(&typed_local(then, zone), zone), Some(then));
        // 02:30 does not exist on that night.
        assert_eq!(parse_local("2026-03-29T02:30", zone), Some(at("2026-03-29T01:30:00Z")));
        for text in ["", "19:30", "tomorrow", "2026-13-01T00:00", "2026-03-19T19:30Z"] {
            assert_eq!(parse_local(text, zone), None, "{text}");
        }
    }

    #[test]
    fn the_ends_of_time_do_not_panic() {
        for end in [Timestamp(i64::MIN), Timestamp(i64::MAX)] {
            for other in [Timestamp(0), Timestamp(i64::MIN), Timestamp(i64::MAX)] {
                assert!(!relative(end, other, "Europe/Berlin").is_empty());
                assert!(!exact(end, "Pacific/Apia").is_empty());
                assert!(!rfc3339(end).is_empty());
            }
        }
    }

    #[test]
    fn greetings_follow_the_local_clock() {
        let now = at("2026-03-19T10:30:00Z");
        assert_eq!(greeting(now, "Europe/London"), "Good morning");
        assert_eq!(greeting(now, "Asia/Kolkata"), "Good afternoon");
        assert_eq!(greeting(now, "Asia/Tokyo"), "Good evening");
    }
}
