//! Killing all processes of a group and waiting until they are gone.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// How many times it is tried. Each round waits for what it has killed, so only a group that forks faster
/// than it dies needs many.
const ROUNDS: usize = 100;
/// How long one round waits.
const ROUND: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Kills what `list` names until it names nothing, and waits for it.
///
/// # Errors
/// Names the processes that do not end.
pub fn until_empty(mut list: impl FnMut() -> Vec<u32>) -> io::Result<()> {
    for _ in 0..ROUNDS {
        let pids = list();
        if pids.is_empty() {
            return Ok(());
        }
        let ending: Vec<OwnedFd> = pids.into_iter().filter_map(kill).collect();
        wait(&ending);
    }
    let left = list();
    if left.is_empty() { Ok(()) } else { Err(io::Error::other(format!("processes {left:?} do not end"))) }
}

/// Kills one process by a handle that cannot mean another one.
pub(crate) fn kill(pid: u32) -> Option<OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    pidfd_send_signal(&handle, Signal::KILL).ok()?;
    Some(handle)
}

/// Waits until all have ended, or the round is over.
fn wait(ending: &[OwnedFd]) {
    for handle in ending {
        let mut polled = [PollFd::new(handle, PollFlags::IN)];
        if !matches!(poll(&mut polled, Some(&ROUND)), Ok(1..)) {
            return;
        }
    }
}
