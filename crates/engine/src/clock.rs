//! The one place that asks the machine what time it is.

use atelier_domain::Timestamp;

/// The wall clock now.
#[expect(clippy::disallowed_methods, reason = "the one place where the clock is read")]
pub fn now() -> Timestamp {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

/// A monotonic instant, for durations.
#[expect(clippy::disallowed_methods, reason = "the one place where the clock is read")]
pub fn instant() -> std::time::Instant {
    std::time::Instant::now()
}
