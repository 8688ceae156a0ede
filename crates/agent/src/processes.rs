//! Processes as `/proc` shows them.

use std::fs;
use std::sync::OnceLock;

use rustix::process::{Pid, Signal, kill_process};

/// Whether the kernel lists children; asked once.
fn lists_children() -> bool {
    static LISTS: OnceLock<bool> = OnceLock::new();
    *LISTS.get_or_init(|| {
        let own = std::process::id();
        std::path::Path::new(&format!("/proc/{own}/task/{own}/children")).exists()
    })
}

/// The children of a process, of all its threads; none if it is gone.
fn children(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut found = Vec::new();
    for task in tasks.flatten() {
        let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(text.split_whitespace().filter_map(|word| word.parse::<u32>().ok()));
    }
    found
}

/// The parent of a process.
pub fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold spaces and brackets, so count from the last bracket.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// The group and the session of a process; 0 for one that was made outside of the sandbox.
pub fn belongs_to(pid: u32) -> Option<[u32; 2]> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = stat.rsplit_once(')')?.1.split_whitespace().skip(2);
    let mut next = || words.next()?.parse().ok();
    Some([next()?, next()?])
}

/// Every process with its parent, for kernels that do not list children.
fn all() -> Vec<(u32, u32)> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| Some((pid, parent(pid)?))).collect()
}

/// All processes below a process, itself not included.
pub fn descendants(pid: u32) -> Vec<u32> {
    let parents = if lists_children() { Vec::new() } else { all() };
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        next += 1;
        if lists_children() {
            found.extend(children(pid));
        } else {
            found.extend(parents.iter().filter(|(_, parent)| *parent == pid).map(|(pid, _)| *pid));
        }
    }
    found.remove(0);
    found
}

/// Whether a process is below another one, or is it.
pub fn is_below(mut pid: u32, ancestor: u32) -> bool {
    for _ in 0..64 {
        if pid == ancestor {
            return true;
        }
        match parent(pid) {
            Some(above) if above > 1 => pid = above,
            _ => return false,
        }
    }
    false
}

/// Sends a signal; a process that is gone is fine.
pub fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// The process behind a handle, as this process numbers it: inside a sandbox it has another number. Nothing
/// once it has ended and somebody has waited for it.
pub fn of_handle(handle: impl std::os::fd::AsFd) -> Option<u32> {
    use std::os::fd::AsRawFd;
    let file = format!("/proc/self/fdinfo/{}", handle.as_fd().as_raw_fd());
    let text = fs::read_to_string(file).ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix("Pid:")?.trim().parse::<i64>().ok())
        .and_then(|pid| u32::try_from(pid).ok())
}
