//! How failed sign-ins slow down whoever guesses, per account and per address.
//!
//! The same count runs for addresses and accounts that do not exist, so that an answer never tells which
//! exist.

use crate::time::{Span, Timestamp};

/// How many failures are allowed before a pause, and how long both count and pause last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Failures in one window that start the pause.
    pub tries: u32,
    /// The window in which failures add up, and the length of the pause.
    pub window: Span,
}

/// One account from one address: few tries, since a person who forgot asks somebody after five.
pub const ACCOUNT: Limit = Limit { tries: 5, window: Span::minutes(15) };

/// One account from wherever: more, so that a stranger elsewhere cannot keep its owner out with five guesses,
/// and yet few enough to make guessing from many addresses hopeless.
pub const ACCOUNT_ANYWHERE: Limit = Limit { tries: 50, window: Span::minutes(15) };

/// One address: more, since a whole office may share it.
pub const ADDRESS: Limit = Limit { tries: 20, window: Span::minutes(15) };

/// The failures counted under one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Failures in the current window.
    pub failures: u32,
    /// When the first of them happened.
    pub since: Timestamp,
}

/// What the count says about one more try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may be tried; so many failures are left before the pause.
    Try {
        /// At least one.
        left: u32,
    },
    /// It is not even looked at before `until`.
    Paused {
        /// The end of the pause.
        until: Timestamp,
    },
}

impl Limit {
    /// Judges one more try at `now`.
    pub fn verdict(self, count: Count, now: Timestamp) -> Verdict {
        let count = self.current(count, now);
        if count.failures >= self.tries {
            Verdict::Paused { until: count.since.plus(self.window) }
        } else {
            Verdict::Try { left: self.tries - count.failures }
        }
    }

    /// The count after one more failure at `now`. The failure that fills the count restarts its clock, so
    /// that the pause is always a whole window.
    #[must_use]
    pub fn after_failure(self, count: Count, now: Timestamp) -> Count {
        let count = self.current(count, now);
        let failures = count.failures.saturating_add(1);
        let since = if count.failures == 0 || failures == self.tries { now } else { count.since };
        Count { failures, since }
    }

    fn current(self, count: Count, now: Timestamp) -> Count {
        if now >= count.since.plus(self.window) { Count::default() } else { count }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(minutes: u32) -> Timestamp {
        Timestamp(1_000_000_000_000).plus(Span::minutes(minutes))
    }

    #[test]
    fn five_failures_pause_for_a_whole_window() {
        let mut count = Count::default();
        for (minute, left) in [(0, 5), (1, 4), (2, 3), (3, 2), (4, 1)] {
            assert_eq!(ACCOUNT.verdict(count, at(minute)), Verdict::Try { left });
            count = ACCOUNT.after_failure(count, at(minute));
        }
        assert_eq!(ACCOUNT.verdict(count, at(4)), Verdict::Paused { until: at(19) });
        assert_eq!(ACCOUNT.verdict(count, at(18)), Verdict::Paused { until: at(19) });
        assert_eq!(ACCOUNT.verdict(count, at(19)), Verdict::Try { left: 5 });
    }

    #[test]
    fn old_failures_are_forgotten() {
        let count = ACCOUNT.after_failure(Count::default(), at(0));
        assert_eq!(ACCOUNT.verdict(count, at(15)), Verdict::Try { left: 5 });
    }

    proptest! {
        /// However tries are timed: the count begins anew after a quiet window, so two full counts can fall
        /// into one.
        #[test]
        fn no_timing_gets_more_than_two_counts_into_one_window(gaps in proptest::collection::vec(0u32..40, 1..200)) {
            let (mut count, mut now) = (Count::default(), at(0));
            let mut looks: Vec<Timestamp> = Vec::new();
            for gap in gaps {
                now = now.plus(Span::minutes(gap));
                if let Verdict::Try { left } = ACCOUNT.verdict(count, now) {
                    prop_assert!((1..=ACCOUNT.tries).contains(&left));
                    count = ACCOUNT.after_failure(count, now);
                    looks.push(now);
                    let in_window = looks.iter().filter(|t| now.since(**t) < ACCOUNT.window).count();
                    prop_assert!(in_window <= 2 * ACCOUNT.tries as usize);
                }
            }
        }
    }
}
