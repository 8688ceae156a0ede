//! Doing something as somebody.
//!
//! Users count for each thread on Linux. A thread of a server that is root takes on a person's user for the
//! time of one piece of work and goes back afterwards, also when that panics; the real user stays root's, so
//! that no process of the person may touch it.

use std::cell::Cell;

use rustix::process::{Gid, Uid, getegid, geteuid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::error::{Error, Result};

thread_local! {
    /// Whether this thread has given up the groups that root came with: they would open what is closed to the
    /// person.
    static HAS_NO_GROUPS: Cell<bool> = const { Cell::new(false) };
}

/// Goes back to root when it is dropped.
struct Back;

impl Drop for Back {
    fn drop(&mut self) {
        let back = set_thread_res_uid(None, Uid::ROOT, None).and_then(|()| set_thread_res_gid(None, Gid::ROOT, None));
        if back.is_err() || !geteuid().is_root() || !getegid().is_root() {
            // A thread that stays somebody else would do other people's work as them.
            std::process::abort();
        }
    }
}

/// Does something as the user of that number, or as ourselves where people have no users of their own.
pub fn as_user<T>(uid: Option<u32>, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let Some(uid) = uid else { return work() };
    if uid == 0 || !geteuid().is_root() {
        return Err(Error::Denied);
    }
    if !HAS_NO_GROUPS.get() {
        set_thread_groups(&[])?;
        HAS_NO_GROUPS.set(true);
    }
    let back = Back;
    set_thread_res_gid(None, Gid::from_raw(uid), None)?;
    set_thread_res_uid(None, Uid::from_raw(uid), None)?;
    if geteuid().as_raw() != uid || getegid().as_raw() != uid {
        return Err(Error::Denied);
    }
    let done = work();
    drop(back);
    done
}
