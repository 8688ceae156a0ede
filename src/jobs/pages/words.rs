//! Jobs: the list, one job with its log and its files, the form that submits one, and the question before jobs are ended.

use atelier_domain::Timestamp;

/// How long something took, as people say it; to the second where minutes alone would be far off.
pub fn lasted(from: Timestamp, to: Timestamp) -> String {
    let span = to.since(from);
    let seconds = span.as_millis() / 1_000 + i64::from(span.as_millis() % 1_000 > 0);
    match (seconds / 60, seconds % 60) {
        (minutes @ 1..60, rest @ 1..) => format!("{minutes} min {rest} s"),
        _ => span.to_string(),
    }
}

/// A size in bytes, as people say it.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    let mut tenths = u128::from(count) * 10;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1_024;
        unit += 1;
    }
    match (unit, tenths) {
        (0, _) => format!("{count} B"),
        (_, tenths) if tenths >= 1_000 => format!("{} {}", tenths / 10, UNITS[unit]),
        (_, tenths) => format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use atelier_domain::Timestamp;

    #[test]
    fn times_are_said_to_the_second_where_that_matters() {
        for (millis, said) in [
            (-5, "0 s"),
            (400, "1 s"),
            (59_100, "1 min"),
            (60_000, "1 min"),
            (86_500, "1 min 27 s"),
            (3_599_000, "59 min 59 s"),
            (3_600_000, "1 h"),
            (6_300_000, "1 h 45 min"),
        ] {
            assert_eq!(super::lasted(Timestamp(1_000), Timestamp(1_000 + millis)), said, "{millis}");
        }
    }

    #[test]
    fn sizes_are_said_as_people_say_them() {
        for (count, said) in [(0, "0 B"), (1_023, "1023 B"), (1_536, "1.5 KiB"), (200 << 20, "200 MiB")] {
            assert_eq!(super::bytes(count), said);
        }
    }
}
