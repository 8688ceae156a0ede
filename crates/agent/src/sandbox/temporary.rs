//! The temporary files of jobs that are alone: a folder for each, and one that was left as it was is used
//! again.

use std::os::unix::fs::{DirBuilderExt, lchown};
use std::path::PathBuf;
use std::{fs, io};

use rustix::fs::CWD;

use crate::untouched;

/// So many are kept for later.
const MOST: usize = 8;

/// Folders for temporary files. They lie in a folder of the agent's, so nobody else can put a link in the
/// way.
#[derive(Debug)]
pub struct Temporaries {
    folder: PathBuf,
    free: Vec<(Option<u32>, PathBuf)>,
}

impl Temporaries {
    pub const fn new(folder: PathBuf) -> Self {
        Self { folder, free: Vec::new() }
    }

    /// An empty one of that user.
    pub fn take(&mut self, uid: Option<u32>, number: u64) -> io::Result<PathBuf> {
        if let Some(index) = self.free.iter().position(|(of, _)| *of == uid) {
            return Ok(self.free.swap_remove(index).1);
        }
        let path = self.folder.join(number.to_string());
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        if uid.is_some() {
            lchown(&path, uid, uid)?;
        }
        Ok(path)
    }

    /// It is not needed any more. What is in it may be much, and nobody has to wait until that is removed.
    pub fn give(&mut self, uid: Option<u32>, path: PathBuf) {
        let own = uid.unwrap_or_else(|| rustix::process::geteuid().as_raw());
        let look = || -> rustix::io::Result<bool> {
            let folder = untouched::open(CWD, &path)?;
            Ok(untouched::is_private(&folder, own)? && untouched::holds(&folder, &[])?)
        };
        if self.free.len() < MOST && look().unwrap_or(false) {
            self.free.push((uid, path));
        } else if fs::remove_dir(&path).is_err() {
            std::thread::spawn(move || drop(fs::remove_dir_all(path)));
        }
    }

    /// Keeps none.
    pub fn clear(&mut self) {
        for (_, path) in self.free.drain(..) {
            drop(fs::remove_dir(path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_left_clean_is_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut all = Temporaries::new(folder.path().to_owned());
        let (first, second) = (all.take(None, 1).unwrap(), all.take(None, 2).unwrap());
        fs::write(first.join("left"), "").unwrap();
        all.give(None, first.clone());
        all.give(None, second.clone());
        // Nobody else gets it.
        assert_ne!(all.take(Some(rustix::process::geteuid().as_raw()), 3).unwrap(), second);
        assert_eq!(all.take(None, 4).unwrap(), second);
        all.give(None, second.clone());
        all.clear();
        assert!(!second.exists());
        atelier_testing::wait_until("the other to go", std::time::Duration::from_secs(30), || {
            (!first.exists()).then_some(())
        });
    }
}
