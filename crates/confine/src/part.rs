//! The group of a part of a job.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::files::{again, keyed, make, pids, remove, write};
use crate::kill::{kill, until_empty};
use crate::node::{limit_memory_one, limit_memory_two, usage_one, usage_two};
use crate::{Hierarchies, Share, Usage};

/// The group of a part of a job. It may be used for one after another.
#[derive(Debug)]
pub struct PartGroup {
    files: Files,
    /// How often the system has killed for lack of memory; open, since it is read again and again.
    kills: File,
    /// Where processes are put into it, open for the same reason: one in each hierarchy. What is read from
    /// one that is open may be old.
    doors: Vec<File>,
    share: Option<Share>,
}

#[derive(Debug)]
enum Files {
    One { cpu: PathBuf, memory: PathBuf, accounting: Option<PathBuf>, pids: Option<PathBuf>, all: Vec<PathBuf> },
    Two(PathBuf),
}

/// How often the system has killed for lack of memory, from the file that [`PartGroup::memory_kills_file`]
/// gives.
pub fn memory_kills(file: &File) -> u64 {
    again(file).ok().and_then(|text| keyed(&text, "oom_kill")).unwrap_or(0)
}

impl PartGroup {
    pub(crate) fn make(hierarchies: &Hierarchies, name: &Path) -> io::Result<Self> {
        let files = match hierarchies {
            Hierarchies::One(one) => Files::One {
                cpu: one.cpu.join(name),
                memory: one.memory.join(name),
                accounting: one.accounting.as_ref().map(|root| root.join(name)),
                pids: one.pids.as_ref().map(|root| root.join(name)),
                all: one.controllers().iter().map(|root| root.join(name)).collect(),
            },
            Hierarchies::Two(root) => Files::Two(root.join(name)),
        };
        let kills = match &files {
            Files::One { all, memory, .. } => {
                all.iter().try_for_each(|folder| make(folder))?;
                memory.join("memory.oom_control")
            }
            Files::Two(folder) => {
                make(folder)?;
                folder.join("memory.events")
            }
        };
        let folders = match &files {
            Files::One { all, .. } => all.as_slice(),
            Files::Two(folder) => std::slice::from_ref(folder),
        };
        let open = |folder: &PathBuf| File::options().write(true).open(folder.join("cgroup.procs"));
        let doors = folders.iter().map(open).collect::<io::Result<_>>()?;
        Ok(Self { files, kills: File::open(kills)?, doors, share: None })
    }

    /// Sets its share. What it has already costs nothing.
    pub fn set(&mut self, share: Share) -> io::Result<()> {
        if self.share == Some(share) {
            return Ok(());
        }
        self.share = None;
        match &self.files {
            Files::One { cpu, memory, pids, .. } => {
                limit_memory_one(memory, share.memory << 20)?;
                write(&cpu.join("cpu.shares"), (share.cores * 1_024 / 1_000).clamp(2, 262_144))?;
                if let Some(pids) = pids {
                    write(&pids.join("pids.max"), share.processes)?;
                }
            }
            Files::Two(folder) => {
                limit_memory_two(folder, share.memory << 20)?;
                write(&folder.join("cpu.weight"), (share.cores / 10).clamp(1, 10_000))?;
                drop(write(&folder.join("pids.max"), share.processes));
            }
        }
        self.share = Some(share);
        Ok(())
    }

    /// Forbids its processes to fork, so that they can be killed one after the other. The next [`Self::set`]
    /// allows it again.
    pub fn forbid_forks(&mut self) {
        self.share = None;
        let folder = match &self.files {
            Files::One { pids, .. } => pids.as_ref(),
            Files::Two(folder) => Some(folder),
        };
        if let Some(folder) = folder {
            drop(write(&folder.join("pids.max"), 0));
        }
    }

    /// Puts a process into it. What it forks from then on is in it too.
    pub fn attach(&self, pid: u32) -> io::Result<()> {
        let pid = pid.to_string();
        self.doors.iter().try_for_each(|mut door| door.write_all(pid.as_bytes()))
    }

    pub fn pids(&self) -> Vec<u32> {
        match &self.files {
            Files::One { memory, .. } => pids(memory),
            Files::Two(folder) => pids(folder),
        }
    }

    /// How often the system has killed one of its processes for lack of memory, since it was made.
    pub fn memory_kills(&self) -> u64 {
        memory_kills(&self.kills)
    }

    /// The file that counts that, for somebody who may not open it: [`memory_kills`] reads it.
    pub const fn memory_kills_file(&self) -> &File {
        &self.kills
    }

    /// What it has used.
    pub fn usage(&self) -> Usage {
        let processes = self.pids().len() as u64;
        match &self.files {
            Files::One { accounting, memory, .. } => usage_one(accounting.as_deref(), memory, processes),
            Files::Two(folder) => usage_two(folder, processes),
        }
    }

    /// Kills all its processes, without waiting for their end. Says whether there were none.
    pub fn kill(&mut self) -> bool {
        let pids = self.pids();
        if !pids.is_empty() {
            self.forbid_forks();
            pids.into_iter().for_each(|pid| drop(kill(pid)));
            return false;
        }
        true
    }

    /// Kills all its processes and waits until they are gone.
    pub fn kill_all(&mut self) -> io::Result<()> {
        self.forbid_forks();
        until_empty(|| self.pids())
    }

    /// Removes it. It must not have processes.
    pub fn remove(self) -> io::Result<()> {
        match &self.files {
            Files::One { all, .. } => all.iter().try_for_each(|folder| remove(folder)),
            Files::Two(folder) => remove(folder),
        }
    }
}
