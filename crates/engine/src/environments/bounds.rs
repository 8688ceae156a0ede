//! What a build may use: memory, processes, cores, room on the disk. Building runs code of packages.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use atelier_confine::{Confinement, NodeGroup, Share};
use sha2::{Digest as _, Sha256};

use super::failure::{Failure, free_space};
use super::guard::Guard;
use crate::clock;

/// Between two counts of what a build has written while the disk says nothing.
const COUNT_EVERY: Duration = Duration::from_secs(60);

/// What a build may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Thousandths of a core.
    pub cores: u64,
    /// MiB.
    pub memory: u64,
    /// Processes and threads.
    pub processes: u64,
    /// Bytes on the disk, downloads included.
    pub disk: u64,
}

impl Default for Bounds {
    /// Half of the machine, and 32 GiB on its disk.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
        let memory = rustix::system::sysinfo();
        let memory = (memory.totalram * u64::from(memory.mem_unit)) >> 20;
        Self { cores: (cores * 500).max(1_000), memory: (memory / 2).max(1_024), processes: 512, disk: 32 << 30 }
    }
}

/// The bounds of a build that runs.
#[derive(Debug)]
pub(super) struct Bounded {
    bounds: Bounds,
    group: Option<NodeGroup>,
    /// The user of the build, if nobody else has it and no control group says what is left of it.
    user: Option<u32>,
    /// Where it writes.
    folders: Vec<PathBuf>,
    free: u64,
    counted: Instant,
}

impl Bounded {
    /// Makes the control group of builds below that folder, with nothing in it, where there are control
    /// groups. Gives the guard that has programs enter it.
    pub fn begin(bounds: Bounds, folder: &Path, guard: Guard) -> Result<(Self, Guard), Failure> {
        let name =
            format!("build-{}", atelier_domain::text::hex(&Sha256::digest(folder.as_os_str().as_encoded_bytes())[..8]));
        let group = Confinement::detect().map(|confinement| confinement.node(&name, 0));
        let share = Share { cores: bounds.cores, memory: bounds.memory, processes: bounds.processes };
        let doors = group.as_ref().map(|group| {
            // What a build that was killed has left there is nobody's.
            group.kill_all().and_then(|()| group.create(share)).and_then(|()| group.doors())
        });
        let (group, doors) = match doors.transpose() {
            Ok(doors) => (group, doors.unwrap_or_default()),
            Err(error) => {
                tracing::warn!(%error, "environments are built without a control group");
                (None, Vec::new())
            }
        };
        let filter = folder.join(".refused-calls");
        write_filter(&filter).map_err(|error| Failure::file("written", &filter, &error))?;
        let user = (group.is_none() && guard.has_own_user()).then(|| guard.user());
        let bounded =
            Self { bounds, group, user, folders: Vec::new(), free: free_space(folder), counted: clock::instant() };
        bounded.end_all();
        Ok((bounded, guard.within(doors, Some(filter))))
    }

    /// Watches how much is written there.
    pub fn watch(&mut self, folders: &[&Path]) {
        self.folders = folders.iter().map(|folder| (*folder).to_owned()).collect();
    }

    /// A program has begun. One that could not enter by itself is put there now.
    pub fn attach(&self, pid: u32) {
        if let Some(group) = &self.group
            && let Err(error) = group.enter(pid)
        {
            tracing::debug!(%error, "a program of a build is not in its control group");
        }
    }

    /// Ends all that a build has left running.
    pub fn end_all(&self) {
        let ended = self.group.as_ref().map_or(Ok(()), NodeGroup::kill_all).and_then(|()| match self.user {
            Some(user) => atelier_confine::kill_until_empty(|| processes_of(user)),
            None => Ok(()),
        });
        if let Err(error) = ended {
            tracing::warn!(%error, "something of a build does not end");
        }
        // Killing forbids to fork; the next program may again.
        if let Some(group) = &self.group {
            let Bounds { cores, memory, processes, .. } = self.bounds;
            drop(group.create(Share { cores, memory, processes }));
        }
    }

    /// Whether a program was ended since it wanted more memory than there is for builds.
    pub fn is_out_of_memory(&self) -> bool {
        self.group.as_ref().is_some_and(|group| group.memory_kills() > 0)
    }

    pub const fn memory(&self) -> u64 {
        self.bounds.memory
    }

    /// Refuses to go on with more on the disk than a build may have. To count it takes long, so that is done
    /// once so much is gone from the disk, and now and then.
    pub fn check_disk(&mut self) -> Result<(), Failure> {
        let Some(folder) = self.folders.first() else { return Ok(()) };
        let gone = self.free.saturating_sub(free_space(folder));
        let now = clock::instant();
        if gone < self.bounds.disk && now.duration_since(self.counted) < COUNT_EVERY {
            return Ok(());
        }
        self.counted = now;
        let written: u64 = self.folders.iter().map(|folder| size(folder)).sum();
        if written > self.bounds.disk {
            return Err(Failure::too_large(self.bounds.disk));
        }
        // The rest is somebody else's.
        self.free = free_space(folder) + written;
        Ok(())
    }
}

impl Drop for Bounded {
    fn drop(&mut self) {
        self.end_all();
        if let Some(group) = &self.group {
            // The next build makes it again.
            drop(group.remove());
        }
    }
}

/// How much a folder has on the disk.
pub(super) fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(info) if info.is_dir() => size(&entry.path()),
        Ok(info) => info.blocks() * 512,
        Err(_) => 0,
    });
    sizes.sum()
}

/// All processes of a user.
fn processes_of(user: u32) -> Vec<u32> {
    let is_theirs = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
        ids.is_some_and(|ids| ids.split_whitespace().any(|id| id.parse() == Ok(user)))
            && !status.lines().any(|line| line.starts_with("State:\tZ"))
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_theirs).collect()
}

/// Writes the filter of system calls. The folder is the server's own, so nobody can put a link in the way.
fn write_filter(path: &Path) -> io::Result<()> {
    let program = atelier_confine::refused_calls_program()?;
    if fs::read(path).is_ok_and(|found| found == program) {
        return Ok(());
    }
    let draft = path.with_extension(std::process::id().to_string());
    let mut file = fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(&program)?;
    drop(file);
    fs::rename(&draft, path)
}
