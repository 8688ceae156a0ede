//! How long jobs took, in words.

use atelier_domain::Timestamp;
pub use atelier_domain::files::bytes;

/// How long something took, as people say it; to the second where minutes alone would be far off.
pub fn lasted(from: Timestamp, to: Timestamp) -> String {
    let span = to.since(from);
    let seconds = span.as_millis() / 1_000 + i64::from(span.as_millis() % 1_000 > 0);
    match (seconds / 60, seconds % 60) {
        (minutes @ 1..60, rest @ 1..) => format!("{minutes} min {rest} s"),
        _ => span.to_string(),
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
}
