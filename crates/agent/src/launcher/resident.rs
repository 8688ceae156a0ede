//! The launcher of a sandbox: makes workers, and clears up after those that have ended.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, getpid, pidfd_open, wait};

use super::folder;
use crate::processes;
use crate::wire::{Order, Said, receive, send};

/// Between two rounds of killing; the first rounds follow each other sooner.
const ROUND: i64 = 20_000_000;
/// After so many rounds the agent hears that something does not end.
const LINGERING: u32 = 16;

struct Worker {
    id: u64,
    pid: u32,
    handle: OwnedFd,
}

/// Makes a worker from the open files that came with the order, and says which process it is.
pub type Make<'a> = dyn FnMut(Vec<OwnedFd>) -> io::Result<u32> + 'a;

/// Serves until the agent closes its end; then nothing of what it started is left.
pub fn serve(socket: &OwnedFd, make: &mut Make<'_>) -> io::Result<()> {
    let mut workers: Vec<Worker> = Vec::new();
    // Workers that have ended, of whose jobs something may be left; nobody waits here until that is gone.
    let mut ended: Vec<u64> = Vec::new();
    let mut rounds = 0;
    loop {
        let mut polled: Vec<PollFd<'_>> = vec![PollFd::new(socket, PollFlags::IN)];
        polled.extend(workers.iter().map(|worker| PollFd::new(&worker.handle, PollFlags::IN)));
        let pause = pause(rounds);
        rustix::io::retry_on_intr(|| poll(&mut polled, (!ended.is_empty()).then_some(&pause)))?;
        let is_called = !polled[0].revents().is_empty();
        let is_over: Vec<bool> = polled[1..].iter().map(|worker| !worker.revents().is_empty()).collect();
        for index in (0..is_over.len()).rev().filter(|&index| is_over[index]) {
            ended.push(workers.remove(index).id);
            rounds = 0;
        }
        if !ended.is_empty() {
            if clear_up(&workers) {
                for id in ended.drain(..) {
                    send(socket, &Said::Gone(id, String::new()), &[], true)?;
                }
            } else {
                rounds += 1;
                for id in ended.iter().filter(|_| rounds == LINGERING) {
                    send(socket, &Said::Lingers(*id), &[], true)?;
                }
            }
        }
        if is_called {
            let Some((order, files)) = receive::<Order>(socket, true)? else { break };
            if let Order::Notice { worker, folder, owner, seconds } = &order {
                // Where that cannot be, the job is asked to end all the same.
                let _ = folder::notice(folder, *owner, *seconds);
                send(socket, &Said::Noticed(*worker), &[], true)?;
            }
            if let Order::Worker(id) = order {
                match make(files).and_then(|pid| Ok(Worker { id, pid, handle: handle(pid)? })) {
                    Ok(worker) => workers.push(worker),
                    // Its end of the socket is closed by now, so the agent hears of it twice.
                    Err(error) => send(socket, &Said::Gone(id, error.to_string()), &[], true)?,
                }
            }
        }
    }
    rounds = 0;
    while !clear_up(&[]) {
        rounds += 1;
        let _ = poll(&mut [], Some(&pause(rounds)));
    }
    Ok(())
}

/// Makes a worker that shares the sandbox with others.
pub fn make(files: Vec<OwnedFd>) -> io::Result<u32> {
    start(files, &["worker"])
}

/// Starts this program again, in the role of a worker that speaks through the first of these files; the
/// second, if there is one, is its standard output.
pub fn start(files: Vec<OwnedFd>, arguments: &[&str]) -> io::Result<u32> {
    let mut files = files.into_iter();
    let socket = files.next().ok_or(io::ErrorKind::InvalidInput)?;
    let output = files.next().map_or_else(Stdio::null, Stdio::from);
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("launcher").args(arguments).env_clear().process_group(0);
    // What goes wrong with it, it says through the socket.
    command.stdin(Stdio::from(socket)).stdout(output).stderr(Stdio::null());
    Ok(command.spawn()?.id())
}

fn handle(pid: u32) -> io::Result<OwnedFd> {
    Ok(pidfd_open(Pid::from_raw(pid.cast_signed()).ok_or(io::ErrorKind::NotFound)?, PidfdFlags::empty())?)
}

const fn pause(rounds: u32) -> Timespec {
    let first = 1_000_000 << if rounds < 5 { rounds } else { 5 };
    Timespec { tv_sec: 0, tv_nsec: if first < ROUND { first } else { ROUND } }
}

/// Reaps, and kills everything below this process that is not below a worker. Says whether there was nothing.
fn clear_up(workers: &[Worker]) -> bool {
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
    let mut strays = processes::descendants(getpid().as_raw_pid().cast_unsigned());
    for worker in workers {
        let of_worker = processes::descendants(worker.pid);
        strays.retain(|pid| *pid != worker.pid && !of_worker.contains(pid));
    }
    for pid in &strays {
        processes::signal(*pid, Signal::KILL);
    }
    strays.is_empty()
}
