//! Waiting for a condition with a bound and a message, in place of sleeping and hoping.

use std::time::{Duration, Instant};
use std::{fmt, thread};

/// How long tests wait for anything. Far longer than it takes on a busy machine: it is there so that what
/// hangs fails, and says nothing about how quick something is.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Short enough that a test does not feel it, long enough not to take a core from what it waits for.
const PAUSE: Duration = Duration::from_millis(10);

/// The condition did not come true in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedOut {
    what: String,
    after: Duration,
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "waited {:?} in vain for {}", self.after, self.what)
    }
}

impl std::error::Error for TimedOut {}

/// Calls `probe` until it returns something, at least once and for at most `timeout`.
///
/// # Errors
/// [`TimedOut`] names `what` was waited for and for how long.
#[expect(clippy::disallowed_methods, reason = "this is the one place where tests wait on the wall clock")]
pub fn poll_until<T>(what: &str, timeout: Duration, mut probe: impl FnMut() -> Option<T>) -> Result<T, TimedOut> {
    let started_at = Instant::now();
    loop {
        if let Some(found) = probe() {
            return Ok(found);
        }
        if started_at.elapsed() >= timeout {
            return Err(TimedOut { what: what.to_owned(), after: timeout });
        }
        thread::sleep(PAUSE);
    }
}

/// Like [`poll_until`], for tests: running out of time fails the test.
///
/// # Panics
/// When `probe` returned nothing for `timeout`.
#[track_caller]
pub fn wait_until<T>(what: &str, timeout: Duration, probe: impl FnMut() -> Option<T>) -> T {
    match poll_until(what, timeout, probe) {
        Ok(found) => found,
        Err(timed_out) => panic!("{timed_out}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_what_the_probe_found() {
        let mut calls = 0;
        let found = wait_until("the third call", Duration::from_secs(5), || {
            calls += 1;
            (calls == 3).then_some(calls)
        });
        assert_eq!(found, 3);
    }

    #[test]
    fn probes_once_even_without_time() {
        assert_eq!(poll_until("now", Duration::ZERO, || Some(1)), Ok(1));
    }

    #[test]
    fn says_what_did_not_happen() {
        let error = poll_until::<()>("rain", Duration::from_millis(20), || None).expect_err("it never rains");
        assert_eq!(error.to_string(), "waited 20ms in vain for rain");
    }
}
