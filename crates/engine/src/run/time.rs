//! The engine's two clocks, and how the one that only goes forward goes on after a restart.

use std::sync::Arc;
use std::time::{Duration, Instant};

use atelier_domain::time::{Mono, Now, Span, Timestamp};

use crate::clock;
use crate::store::Previous;

/// Where the time comes from.
pub trait Clock: Send + Sync + 'static {
    fn wall(&self) -> Timestamp;
    /// Time since some moment; never goes back.
    fn elapsed(&self) -> Duration;
    /// Which run of the machine this is, and for how long it has run; none if nobody knows.
    fn boot(&self) -> Option<(&str, Duration)>;
}

/// The machine's own clocks.
#[derive(Debug)]
pub struct MachineClock {
    started: Instant,
    boot: Option<(String, Duration)>,
}

impl MachineClock {
    /// Looks at the machine.
    pub fn new() -> Self {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        // The same clock as that of `Instant`: while the machine sleeps, both stand still.
        let uptime = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let uptime = Duration::try_from(uptime).unwrap_or_default();
        let boot = id.map(|id| (id.trim().to_owned(), uptime));
        Self { started: clock::instant(), boot }
    }
}

impl Default for MachineClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for MachineClock {
    fn wall(&self) -> Timestamp {
        clock::now()
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed() + clock::ahead()
    }

    fn boot(&self) -> Option<(&str, Duration)> {
        self.boot.as_ref().map(|(id, at_start)| (id.as_str(), *at_start + self.elapsed()))
    }
}

/// A server that was away for longer is taken to have been away for so long: a wall clock that is wildly off
/// must not end every wait at once.
const LONGEST_AWAY: Span = Span::hours(24 * 7);

pub(super) struct EngineTime {
    clock: Arc<dyn Clock>,
    /// What the clock that only goes forward showed, when.
    base: Mono,
    at: Duration,
}

impl EngineTime {
    /// Goes on from the last batch. If the machine has not been started anew since, its own uptime tells how
    /// long ago that was; else only the wall clock can, for what it is worth.
    pub fn going_on(clock: Arc<dyn Clock>, previous: Option<&Previous>) -> Self {
        let at = clock.elapsed();
        let base = previous.map_or(Mono(0), |previous| {
            let same_boot = clock.boot().filter(|(id, _)| *id == previous.boot);
            let uptime = same_boot.and_then(|(_, uptime)| millis(uptime).checked_sub(previous.uptime));
            let away = match uptime.and_then(|away| u64::try_from(away).ok()) {
                Some(away) => Span::millis(away),
                None => clock.wall().since(previous.wall).min(LONGEST_AWAY),
            };
            previous.mono.plus(away)
        });
        Self { clock, base, at }
    }

    /// What both clocks show.
    pub fn now(&self) -> Now {
        let since = self.clock.elapsed().saturating_sub(self.at);
        let since = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        Now { wall: self.clock.wall(), mono: Mono(self.base.0.saturating_add(since)) }
    }

    /// Time since some moment, for pauses.
    pub fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }

    /// The run of the machine and its uptime in milliseconds, for the next start.
    pub fn boot(&self) -> (String, i64) {
        self.clock.boot().map_or_else(Default::default, |(id, uptime)| (id.to_owned(), millis(uptime)))
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(i64, Option<(&'static str, u64)>);

    impl Clock for Fixed {
        fn wall(&self) -> Timestamp {
            Timestamp(self.0)
        }
        fn elapsed(&self) -> Duration {
            Duration::from_secs(5)
        }
        fn boot(&self) -> Option<(&str, Duration)> {
            self.1.map(|(id, uptime)| (id, Duration::from_millis(uptime)))
        }
    }

    #[test]
    fn the_clock_goes_on_after_a_restart() {
        let day = 86_400_000;
        let previous = Previous { wall: Timestamp(10 * day), mono: Mono(500), boot: "a".into(), uptime: 1_000 };
        let at = |clock| EngineTime::going_on(Arc::new(clock), Some(&previous)).now().mono.0;
        // The same run of the machine: its uptime counts, whatever the wall clock says.
        assert_eq!(at(Fixed(0, Some(("a", 1_250)))), 750);
        // Another run: the wall clock, but never back, and never more than a week.
        assert_eq!(at(Fixed(10 * day + 40, Some(("b", 7)))), 540);
        assert_eq!(at(Fixed(0, Some(("b", 7)))), 500);
        assert_eq!(at(Fixed(1_000 * day, None)), 500 + 7 * 86_400_000);
        // An uptime that went back is none.
        assert_eq!(at(Fixed(10 * day + 40, Some(("a", 7)))), 540);
        assert_eq!(EngineTime::going_on(Arc::new(Fixed(0, None)), None).now().mono.0, 0);
    }
}
