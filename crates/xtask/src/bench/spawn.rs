//! How many processes a second the machine itself can start: nothing that runs jobs as processes is quicker.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::load::now;
use crate::failure::{Failure, Result};

/// As many as the node has slots.
const THREADS: usize = 2;

/// Has two threads start `/bin/true` and wait for it, again and again; gives how many a second. The standard
/// library calls `posix_spawn` for this.
pub fn limit(lasting: Duration) -> Result<f64> {
    let began = now();
    let spawn = || -> Result<u32> {
        let mut count = 0;
        while began.elapsed() < lasting {
            let mut command = Command::new("/bin/true");
            let status = command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).status();
            status.map_err(|error| Failure::new(format!("/bin/true can't be started: {error}")))?;
            count += 1;
        }
        Ok(count)
    };
    let count = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(spawn)).collect();
        let counts = threads.into_iter().map(|thread| thread.join().map_err(|_| Failure::new("a thread panicked"))?);
        counts.sum::<Result<u32>>()
    })?;
    Ok(f64::from(count) / began.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_started_until_the_time_is_over() {
        assert!(limit(Duration::from_millis(20)).expect("starts processes") > 0.0);
    }
}
