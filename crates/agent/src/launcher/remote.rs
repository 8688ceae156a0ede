//! A session of somebody who came in from elsewhere: one process with its input, output and errors, or in a
//! terminal.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, pidfd_open, wait};

use super::process::{limit, search_path};
use super::terminal;
use super::worker::code;
use crate::wire::{Order, Outcome, Process, Program, Remote, Said, What, receive, send};
use crate::{clock, processes};

/// How long what was hung up gets to end by itself.
const GRACE: Duration = Duration::from_secs(1);
/// How often processes are looked after that have lost their parents.
const REAPING: Duration = Duration::from_secs(10);

/// Runs a session until its process has ended, then stays for as long as something lives that it has left
/// behind: a server that an editor has started goes on when the editor is closed.
pub fn serve(socket: &OwnedFd, remote: Remote, files: Vec<OwnedFd>) -> io::Result<()> {
    let (pid, near) = match open(remote, files) {
        Ok(opened) => opened,
        Err(why) => return send(socket, &Said::Ended(Outcome::Refused(why)), &[], true),
    };
    let handles: Vec<BorrowedFd<'_>> = near.iter().map(|near| near.as_fd()).collect();
    send(socket, &Said::Spawned, &handles, true)?;
    // Only the agent holds the terminal then: when it lets go, whoever is in it is hung up.
    drop(near);
    let status = watch(socket, pid)?;
    send(socket, &Said::Ended(Outcome::Code(code(status))), &[], true)?;
    while rustix::io::retry_on_intr(|| wait(WaitOptions::empty())).is_ok() {}
    Ok(())
}

fn open(remote: Remote, files: Vec<OwnedFd>) -> Result<(Pid, Option<OwnedFd>), String> {
    let Remote { what, screen, folder, environment, memory } = remote;
    let cannot = |error: io::Error| format!("the session cannot be started: {error}");
    let own = || std::env::current_exe().map(|own| own.to_string_lossy().into_owned()).map_err(cannot);
    let shell = terminal::shell_program(search_path(&environment));
    let arguments = match what {
        What::Shell => vec![shell, "-l".to_owned()],
        What::Command(text) => vec![shell, "-c".to_owned(), text],
        What::Sftp => vec![own()?, "launcher".to_owned(), "sftp".to_owned()],
    };
    if screen.is_some() {
        let process = Process { folder, program: Program::Argv(arguments), environment, memory, bridge: None };
        return terminal::open(process, screen).map(|(pid, near)| (pid, Some(near)));
    }
    let mut files = files.into_iter();
    let (Some(input), Some(output), Some(errors)) = (files.next(), files.next(), files.next()) else {
        return Err("the session has no input and output".to_owned());
    };
    let folder = if Path::new(&folder).is_dir() { Path::new(&folder) } else { Path::new("/") };
    let mut command = Command::new(&arguments[0]);
    command.args(&arguments[1..]).current_dir(folder).process_group(0);
    command.env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::from(input)).stdout(output).stderr(errors);
    let child = command.spawn().map_err(cannot)?;
    let pid = Pid::from_raw(child.id().cast_signed()).ok_or("the system gave no process")?;
    limit(pid, memory);
    Ok((pid, None))
}

/// Waits for the session's process, and does meanwhile what the agent says.
fn watch(socket: &OwnedFd, main: Pid) -> io::Result<WaitStatus> {
    let handle = pidfd_open(main, PidfdFlags::empty())?;
    let mut killing: Option<Instant> = None;
    loop {
        let mut polled = [PollFd::new(&handle, PollFlags::IN), PollFd::new(socket, PollFlags::IN)];
        let pause = killing.map_or(REAPING, |at| at.saturating_duration_since(clock::now()));
        let pause = Timespec { tv_sec: pause.as_secs().cast_signed(), tv_nsec: pause.subsec_nanos().into() };
        // After it was hung up nothing more is said.
        let watched = if killing.is_some() { &mut polled[..1] } else { &mut polled[..] };
        rustix::io::retry_on_intr(|| poll(watched, Some(&pause)))?;
        let is_called = killing.is_none() && !polled[1].revents().is_empty();
        while let Ok(Some((ended, status))) = wait(WaitOptions::NOHANG) {
            if ended == main {
                return Ok(status);
            }
        }
        if is_called {
            match receive::<Order>(socket, true)? {
                Some((Order::Signal(name), _)) => signal(main, named(&name)),
                // Without an agent there is nobody at the other end either.
                Some((Order::HangUp, _)) | None => {
                    signal(main, Some(Signal::HUP));
                    signal(main, Some(Signal::CONT));
                    killing = Some(clock::now() + GRACE);
                }
                Some(_) => {}
            }
        }
        if killing.is_some_and(|at| at <= clock::now()) {
            signal(main, Some(Signal::KILL));
            killing = Some(clock::now() + GRACE);
        }
    }
}

/// Sends a signal to all that belongs to the session: its terminal's, or its group.
fn signal(main: Pid, signal: Option<Signal>) {
    let Some(signal) = signal else { return };
    let main = main.as_raw_pid().cast_unsigned();
    let belongs = |pid: &u32| processes::belongs_to(*pid).is_some_and(|of| of.contains(&main));
    let own = getpid().as_raw_pid().cast_unsigned();
    processes::descendants(own).into_iter().filter(belongs).for_each(|pid| processes::signal(pid, signal));
}

/// A signal by the name that SSH has for it.
fn named(name: &str) -> Option<Signal> {
    Some(match name {
        "ABRT" => Signal::ABORT,
        "ALRM" => Signal::ALARM,
        "FPE" => Signal::FPE,
        "HUP" => Signal::HUP,
        "ILL" => Signal::ILL,
        "INT" => Signal::INT,
        "KILL" => Signal::KILL,
        "PIPE" => Signal::PIPE,
        "QUIT" => Signal::QUIT,
        "SEGV" => Signal::SEGV,
        "TERM" => Signal::TERM,
        "USR1" => Signal::USR1,
        "USR2" => Signal::USR2,
        _ => return None,
    })
}
