//! When a web session ends by itself.

use crate::time::{Span, Timestamp};

/// How long sessions last. Both limits hold; whichever comes first ends the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Without a request for so long.
    pub idle: Span,
    /// After sign-in, however busy.
    pub absolute: Span,
}

impl Default for Limits {
    /// Half a day without use, a week in all: a data scientist signs in on Monday.
    fn default() -> Self {
        Self { idle: Span::hours(12), absolute: Span::hours(24 * 7) }
    }
}

impl Limits {
    /// The instant at which a session with these times ends if nothing more happens.
    pub fn ends_at(self, created_at: Timestamp, seen_at: Timestamp) -> Timestamp {
        created_at.plus(self.absolute).min(seen_at.plus(self.idle))
    }

    /// Whether the session still counts at `now`; due exactly now is over.
    pub fn is_alive(self, created_at: Timestamp, seen_at: Timestamp, now: Timestamp) -> bool {
        now < self.ends_at(created_at, seen_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_by_the_earlier_of_the_two_limits() {
        let limits = Limits { idle: Span::minutes(30), absolute: Span::hours(8) };
        let at = |minutes| Timestamp(0).plus(Span::minutes(minutes));
        assert!(limits.is_alive(at(0), at(0), at(29)));
        assert!(!limits.is_alive(at(0), at(0), at(30)));
        assert!(limits.is_alive(at(0), at(479), at(479)));
        assert!(!limits.is_alive(at(0), at(479), at(480)));
        assert_eq!(limits.ends_at(at(0), at(470)), at(480));
    }
}
