//! The folders of an instance on the machine. What is above a person's own folders belongs to the agent, so
//! nobody can put a link in the way.

use std::os::unix::fs::{DirBuilderExt, lchown};
use std::path::{Path, PathBuf};
use std::{fs, io};

use atelier_domain::compute::app::setup_of;
use atelier_protocol::SetUp;

/// The longest path of a socket is 108 bytes.
const LONGEST_SOCKET: usize = 100;
/// The folder of kernels' sockets, beside those of applications. Jupyter makes it, for its user alone.
pub const KERNELS: &str = "kernels";
/// As long as the longest name of a socket with its folder: `/kernels/kernel-<36 letters>-ipc-<number>`.
const SOCKET_NAME: usize = 59;
/// The name under which the workspace's files stand in every home, where JupyterLab shows them.
const WORKSPACE: &str = "workspace";
/// So many logs of earlier set-ups are kept.
const OLD_LOGS: usize = 10;

/// Where things are.
#[derive(Clone, Debug)]
pub struct Folders {
    pub home: PathBuf,
    /// Its layer of the environment.
    pub layer: PathBuf,
    /// The sockets of its applications.
    pub run: PathBuf,
    pub logs: PathBuf,
    /// In place of the person's own, for scripts that they have not accepted.
    pub scratch: PathBuf,
    /// Whether `run` is not where it should be, since that is too long for a socket.
    is_elsewhere: bool,
    root: PathBuf,
    uid: Option<u32>,
}

impl Folders {
    /// Makes those of an instance. What an earlier layer or an earlier start has left goes.
    pub fn make(set_up: &SetUp, uid: Option<u32>, has_view: bool) -> Result<Self, String> {
        let root = set_up.folder.clone();
        if !root.is_absolute() {
            return Err(format!("{} is not the whole path of a folder", root.display()));
        }
        let run = root.join("run");
        let is_elsewhere = !has_view && run.as_os_str().len() + SOCKET_NAME > LONGEST_SOCKET;
        let run = if is_elsewhere {
            std::env::temp_dir().join(format!("atelier-{:016x}", rand::random::<u64>())).join("run")
        } else {
            run
        };
        let folders = Self {
            home: root.join("home"),
            layer: root.join("layers").join(set_up.layer.to_string()),
            run,
            logs: root.join("logs"),
            scratch: root.join("scratch"),
            is_elsewhere,
            root,
            uid,
        };
        folders
            .make_all(set_up.layer)
            .map_err(|(path, error)| format!("the folder {} cannot be made: {error}", path.display()))?;
        Ok(folders)
    }

    fn make_all(&self, layer: u32) -> Result<(), (PathBuf, io::Error)> {
        let layers = self.root.join("layers");
        let above = self.run.parent().unwrap_or(&self.root);
        for path in [&self.root, &layers, above] {
            make(path, 0o711)?;
        }
        make(&self.logs, 0o700)?;
        self.sweep();
        self.discard(&self.root.join("run"));
        self.discard(&self.scratch);
        for entry in fs::read_dir(&layers).into_iter().flatten().flatten() {
            if entry.file_name().to_str().and_then(|name| name.parse().ok()) != Some(layer) {
                self.discard(&entry.path());
            }
        }
        for path in [&self.home, &self.layer, &self.run] {
            give(path, self.uid)?;
        }
        self.forget_old_logs();
        Ok(())
    }

    /// Puts a link to the workspace's files into the home, unless something of that name is there: that is
    /// the person's own. It belongs to us, and they may remove it.
    pub fn link_workspace(&self, target: &Path) {
        drop(std::os::unix::fs::symlink(target, self.home.join(WORKSPACE)));
    }

    /// Makes empty folders in place of the person's own, for another user.
    pub fn make_scratch(&self, user: Option<u32>) -> Result<(), String> {
        self.discard(&self.scratch);
        let made = make(&self.scratch, 0o711)
            .and_then(|()| ["home", "jobs", "layer"].iter().try_for_each(|name| give(&self.scratch.join(name), user)));
        made.map_err(|(path, error)| format!("the folder {} cannot be made: {error}", path.display()))
    }

    /// Removes a folder. It may be large, and nobody has to wait for it.
    pub fn discard(&self, path: &Path) {
        let gone = self.root.join(format!(".gone-{:016x}", rand::random::<u64>()));
        match fs::rename(path, &gone) {
            Ok(()) => remove(gone),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => drop(fs::remove_dir_all(path)),
        }
    }

    /// What could not be removed the last time.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.root).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(|name| name.starts_with(".gone-")) {
                remove(entry.path());
            }
        }
    }

    fn forget_old_logs(&self) {
        let number = |name: &str| setup_of(name.strip_suffix(".log")?);
        let entries = fs::read_dir(&self.logs).into_iter().flatten().flatten();
        let mut logs: Vec<(u64, PathBuf)> =
            entries.filter_map(|entry| Some((number(entry.file_name().to_str()?)?, entry.path()))).collect();
        logs.sort();
        let old = logs.len().saturating_sub(OLD_LOGS);
        for (_, path) in &logs[..old] {
            drop(fs::remove_file(path));
        }
    }

    /// At the end of a generation: what is of no use to the next.
    pub fn leave(&self) {
        if self.is_elsewhere {
            drop(self.run.parent().map(fs::remove_dir_all));
        }
    }
}

/// Makes a folder that is that user's own.
fn give(path: &Path, user: Option<u32>) -> Result<(), (PathBuf, io::Error)> {
    make(path, 0o700)?;
    if user.is_some() {
        lchown(path, user, user).map_err(|error| (path.to_owned(), error))?;
    }
    Ok(())
}

fn make(path: &Path, mode: u32) -> Result<(), (PathBuf, io::Error)> {
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(mode).create(path).map_err(|error| (path.to_owned(), error))
}

fn remove(path: PathBuf) {
    std::thread::spawn(move || drop(fs::remove_dir_all(path)));
}
