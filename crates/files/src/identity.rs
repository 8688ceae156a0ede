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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::path::{Path, PathBuf};
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    const ROUNDS: u32 = 1_000;
    const PEOPLE: [u32; 2] = [200_901, 200_902];

    /// A piece of work for a thread: as whom, where they write, whose file is not theirs, and how it ends.
    struct Work {
        uid: u32,
        own: PathBuf,
        others: PathBuf,
        end: u32,
    }

    /// A thread of a pool, which does one piece of work after another. It waits for a word before each step,
    /// so that somebody else decides in which order two of them go on.
    fn thread(works: &Receiver<Work>, words: &Receiver<()>, said: &Sender<()>) {
        let step = || {
            said.send(()).expect("heard");
            words.recv().expect("a word");
        };
        while let Ok(work) = works.recv() {
            step();
            let done = catch_unwind(AssertUnwindSafe(|| {
                as_user(Some(work.uid), || {
                    step();
                    assert_eq!((geteuid().as_raw(), getegid().as_raw()), (work.uid, work.uid));
                    let file = fs::File::options().write(true).create_new(true).mode(0o600).open(&work.own);
                    drop(file.expect("made"));
                    step();
                    let denied = fs::File::open(&work.others).expect_err("it is somebody else's");
                    assert_eq!(denied.kind(), std::io::ErrorKind::PermissionDenied);
                    assert_eq!((geteuid().as_raw(), getegid().as_raw()), (work.uid, work.uid));
                    match work.end {
                        0 => Err(Error::Denied),
                        1 => resume_unwind(Box::new("as a bug would")),
                        _ => Ok(()),
                    }
                })
            }));
            assert_eq!((done.is_err(), matches!(done, Ok(Ok(())))), (work.end == 1, work.end > 1), "as it was to end");
            assert!(geteuid().is_root() && getegid().is_root(), "nobody stays");
            step();
        }
    }

    fn closed(path: &Path, uid: u32) -> PathBuf {
        fs::write(path, "x").expect("written");
        std::os::unix::fs::chown(path, Some(uid), Some(uid)).expect("given");
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("closed");
        path.to_owned()
    }

    #[test]
    fn a_thousand_interleavings_never_mix_two_people_up() {
        if !geteuid().is_root() {
            let is_meant = std::env::var_os("ATELIER_TEST_WITHOUT_ROOT").is_some();
            assert!(is_meant, "this test needs root; set ATELIER_TEST_WITHOUT_ROOT=1 if it is meant to be left out");
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("opened");
        let theirs = PEOPLE.map(|uid| closed(&folder.path().join(format!("of-{uid}")), uid));
        let mut number = 0x2545_f491_4f6c_dd1d_u64;
        // Xorshift: the same order each time, so that what fails can be seen again.
        let mut draw = move |below: u32| {
            number ^= number << 13;
            number ^= number >> 7;
            number ^= number << 17;
            u32::try_from(number % u64::from(below)).expect("is below")
        };
        std::thread::scope(|scope| {
            let threads = [(), ()].map(|()| {
                let ((works, take), (words, hear), (say, said)) = (channel(), channel(), channel());
                scope.spawn(move || thread(&take, &hear, &say));
                (works, words, said)
            });
            for round in 0..ROUNDS {
                // Whose work a thread does changes, as it does in a pool.
                let swap = draw(2) as usize;
                let mut left = [0, 1].map(|at| {
                    let person = at ^ swap;
                    let own = folder.path().join(format!("{round}-{person}"));
                    let work = Work { uid: PEOPLE[person], own, others: theirs[1 - person].clone(), end: draw(4) };
                    threads[at].0.send(work).expect("taken");
                    4
                });
                while left != [0, 0] {
                    let at = draw(2) as usize;
                    if left[at] > 0 {
                        threads[at].2.recv().expect("it waits");
                        threads[at].1.send(()).expect("it goes on");
                        left[at] -= 1;
                    }
                }
                for person in [0, 1] {
                    let found = fs::metadata(folder.path().join(format!("{round}-{person}"))).expect("is there");
                    assert_eq!((found.uid(), found.gid()), (PEOPLE[person], PEOPLE[person]), "round {round}");
                }
            }
            drop(threads);
        });
    }
}
