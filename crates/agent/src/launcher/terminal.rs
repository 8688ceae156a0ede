//! A terminal inside a sandbox: opened there, so that it is one of the sandbox's own; its other end goes to
//! the agent.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, WaitOptions, ioctl_tiocsctty, setsid, wait};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::process::{limit, search_path};
use super::program::find;
use super::worker::code;
use crate::wire::{Outcome, Process, Program, Said, send};

/// Runs a terminal until its shell has ended, then stays for as long as something lives that the shell has
/// left behind: whoever starts a process in the background of a workstation and closes the terminal wants it
/// to go on.
pub fn serve(socket: &OwnedFd, process: Process) -> io::Result<()> {
    let pid = match open(process, None) {
        Ok((pid, near)) => {
            send(socket, &Said::Spawned, &[near.as_fd()], true)?;
            pid
        }
        Err(why) => return send(socket, &Said::Ended(Outcome::Refused(why)), &[], true),
    };
    loop {
        match rustix::io::retry_on_intr(|| wait(WaitOptions::empty())) {
            Ok(Some((ended, status))) if ended == pid => {
                send(socket, &Said::Ended(Outcome::Code(code(status))), &[], true)?;
            }
            Ok(_) => {}
            // No children: nothing is left.
            Err(_) => return Ok(()),
        }
    }
}

/// Opens a terminal with a process in it; returns the end that is not the process's.
pub fn open(process: Process, screen: Option<(u16, u16)>) -> Result<(Pid, OwnedFd), String> {
    let cannot = |error: rustix::io::Errno| format!("a terminal cannot be opened: {error}");
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let near = openpt(flags).map_err(cannot)?;
    grantpt(&near).map_err(cannot)?;
    unlockpt(&near).map_err(cannot)?;
    let far = ioctl_tiocgptpeer(&near, flags).map_err(cannot)?;
    if let Some((columns, rows)) = screen {
        // Before anything in it asks how large it is.
        let _ = tcsetwinsize(&near, Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 });
    }
    let path = search_path(&process.environment);
    let arguments = match process.program {
        Program::Argv(arguments) if !arguments.is_empty() => arguments,
        _ => shell(path),
    };
    let home = Path::new(&process.folder);
    let folder = if home.is_dir() { home } else { Path::new("/") };
    let other = || far.try_clone().map(Stdio::from).map_err(|error| format!("a terminal cannot be opened: {error}"));
    let own = std::env::current_exe().map_err(|error| format!("a terminal cannot be opened: {error}"))?;
    let mut command = Command::new(own);
    command.args(["launcher", "terminal"]).args(&arguments).current_dir(folder);
    command.env_clear().envs(process.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(other()?).stdout(other()?).stderr(other()?);
    let child = command.spawn().map_err(|error| format!("a terminal cannot be opened: {error}"))?;
    let pid = Pid::from_raw(child.id().cast_signed()).ok_or("the system gave no process")?;
    limit(pid, process.memory);
    Ok((pid, near))
}

/// The person's shell: one that reads their profile.
fn shell(path: &str) -> Vec<String> {
    vec![shell_program(path), "-l".to_owned()]
}

/// Where that shell is.
pub fn shell_program(path: &str) -> String {
    let bash = find("bash", Path::new("/"), path);
    bash.map_or_else(|_| "/bin/sh".to_owned(), |found| found.to_string_lossy().into_owned())
}

/// `atelier launcher terminal <program> …`: makes what it has as standard input its own terminal, then
/// becomes the program. Returns only if it cannot, with words that appear in the terminal.
pub fn enter(mut arguments: impl Iterator<Item = OsString>) -> String {
    let program = arguments.next().unwrap_or_default();
    let own = setsid().and_then(|_| ioctl_tiocsctty(std::io::stdin()));
    if let Err(error) = own {
        return format!("The terminal cannot be used: {error}.");
    }
    let error = Command::new(&program).args(arguments).exec();
    format!("The program “{}” cannot be started: {error}.", program.display())
}
