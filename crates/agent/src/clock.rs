//! The one place that asks the machine what time it is.

use std::time::{Duration, Instant};

use atelier_domain::time::Span;

/// A monotonic instant, for durations and deadlines.
#[expect(clippy::disallowed_methods, reason = "the one place where the clock is read")]
pub fn now() -> Instant {
    Instant::now()
}

/// A span as the standard library counts it.
pub fn duration(span: Span) -> Duration {
    Duration::from_millis(u64::try_from(span.as_millis()).unwrap_or(0))
}
