//! A worker: runs one job after another and answers for what they leave behind.
//!
//! The next job may be there before the one that runs has ended, so that nobody has to wait for the agent in
//! between. If the one that runs is not over soon, the next goes back: others may have room for it.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use atelier_protocol::Run;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, pidfd_open, wait};

use super::folder::Folder;
use super::{connect, furnish, job, process, remote, terminal};
use crate::processes;
use crate::wire::{Job, Order, Outcome, Said, receive, send};

/// A job that is over sooner is reported with one message in place of two.
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 8_000_000 };

/// What the agent says, with the open files that came along.
type Spoken = Option<(Order, Vec<OwnedFd>)>;

struct Worker<'a> {
    socket: &'a OwnedFd,
    /// Counts how often the system has killed for lack of memory among what this worker runs.
    kills: Option<File>,
    /// What was heard before its time.
    next: Spoken,
    /// Whether the folder of the next job is there: the one before it has left it.
    has_folder: bool,
}

/// Serves until the agent closes its end.
pub fn serve(socket: &OwnedFd) -> io::Result<()> {
    let mut worker = Worker { socket, kills: None, next: None, has_folder: false };
    while let Some((order, files)) = worker.hear()? {
        match order {
            Order::Files { folder, paths } => {
                let folder = Folder::new(folder);
                let said = match folder.fill(&paths, files) {
                    Ok(()) => Said::Took,
                    Err(why) => {
                        folder.tidy();
                        Said::Ended(Outcome::Refused(why))
                    }
                };
                send(socket, &said, &[], true)?;
            }
            Order::Job(job) => worker.run(*job, files)?,
            Order::Tidy(folder) => {
                Folder::new(folder).tidy();
                send(socket, &Said::Ended(Outcome::Code(143)), &[], true)?;
            }
            Order::Process(process) => {
                let Some(output) = files.into_iter().next() else { continue };
                let outcome = match process::start(*process, output) {
                    Ok(started) => {
                        if !is_over_at_once(started.pid) {
                            send(socket, &Said::Spawned, &[], true)?;
                        }
                        Outcome::Code(code(follow(started.pid)?))
                    }
                    Err(why) => Outcome::Refused(why),
                };
                send(socket, &Said::Ended(outcome), &[], true)?;
            }
            Order::Furnish(furnish) => {
                let outcome = furnish::furnish(&furnish).map_or_else(Outcome::Refused, |()| Outcome::Code(0));
                send(socket, &Said::Ended(outcome), &[], true)?;
            }
            Order::Terminal(process) => return terminal::serve(socket, *process),
            Order::Remote(remote) => return remote::serve(socket, *remote, files),
            Order::Connect(to) => return connect::serve(socket, &to),
            Order::Worker(_) | Order::Notice { .. } | Order::Noted | Order::Signal(_) | Order::HangUp => {}
        }
    }
    Ok(())
}

impl Worker<'_> {
    /// What to do next; waits for it.
    fn hear(&mut self) -> io::Result<Spoken> {
        match self.next.take() {
            Some(next) => Ok(Some(next)),
            None => receive(self.socket, true),
        }
    }

    fn run(&mut self, job: Job, files: Vec<OwnedFd>) -> io::Result<()> {
        let mut files = files.into_iter();
        let Some(output) = files.next() else { return Ok(()) };
        if let Some(counter) = files.next() {
            self.kills = Some(File::from(counter));
        }
        let folder = Folder::new(job.folder.clone());
        let has_script = matches!(job.run, Run::Script(_));
        let made = if std::mem::take(&mut self.has_folder) { Ok(()) } else { folder.make() };
        let killed_before = self.killed();
        let said = match made.and_then(|()| job::start(&folder, job, output)) {
            Ok(pid) => {
                if !is_over_at_once(pid) {
                    self.tell_that_it_runs()?;
                }
                let code = code(follow(pid)?);
                let ran_out = code != 0 && self.killed() > killed_before;
                if ran_out { Said::RanOutOfMemory } else { Said::Ended(Outcome::Code(code)) }
            }
            Err(why) => Said::Ended(Outcome::Refused(why)),
        };
        if has_script {
            folder.remove(job::SCRIPT);
        }
        self.leave(&folder)?;
        send(self.socket, &said, &[], true)
    }

    fn killed(&self) -> u64 {
        self.kills.as_ref().map_or(0, atelier_confine::memory_kills)
    }

    /// Leaves a folder to the next job, if that is there already and nothing is in it, or removes it.
    fn leave(&mut self, folder: &Folder) -> io::Result<()> {
        self.next = match receive(self.socket, false) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            heard => heard?,
        };
        if let Some((Order::Job(next), _)) = &self.next {
            self.has_folder = folder.hand_on(&Folder::new(next.folder.clone()));
        }
        // What was evicted goes on where it was; the next attempt takes the folder along.
        if !self.has_folder && !folder.is_evicted() {
            folder.tidy();
        }
        Ok(())
    }

    /// Says that the job runs. What has come for later goes back; from the answer on, the agent sends nothing
    /// more.
    fn tell_that_it_runs(&self) -> io::Result<()> {
        send(self.socket, &Said::Spawned, &[], true)?;
        while let Some((order, _)) = receive::<Order>(self.socket, true)? {
            match order {
                Order::Noted => break,
                Order::Job(_) => send(self.socket, &Said::Back, &[], true)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Waits for a process, then ends what it left behind.
fn follow(main: Pid) -> io::Result<WaitStatus> {
    let status = loop {
        match rustix::io::retry_on_intr(|| wait(WaitOptions::empty()))? {
            Some((pid, status)) if pid == main => break status,
            // Something that had detached itself from the job and has ended.
            _ => {}
        }
    };
    end_the_rest();
    Ok(status)
}

fn is_over_at_once(main: Pid) -> bool {
    let Ok(handle) = pidfd_open(main, PidfdFlags::empty()) else { return true };
    let mut polled = [PollFd::new(&handle, PollFlags::IN)];
    matches!(poll(&mut polled, Some(&AT_ONCE)), Ok(1..))
}

/// Kills all that is below this process. Since it is the reaper of all of it, having no children means that
/// nothing is left.
fn end_the_rest() {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
            Ok(None) => {
                for pid in processes::descendants(getpid().as_raw_pid().cast_unsigned()) {
                    processes::signal(pid, Signal::KILL);
                }
                let _ = wait(WaitOptions::empty());
            }
        }
    }
}

/// The code that a shell would show: that of the end, or 128 and the signal.
pub fn code(status: WaitStatus) -> i32 {
    status.exit_status().unwrap_or_else(|| 128 + status.terminating_signal().unwrap_or(0))
}
