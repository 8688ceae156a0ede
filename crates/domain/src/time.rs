//! Wall-clock instants and spans as plain milliseconds, so that the core needs no calendar.

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// This instant plus a span; stays at the end of time instead of wrapping.
    #[must_use]
    pub const fn plus(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// How long ago `earlier` was; zero if it lies ahead (clocks may jump back).
    pub const fn since(self, earlier: Self) -> Span {
        let millis = self.0.saturating_sub(earlier.0);
        Span(if millis < 0 { 0 } else { millis })
    }
}

/// Milliseconds on a clock that only goes forward, also over restarts: leases, idleness and time limits are
/// measured on it, so that a jump of the wall clock expires nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Mono(pub u64);

impl Mono {
    /// This instant plus a span; stays at the end of time instead of wrapping.
    #[must_use]
    pub const fn plus(self, span: Span) -> Self {
        Self(self.0.saturating_add_signed(span.0))
    }

    /// How long ago `earlier` was; zero if it lies ahead.
    pub const fn since(self, earlier: Self) -> Span {
        Span::millis(self.0.saturating_sub(earlier.0))
    }
}

/// What both clocks show when a batch of inputs is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Now {
    /// For schedules and history.
    pub wall: Timestamp,
    /// For everything that lasts.
    pub mono: Mono,
}

/// A length of time in milliseconds, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(i64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// So many milliseconds; as long as can be said if that is not enough.
    pub const fn millis(count: u64) -> Self {
        Self(if count > i64::MAX as u64 { i64::MAX } else { count as i64 })
    }

    /// So many seconds.
    pub const fn seconds(count: u32) -> Self {
        Self(count as i64 * 1_000)
    }

    /// So many minutes.
    pub const fn minutes(count: u32) -> Self {
        Self(count as i64 * 60_000)
    }

    /// So many hours.
    pub const fn hours(count: u32) -> Self {
        Self(count as i64 * 3_600_000)
    }

    /// The sum; stays at the end of time.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// What is left; never less than nothing.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(if other.0 > self.0 { 0 } else { self.0 - other.0 })
    }

    /// So many times as long.
    #[must_use]
    pub const fn times(self, count: u32) -> Self {
        Self(self.0.saturating_mul(count as i64))
    }

    /// The `step`-th pause of a back-off that doubles from this span up to `most`.
    #[must_use]
    pub fn doubled(self, step: u32, most: Self) -> Self {
        Self(self.0.saturating_mul(1_i64 << step.min(30))).min(most)
    }

    /// The span in milliseconds.
    pub const fn as_millis(self) -> i64 {
        self.0
    }
}

impl std::fmt::Display for Span {
    /// One or two units, rounded up, as people say it: `40 s`, `15 min`, `2 h 5 min`, `7 days`.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.0.div_euclid(1_000) + i64::from(self.0 % 1_000 != 0);
        if seconds < 60 {
            return write!(out, "{seconds} s");
        }
        let minutes = seconds.div_euclid(60) + i64::from(seconds % 60 != 0);
        let (days, hours, rest) = (minutes / 1_440, minutes / 60 % 24, minutes % 60);
        match (days, hours, rest) {
            (0, 0, rest) => write!(out, "{rest} min"),
            (0, hours, 0) => write!(out, "{hours} h"),
            (0, hours, rest) => write!(out, "{hours} h {rest} min"),
            (1, 0, _) => write!(out, "1 day"),
            (days, 0, _) => write!(out, "{days} days"),
            (1, hours, _) => write!(out, "1 day {hours} h"),
            (days, hours, _) => write!(out, "{days} days {hours} h"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_said_as_people_say_them() {
        let cases = [
            (Span::seconds(0), "0 s"),
            (Span(1), "1 s"),
            (Span::seconds(59), "59 s"),
            (Span::seconds(60), "1 min"),
            (Span::seconds(61), "2 min"),
            (Span::minutes(15), "15 min"),
            (Span::minutes(125), "2 h 5 min"),
            (Span::hours(12), "12 h"),
            (Span::hours(24), "1 day"),
            (Span::hours(24 * 7), "7 days"),
            (Span::hours(25), "1 day 1 h"),
        ];
        for (span, said) in cases {
            assert_eq!(span.to_string(), said);
        }
    }

    #[test]
    fn a_clock_that_jumps_back_gives_no_negative_span() {
        assert_eq!(Timestamp(5).since(Timestamp(9)), Span(0));
        assert_eq!(Timestamp(i64::MAX).plus(Span(1)), Timestamp(i64::MAX));
    }
}
