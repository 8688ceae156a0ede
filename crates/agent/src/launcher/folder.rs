//! The folder of a job. All of this runs as the person whose job it is, so a folder that they have turned
//! into something else can hurt only them.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags, openat, renameat_with};
use rustix::process::geteuid;

use crate::untouched;

/// What a job leaves in here is kept.
pub const OUTPUTS: &str = "outputs";

/// The file in a job's folder that says that its node is taken back.
pub const EVICTION: &str = ".atelier-evicted";
/// So many attempts back is looked for a folder that an evicted one has left.
const LOOKED_BACK: u32 = 10;

/// Leaves the notice in a folder, for its owner. Whoever does this may be root, so it looks whether the
/// folder is theirs.
pub fn notice(folder: &str, owner: Option<u32>, seconds: u64) -> io::Result<()> {
    let folder = untouched::open(CWD, folder)?;
    let owner = owner.unwrap_or_else(|| geteuid().as_raw());
    if rustix::fs::fstat(&folder)?.st_uid != owner {
        return Err(io::Error::other("the folder belongs to somebody else"));
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(&folder, EVICTION, flags, Mode::from_raw_mode(0o644)) {
        Ok(file) => File::from(file).write_all(format!("{seconds}\n").as_bytes()),
        Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The folder of a job.
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// That one; nothing is made yet.
    pub fn new(path: String) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether what ran in it was told that its node is taken back.
    pub fn is_evicted(&self) -> bool {
        fs::symlink_metadata(self.path.join(EVICTION)).is_ok()
    }

    /// Which attempt it belongs to; its name is `job.attempt.rank`.
    fn attempt(&self) -> Option<(&str, u32, &str)> {
        let mut parts = self.path.file_name()?.to_str()?.splitn(3, '.');
        let (job, attempt, rank) = (parts.next()?, parts.next()?, parts.next()?);
        Some((job, attempt.parse().ok()?, rank))
    }

    /// Takes the folder over that an evicted attempt has left, if there is one.
    fn take_over(&self) {
        let Some((job, attempt, rank)) = self.attempt().filter(|(_, attempt, _)| *attempt > 1) else { return };
        let before = (attempt.saturating_sub(LOOKED_BACK).max(1)..attempt).rev();
        let left = before.map(|number| Self { path: self.path.with_file_name(format!("{job}.{number}.{rank}")) });
        if let Some(left) = left.into_iter().find(Self::is_evicted)
            && renameat_with(CWD, &left.path, CWD, &self.path, RenameFlags::NOREPLACE).is_ok()
        {
            self.remove(EVICTION);
        }
    }

    /// Makes it, with the folder for outputs; or takes over what an evicted attempt has left.
    pub fn make(&self) -> Result<(), String> {
        self.take_over();
        let make = |path: &Path| match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        };
        make(&self.path)
            .and_then(|()| make(&self.path.join(OUTPUTS)))
            .map_err(|error| format!("the job's folder {} cannot be made: {error}", self.path.display()))
    }

    /// Puts files into it.
    pub fn fill(&self, paths: &[String], contents: Vec<OwnedFd>) -> Result<(), String> {
        self.make()?;
        for (path, content) in paths.iter().zip(contents) {
            let inside = inside(path).ok_or_else(|| format!("“{path}” does not lie in the job's folder"))?;
            self.put(&inside, content).map_err(|error| format!("the file “{path}” cannot be written: {error}"))?;
        }
        Ok(())
    }

    fn put(&self, path: &Path, content: OwnedFd) -> io::Result<()> {
        if let Some(above) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(self.path.join(above))?;
        }
        let (mut from, mut to) = (File::from(content), self.create(path, 0o600)?);
        io::copy(&mut from, &mut to)?;
        Ok(())
    }

    /// Makes a new file in it; one of that name is replaced, a link of that name is not followed.
    pub fn create(&self, path: &Path, mode: u32) -> io::Result<File> {
        let path = self.path.join(path);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        File::options().write(true).create_new(true).mode(mode).open(path)
    }

    /// Removes a file from it, if it is there.
    pub fn remove(&self, name: &str) {
        drop(fs::remove_file(self.path.join(name)));
    }

    /// Gives it to the next job under its name, if this one has left nothing in it and changed nothing about
    /// it; making a folder and removing it again takes longer than many jobs. Says whether it did.
    pub fn hand_on(&self, to: &Self) -> bool {
        // A later attempt may have a folder of its own already.
        let is_first = to.attempt().is_none_or(|(_, attempt, _)| attempt <= 1);
        is_first && self.is_as_made() && renameat_with(CWD, &self.path, CWD, &to.path, RenameFlags::NOREPLACE).is_ok()
    }

    /// Whether it is as it was when it was made.
    fn is_as_made(&self) -> bool {
        let look = || -> rustix::io::Result<bool> {
            let folder = untouched::open(CWD, &self.path)?;
            let outputs = untouched::open(&folder, OUTPUTS)?;
            let uid = geteuid().as_raw();
            Ok(untouched::is_private(&folder, uid)?
                && untouched::is_private(&outputs, uid)?
                && untouched::holds(&folder, &[OUTPUTS])?
                && untouched::holds(&outputs, &[])?)
        };
        look().unwrap_or(false)
    }

    /// Removes everything in it but the outputs, and itself if there are none.
    pub fn tidy(&self) {
        let outputs = self.path.join(OUTPUTS);
        // Most jobs leave nothing, and then two calls do.
        let has_outputs = fs::remove_dir(&outputs).is_err_and(|error| error.kind() != io::ErrorKind::NotFound);
        if !has_outputs && fs::remove_dir(&self.path).is_ok() {
            return;
        }
        open_up(&self.path);
        let Ok(entries) = fs::read_dir(&self.path) else { return };
        for entry in entries.flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name() != OUTPUTS && fs::remove_dir_all(&path).is_err() {
                    open_all(&path);
                    drop(fs::remove_dir_all(&path));
                }
            } else {
                drop(fs::remove_file(&path));
            }
        }
        drop(fs::remove_dir(&outputs));
        drop(fs::remove_dir(&self.path));
    }
}

/// A path that stays inside a folder.
pub fn inside(path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    let is_normal = path.components().all(|part| matches!(part, Component::Normal(_)));
    (is_normal && path.file_name().is_some() && !path.as_os_str().as_encoded_bytes().contains(&0))
        .then(|| path.to_owned())
}

/// Takes back a folder's rights from whoever gave them away.
fn open_up(folder: &Path) {
    if fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
        drop(fs::set_permissions(folder, fs::Permissions::from_mode(0o700)));
    }
}

fn open_all(folder: &Path) {
    open_up(folder);
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        open_all(&entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        for good in ["a", "a/b.txt", "deep/er/and-deeper"] {
            assert!(inside(good).is_some(), "{good}");
        }
        for bad in ["", "/etc/passwd", "..", "a/../../b", "../a", ".", "./a/..", "a\0b"] {
            assert!(inside(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn only_a_folder_that_nobody_touched_is_handed_on() {
        let place = tempfile::tempdir().unwrap();
        let folder = |name: &str| Folder::new(place.path().join(name).to_str().unwrap().to_owned());
        let (first, second) = (folder("1"), folder("2"));
        first.make().unwrap();
        assert!(first.hand_on(&second));
        assert!(!first.path().exists() && second.is_as_made());
        // Somebody has put something there in the meantime.
        first.make().unwrap();
        assert!(!second.hand_on(&first));
        first.tidy();

        let touch: [fn(&Path); 8] = [
            |path| fs::write(path.join("left"), "").unwrap(),
            |path| fs::write(path.join("outputs/left"), "").unwrap(),
            |path| fs::remove_dir(path.join("outputs")).unwrap(),
            |path| fs::remove_dir_all(path).unwrap(),
            |path| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap(),
            |path| fs::set_permissions(path.join("outputs"), fs::Permissions::from_mode(0o1700)).unwrap(),
            |path| {
                fs::rename(path.join("outputs"), path.join("other")).unwrap();
                std::os::unix::fs::symlink("other", path.join("outputs")).unwrap();
            },
            |path| {
                let set = rustix::fs::setxattr(path, "user.mine", b"x", rustix::fs::XattrFlags::empty());
                // Where there are none, nothing can be left in one.
                assert!(set.is_ok() || set == Err(rustix::io::Errno::NOTSUP));
                if set.is_err() {
                    fs::write(path.join("left"), "").unwrap();
                }
            },
        ];
        for (number, touch) in touch.iter().enumerate() {
            let touched = folder("touched");
            touched.make().unwrap();
            touch(touched.path());
            assert!(!touched.hand_on(&first), "case {number}");
            drop(fs::remove_dir_all(touched.path()));
        }
    }
}
