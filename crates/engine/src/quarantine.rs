//! Quarantine: things in the data directory that the database doesn't know. They're kept until an operator
//! decides; nothing here expires.
//!
//! Each is a folder `DATA/quarantine/<name>` with a note and, in `content`, the files under the paths that
//! they had in the data directory.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use atelier_domain::Timestamp;
use atelier_domain::files::USERS;
use rustix::fs::{CWD, Mode, RenameFlags, mkdirat, renameat_with};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::fleet::Folders;
use crate::fleet::transfer::{hand_over, open_folder, own};

const NOTE: &str = "note.json";
const CONTENT: &str = "content";
/// Where restored things are, in a person's folder of Files.
pub const RESTORED: &str = "restored";

/// Something in quarantine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// What it's called here: `instance-7-1794991234567`.
    pub name: String,
    /// What it was: `instance-7`.
    pub label: String,
    /// The same for people: "Home and packages of instance-7".
    pub what: String,
    /// Since when it's here.
    pub at: Timestamp,
    /// How many files it has.
    pub files: u64,
    pub bytes: u64,
}

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum QuarantineError {
    #[error("there is nothing called “{0}” in quarantine")]
    Unknown(String),
    #[error("{0}")]
    Blocked(String),
    #[error("{0}")]
    Disk(#[from] io::Error),
}

/// The quarantine of a data directory.
#[derive(Clone, Debug)]
pub struct Quarantine {
    folders: Folders,
}

impl Quarantine {
    pub const fn new(folders: Folders) -> Self {
        Self { folders }
    }

    /// All that is held, the newest first.
    ///
    /// # Errors
    /// What the system says.
    pub fn list(&self) -> io::Result<Vec<Held>> {
        let entries = match fs::read_dir(self.folders.quarantine()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut held: Vec<Held> = entries.flatten().filter_map(|entry| read(&entry.path())).collect();
        held.sort_by(|one, other| (other.at, &one.name).cmp(&(one.at, &other.name)));
        Ok(held)
    }

    /// Moves paths of the data directory here, as one thing. What isn't there any more is left out.
    ///
    /// # Errors
    /// What the system says; what was moved by then is held.
    pub fn take(&self, label: &str, what: &str, paths: &[PathBuf], now: Timestamp) -> io::Result<Held> {
        let top = self.folders.quarantine();
        DirBuilder::new().recursive(true).mode(0o700).create(&top)?;
        let (mut number, mut name) = (1, format!("{label}-{}", now.0));
        while let Err(error) = DirBuilder::new().mode(0o700).create(top.join(&name)) {
            if error.kind() != io::ErrorKind::AlreadyExists {
                return Err(error);
            }
            number += 1;
            name = format!("{label}-{}-{number}", now.0);
        }
        let place = top.join(&name);
        let mut held = Held { name, label: label.into(), what: what.into(), at: now, files: 0, bytes: 0 };
        // First the note, so that nothing lies here without one.
        note(&place, &held)?;
        for path in paths {
            let to = place.join(CONTENT).join(path);
            let above = to.parent().unwrap_or(&place);
            DirBuilder::new().recursive(true).mode(0o700).create(above)?;
            match fs::rename(self.folders.data().join(path), &to) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                moved => moved?,
            }
        }
        (held.files, held.bytes) = count(&place.join(CONTENT));
        note(&place, &held)?;
        Ok(held)
    }

    /// One of them.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn find(&self, name: &str) -> Result<Held, QuarantineError> {
        let unknown = || QuarantineError::Unknown(atelier_domain::text::shortened(name));
        // A name, not a way to somewhere else.
        if name.contains('/') || name.starts_with('.') {
            return Err(unknown());
        }
        read(&self.folders.quarantine().join(name)).filter(|held| held.name == name).ok_or_else(unknown)
    }

    /// Gives something to a person: it's in their folder of Files from then on, and theirs where people have
    /// users of their own. Where it is now, as a path of Files.
    ///
    /// # Errors
    /// In words; then it's still held.
    pub fn restore(&self, name: &str, handle: &str, uid: Option<u32>) -> Result<String, QuarantineError> {
        let held = self.find(name)?;
        let place = self.folders.quarantine().join(&held.name);
        let entry = open_folder(CWD, place.as_os_str()).map_err(io::Error::from)?;
        if let Some(uid) = uid {
            let mut left = Vec::new();
            let content = open_folder(&entry, OsStr::new(CONTENT)).map_err(io::Error::from)?;
            hand_over(content, None, uid, &mut left)?;
            own(&entry, OsStr::new(CONTENT), uid)?;
            if !left.is_empty() {
                tracing::warn!(name, ?left, "some files in quarantine could not be given away and stay as they are");
            }
        }
        // The person's own folder is theirs to fill: no link in it is followed.
        let mut here = open_folder(CWD, self.folders.shared().as_os_str()).map_err(io::Error::from)?;
        for (part, is_theirs) in [(USERS, false), (handle, true), (RESTORED, true)] {
            match mkdirat(&here, part, Mode::RWXU) {
                Ok(()) if is_theirs => uid.map_or(Ok(()), |uid| own(&here, OsStr::new(part), uid))?,
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
            here = open_folder(&here, OsStr::new(part)).map_err(|_| {
                QuarantineError::Blocked(format!("“{part}” in “{USERS}/{handle}” isn’t a folder; rename it first"))
            })?;
        }
        match renameat_with(&entry, CONTENT, &here, held.name.as_str(), RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::EXIST) => {
                let there = format!("{USERS}/{handle}/{RESTORED}/{}", held.name);
                return Err(QuarantineError::Blocked(format!("“{there}” exists already; rename it first")));
            }
            Err(error) => return Err(io::Error::from(error).into()),
        }
        fs::remove_dir_all(&place)?;
        Ok(format!("{USERS}/{handle}/{RESTORED}/{}", held.name))
    }

    /// Removes something for good.
    ///
    /// # Errors
    /// If there is none of that name, or what the system says.
    pub fn remove(&self, name: &str) -> Result<Held, QuarantineError> {
        let held = self.find(name)?;
        let place = self.folders.quarantine().join(&held.name);
        crate::fleet::remove_folders(&[place])?;
        Ok(held)
    }
}

fn read(place: &Path) -> Option<Held> {
    serde_json::from_slice(&fs::read(place.join(NOTE)).ok()?).ok()
}

fn note(place: &Path, held: &Held) -> io::Result<()> {
    let draft = place.join("note.draft");
    let mut file = File::options().create(true).truncate(true).write(true).mode(0o600).open(&draft)?;
    file.write_all(&serde_json::to_vec_pretty(held).map_err(io::Error::other)?)?;
    file.sync_all()?;
    fs::rename(draft, place.join(NOTE))?;
    File::open(place)?.sync_all()
}

/// Files and their bytes; links aren't followed.
fn count(folder: &Path) -> (u64, u64) {
    let mut sum = (0, 0);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(info) = entry.metadata() else { continue };
        if info.is_dir() {
            let inside = count(&entry.path());
            sum = (sum.0 + inside.0, sum.1 + inside.1);
        } else {
            sum = (sum.0 + 1, sum.1 + info.len());
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quarantine() -> (tempfile::TempDir, Quarantine) {
        let data = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(data.path().join("instances/7/home")).expect("made");
        fs::write(data.path().join("instances/7/home/work.txt"), "precious").expect("written");
        fs::create_dir_all(data.path().join("files/shared")).expect("made");
        let quarantine = Quarantine::new(Folders::new(data.path()));
        (data, quarantine)
    }

    #[test]
    fn what_is_taken_is_listed_and_can_be_given_to_somebody() {
        let (data, quarantine) = quarantine();
        assert_eq!(quarantine.list().expect("lists"), []);
        let paths = ["instances/7".into(), "instances/8".into()];
        let held = quarantine.take("instance-7", "Home of instance-7", &paths, Timestamp(5)).expect("taken");
        assert_eq!((held.name.as_str(), held.files, held.bytes), ("instance-7-5", 1, 8));
        assert!(!data.path().join("instances/7").exists());
        assert_eq!(quarantine.list().expect("lists"), [held]);
        let to = quarantine.restore("instance-7-5", "ines", None).expect("restored");
        assert_eq!(to, "Users/ines/restored/instance-7-5");
        let file = data.path().join("files/shared").join(to).join("instances/7/home/work.txt");
        assert_eq!(fs::read_to_string(file).expect("is there"), "precious");
        assert_eq!(quarantine.list().expect("lists"), []);
    }

    #[test]
    fn two_things_of_one_name_are_both_kept() {
        let (data, quarantine) = quarantine();
        let take = || quarantine.take("instance-7", "", &["instances/7".into()], Timestamp(5)).expect("taken").name;
        assert_eq!(take(), "instance-7-5");
        fs::create_dir_all(data.path().join("instances/7")).expect("made");
        assert_eq!(take(), "instance-7-5-2");
    }

    #[test]
    fn a_link_in_a_persons_folder_leads_nowhere() {
        let (data, quarantine) = quarantine();
        quarantine.take("instance-7", "", &["instances/7".into()], Timestamp(5)).expect("taken");
        let own = data.path().join("files/shared/Users/ines");
        fs::create_dir_all(&own).expect("made");
        let outside = data.path().join("outside");
        fs::create_dir(&outside).expect("made");
        std::os::unix::fs::symlink(&outside, own.join(RESTORED)).expect("linked");
        let refused = quarantine.restore("instance-7-5", "ines", None).expect_err("refused").to_string();
        assert!(refused.contains("isn’t a folder"), "{refused}");
        assert_eq!(fs::read_dir(&outside).expect("is there").count(), 0);
        assert_eq!(quarantine.list().expect("lists").len(), 1, "it's still held");
    }

    #[test]
    fn only_what_is_held_can_be_removed() {
        let (data, quarantine) = quarantine();
        quarantine.take("instance-7", "", &["instances/7".into()], Timestamp(5)).expect("taken");
        for name in ["", ".", "..", "../files", "instance-7-5/content", "instance-8-5"] {
            assert!(matches!(quarantine.remove(name), Err(QuarantineError::Unknown(_))), "{name}");
        }
        assert!(data.path().join("files").exists());
        assert_eq!(quarantine.remove("instance-7-5").expect("removed").label, "instance-7");
        assert_eq!(quarantine.list().expect("lists"), []);
    }
}
