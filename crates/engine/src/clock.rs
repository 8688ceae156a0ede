//! The one place that asks the machine what time it is.

use atelier_domain::Timestamp;

/// The wall clock now.
#[expect(clippy::disallowed_methods, reason = "the one place where the clock is read")]
pub fn now() -> Timestamp {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let now = Timestamp(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX));
    now.plus(atelier_domain::time::Span::millis(u64::try_from(ahead().as_millis()).unwrap_or(u64::MAX)))
}

/// How far a test has set the clock ahead. In a release build nothing can.
#[cfg(not(debug_assertions))]
pub(crate) const fn ahead() -> std::time::Duration {
    std::time::Duration::ZERO
}

#[cfg(debug_assertions)]
static AHEAD: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// How far a test has set the clock ahead.
#[cfg(debug_assertions)]
pub(crate) fn ahead() -> std::time::Duration {
    std::time::Duration::from_millis(AHEAD.load(std::sync::atomic::Ordering::SeqCst))
}

/// Sets the clock ahead, for tests that cannot wait for an evening.
#[cfg(debug_assertions)]
pub fn set_ahead(by: std::time::Duration) {
    let millis = u64::try_from(by.as_millis()).unwrap_or(0);
    AHEAD.fetch_add(millis, std::sync::atomic::Ordering::SeqCst);
}

/// A monotonic instant, for durations.
#[expect(clippy::disallowed_methods, reason = "the one place where the clock is read")]
pub fn instant() -> std::time::Instant {
    std::time::Instant::now()
}
