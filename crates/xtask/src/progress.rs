//! One line when a step begins and one, with the time it took, when it ends.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use crate::failure::Result;

/// Runs `work` as a step that people see.
#[expect(clippy::disallowed_methods, reason = "a build step is timed on the wall clock")]
pub fn step<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    announce(what);
    let started_at = Instant::now();
    let outcome = work();
    let took = seconds(started_at.elapsed());
    match &outcome {
        Ok(_) => eprintln!("{} {what}: {took}", mark("✓", "32")),
        Err(_) => eprintln!("{} {what}: failed after {took}", mark("✗", "31")),
    }
    outcome
}

/// Says what comes next, where there is no end to wait for.
pub fn announce(what: &str) {
    eprintln!("{} {what}", mark("▸", "34"));
}

fn mark(sign: &str, colour: &str) -> String {
    if io::stderr().is_terminal() { format!("\x1b[{colour}m{sign}\x1b[0m") } else { sign.to_owned() }
}

pub fn seconds(took: Duration) -> String {
    match took.as_secs() {
        0..60 => format!("{:.1} s", took.as_secs_f64()),
        more => format!("{} min {:02} s", more / 60, more % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_easy_to_read() {
        assert_eq!(seconds(Duration::from_millis(1240)), "1.2 s");
        assert_eq!(seconds(Duration::from_secs(125)), "2 min 05 s");
    }
}
