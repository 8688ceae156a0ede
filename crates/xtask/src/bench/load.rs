//! Load from threads of this process: as fast as the server answers, or at a steady pace.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use crate::bench::http::{Answer, Connection};
use crate::failure::{Failure, Result};

/// No load sends more than this, whatever the time.
const MOST_REQUESTS: usize = 2_000_000;

/// How long the answers to a load took.
#[derive(Debug)]
pub struct Outcome {
    /// From shortest to longest.
    took: Vec<Duration>,
    elapsed: Duration,
}

impl Outcome {
    pub fn count(&self) -> usize {
        self.took.len()
    }

    pub fn per_second(&self) -> f64 {
        self.count() as f64 / self.elapsed.as_secs_f64()
    }

    /// The time within which that share of the answers came, in milliseconds.
    pub fn percentile_ms(&self, share: f64) -> f64 {
        milliseconds(percentile(&self.took, share))
    }
}

/// Sends the same request over several connections, each as soon as its last answer is there.
pub fn as_fast_as_possible(port: u16, connections: usize, lasting: Duration, request: &[u8]) -> Result<Outcome> {
    let sent = AtomicUsize::new(0);
    let start = now();
    gather(connections, start, || {
        let mut connection = Connection::open(port)?;
        let mut took = Vec::new();
        while start.elapsed() < lasting && sent.fetch_add(1, Ordering::Relaxed) < MOST_REQUESTS {
            let begun = now();
            let answer = connection.send(request)?;
            took.push(begun.elapsed());
            expect_200(&answer)?;
        }
        Ok(took)
    })
}

/// Sends each request at its turn, `per_second` of them, over whichever of the connections is free.
///
/// Times count from when a request was due, so that one which had to wait for a free connection counts its
/// waiting too.
pub fn at_a_pace(port: u16, connections: usize, per_second: f64, requests: Vec<Vec<u8>>) -> Result<Outcome> {
    let queue: Mutex<VecDeque<(usize, Vec<u8>)>> = Mutex::new(requests.into_iter().enumerate().collect());
    let start = now();
    gather(connections, start, || {
        let mut connection = Connection::open(port)?;
        let mut took = Vec::new();
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some((turn, request)) = next else { return Ok(took) };
            let due = start + Duration::from_secs_f64(turn as f64 / per_second);
            pause(due.saturating_duration_since(now()));
            let answer = connection.send(&request)?;
            took.push(due.elapsed());
            expect_200(&answer)?;
        }
    })
}

/// Runs `work` on as many threads and joins what they measured.
fn gather(threads: usize, start: Instant, work: impl Fn() -> io::Result<Vec<Duration>> + Sync) -> Result<Outcome> {
    let mut took = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(&work)).collect();
        let mut all = Vec::new();
        for thread in running {
            let part = thread.join().map_err(|_| Failure::new("a thread of the load panicked"))?;
            all.append(&mut part.map_err(|error| Failure::new(format!("a request of the load failed: {error}")))?);
        }
        Ok(all)
    })?;
    let elapsed = start.elapsed();
    took.sort_unstable();
    Ok(Outcome { took, elapsed })
}

fn expect_200(answer: &Answer) -> io::Result<()> {
    if answer.status == 200 {
        return Ok(());
    }
    let start: String = answer.text().chars().take(300).collect();
    Err(io::Error::other(format!("status {}: {start}", answer.status)))
}

/// The value below which that share of the sorted values lies; zero of none.
pub fn percentile(sorted: &[Duration], share: f64) -> Duration {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures on the machine's own clock")]
pub fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "a steady pace and an idle server are made of waiting")]
pub fn pause(time: Duration) {
    thread::sleep(time);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let sorted: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!(percentile(&sorted, 0.5), Duration::from_millis(100));
        assert_eq!(percentile(&sorted, 0.99), Duration::from_millis(198));
        assert_eq!(percentile(&sorted, 1.0), Duration::from_millis(200));
        assert_eq!(percentile(&sorted[..1], 0.99), Duration::from_millis(1));
        assert_eq!(percentile(&[], 0.99), Duration::ZERO);
    }
}
