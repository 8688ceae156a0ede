//! What runs inside a sandbox: a *launcher* that makes workers, and *workers* that each run one job after
//! another.
//!
//! All of it is synchronous and small, since it is there once for each person and slot.
//!
//! | role | what it is |
//! | --- | --- |
//! | `resident` | makes workers that share the sandbox of a person |
//! | `per-job` | makes workers that each have a sandbox of their own, for one job |
//! | `per-job-plain` | the same where there are no private views: they only have processes of their own |
//! | `worker` | runs jobs |
//! | `apart` | runs one job, in a copy of the view of its `per-job` launcher |
//! | `bridge` | runs an application that listens on a port, and joins a socket to it |
//! | `terminal` | becomes a program in a terminal of its own |
//! | `sftp` | serves a person's files, as that person |

mod bridge;
mod connect;
mod folder;
mod furnish;
mod job;
mod per_job;
mod process;
mod program;
mod remote;
mod resident;
mod sftp;
mod terminal;
mod worker;

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};

pub use folder::{EVICTION, inside};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, getpid, pidfd_open, set_child_subreaper, set_dumpable_behavior,
    set_parent_process_death_signal,
};
use rustix::thread::{set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid};
pub use sftp::read as read_sftp;

use crate::wire::{Said, send};

/// `atelier launcher <role> [uid]`, started by an agent or a launcher with a socket as its standard input.
///
/// # Errors
/// In words, for the agent's log.
pub fn launcher(mut arguments: impl Iterator<Item = OsString>) -> Result<(), String> {
    // From the beginning: nobody of the same user may look into it, nor take what it holds.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| format!("The launcher cannot begin: {error}."))?;
    let role = arguments.next().unwrap_or_default();
    if role == "terminal" {
        return Err(terminal::enter(arguments));
    }
    if role == "bridge" {
        return bridge::serve(arguments);
    }
    if role == "sftp" {
        return sftp::serve().map_err(|error| format!("The server of files ends: {error}."));
    }
    let role = role.to_str().unwrap_or_default();
    let user = arguments.next();
    let user = user.as_ref().map(|user| user.to_str().unwrap_or_default());
    let socket = begin(role, user).map_err(|why| format!("The launcher cannot begin: {why}."))?;
    let ended = match role {
        "resident" => resident::serve(&socket, &mut resident::make),
        "per-job" => per_job::serve(&socket, user.unwrap_or_default()),
        "per-job-plain" => per_job::serve_plainly(&socket, user),
        _ => worker::serve(&socket),
    };
    ended.map_err(|error| format!("The launcher ends: {error}."))
}

/// Becomes what the role says, and tells the agent.
fn begin(role: &str, user: Option<&str>) -> Result<OwnedFd, String> {
    let socket = rustix::io::fcntl_dupfd_cloexec(std::io::stdin().as_fd(), 3).map_err(|error| error.to_string())?;
    let begun = match role {
        "resident" | "worker" => become_user(user),
        "apart" => per_job::become_apart()
            .map_err(|error| format!("a view of its own cannot be made: {error}"))
            .and_then(|()| become_user(Some(user.unwrap_or_default()))),
        // Its workers become the user.
        "per-job" | "per-job-plain" => Ok(()),
        _ => Err(format!("there is no such role: {role}")),
    };
    let begun = begun.and_then(|()| settle(role, &socket).map_err(|error| error.to_string()));
    if let Err(why) = &begun {
        // If nobody listens, it is in the log.
        let _ = send(&socket, &Said::Failed(why.clone()), &[], true);
    }
    begun.map(|()| socket)
}

fn settle(role: &str, socket: &OwnedFd) -> std::io::Result<()> {
    set_no_new_privs(true)?;
    // What a launcher starts inherits it. That of jobs that want to be alone mounts things for its workers.
    if matches!(role, "resident" | "per-job-plain" | "apart") {
        atelier_confine::refuse_calls()?;
    }
    // Whoever becomes another user has to say it again.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // Whoever detaches itself from a job becomes a child of ours.
    set_child_subreaper(Some(Pid::INIT))?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let handle = pidfd_open(getpid(), PidfdFlags::empty())?;
    send(socket, &Said::Ready, &[handle.as_fd()], true)
}

/// Gives up root for good, if there is a user to become. This process has one thread, so what counts for the
/// thread counts for the process.
fn become_user(user: Option<&str>) -> Result<(), String> {
    let Some(user) = user else { return Ok(()) };
    let uid = user.parse::<u32>().ok().filter(|uid| *uid != 0).ok_or_else(|| format!("“{user}” is no user"))?;
    let (user, group) = (rustix::process::Uid::from_raw(uid), rustix::process::Gid::from_raw(uid));
    set_thread_groups(&[])
        .and_then(|()| set_thread_res_gid(group, group, group))
        .and_then(|()| set_thread_res_uid(user, user, user))
        .map_err(|error| format!("it cannot become user {uid}: {error}"))
}
