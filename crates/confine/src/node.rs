//! The group of a node.

use std::io;
use std::path::{Path, PathBuf};

use crate::detect::give_on;
use crate::files::{below, keyed, make, make_all, number, pids, remove, write};
use crate::kill::until_empty;
use crate::{Hierarchies, PartGroup, Share, Usage};

/// The period over which cores are counted, in microseconds.
const PERIOD: u64 = 100_000;

/// The group of a node: the agent, and below it the parts of jobs.
#[derive(Clone, Debug)]
pub struct NodeGroup {
    hierarchies: Hierarchies,
    name: PathBuf,
}

impl NodeGroup {
    pub(crate) const fn new(hierarchies: Hierarchies, name: PathBuf) -> Self {
        Self { hierarchies, name }
    }

    /// Its folders, one for each hierarchy.
    fn folders(&self) -> Vec<PathBuf> {
        match &self.hierarchies {
            Hierarchies::One(one) => one.all().iter().map(|root| root.join(&self.name)).collect(),
            Hierarchies::Two(root) => vec![root.join(&self.name)],
        }
    }

    /// Makes it, with its share of the machine. Again is fine and sets the share anew.
    pub fn create(&self, share: Share) -> io::Result<()> {
        let quota = (share.cores * PERIOD / 1_000).max(1_000);
        let memory = share.memory << 20;
        for folder in self.folders() {
            make_all(&folder)?;
        }
        match &self.hierarchies {
            Hierarchies::One(one) => {
                let (cpu, memory_folder) = (one.cpu.join(&self.name), one.memory.join(&self.name));
                // Newer kernels know nothing else.
                drop(write(&memory_folder.join("memory.use_hierarchy"), 1));
                limit_memory_one(&memory_folder, memory)?;
                write(&cpu.join("cpu.cfs_period_us"), PERIOD)?;
                write(&cpu.join("cpu.cfs_quota_us"), quota)?;
                write(&cpu.join("cpu.shares"), (share.cores * 1_024 / 1_000).clamp(2, 262_144))?;
                // Otherwise all nodes together would weigh as much as one process beside them; so they do as
                // one for each core.
                let all = std::thread::available_parallelism().map_or(1, |count| count.get() as u64) * 1_024;
                for level in self.name.ancestors().skip(1).filter(|level| !level.as_os_str().is_empty()) {
                    write(&one.cpu.join(level).join("cpu.shares"), all.clamp(2, 262_144))?;
                }
                if let Some(pids) = &one.pids {
                    write(&pids.join(&self.name).join("pids.max"), share.processes)?;
                }
            }
            Hierarchies::Two(root) => {
                // Controllers are given on level by level.
                for level in self.name.ancestors().filter(|level| !level.as_os_str().is_empty()) {
                    make(&root.join(level))?;
                }
                let mut level = root.clone();
                for name in &self.name {
                    level.push(name);
                    give_on(&level)?;
                }
                write(&level.join("cpu.max"), format!("{quota} {PERIOD}"))?;
                write(&level.join("cpu.weight"), (share.cores / 10).clamp(1, 10_000))?;
                limit_memory_two(&level, memory)?;
                drop(write(&level.join("pids.max"), share.processes));
            }
        }
        Ok(())
    }

    /// Whether it is there.
    pub fn exists(&self) -> bool {
        self.folders().iter().any(|folder| folder.exists())
    }

    /// Puts a process of the agent itself into it.
    pub fn enter(&self, pid: u32) -> io::Result<()> {
        self.doors()?.iter().try_for_each(|door| write(door, pid))
    }

    /// The files by which a process enters it, when its number is written there.
    pub fn doors(&self) -> io::Result<Vec<PathBuf>> {
        let door = |folder: PathBuf| {
            // In version 2 only groups without groups below them hold processes.
            let leaf = if matches!(self.hierarchies, Hierarchies::Two(_)) { folder.join("agent") } else { folder };
            make(&leaf)?;
            Ok(leaf.join("cgroup.procs"))
        };
        self.folders().into_iter().map(door).collect()
    }

    /// How often the system has killed one of its processes for lack of memory, since it was made.
    pub fn memory_kills(&self) -> u64 {
        let file = match &self.hierarchies {
            Hierarchies::One(one) => one.memory.join(&self.name).join("memory.oom_control"),
            Hierarchies::Two(root) => root.join(&self.name).join("memory.events"),
        };
        let text = std::fs::read_to_string(file).unwrap_or_default();
        keyed(&text, "oom_kill").unwrap_or(0)
    }

    /// Takes a process out of it, to the root of each hierarchy, so that an agent can remove its own group.
    pub fn leave(&self, pid: u32) -> io::Result<()> {
        match &self.hierarchies {
            Hierarchies::One(one) => one.all().iter().try_for_each(|root| write(&root.join("cgroup.procs"), pid)),
            Hierarchies::Two(root) => write(&root.join("cgroup.procs"), pid),
        }
    }

    /// Makes the group of a part; one of that name that is there is taken.
    pub fn part(&self, name: &str) -> io::Result<PartGroup> {
        PartGroup::make(&self.hierarchies, &self.name.join(name))
    }

    /// All processes in it and below it.
    pub fn pids(&self) -> Vec<u32> {
        let mut found = Vec::new();
        for folder in self.folders() {
            found.extend(pids(&folder));
            found.extend(below(&folder).iter().flat_map(|folder| pids(folder)));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Kills all processes in it and below it, and waits until they are gone.
    pub fn kill_all(&self) -> io::Result<()> {
        if let Hierarchies::Two(root) = &self.hierarchies {
            // At once, where the kernel can; what is left after it is looked for below in any case.
            drop(write(&root.join(&self.name).join("cgroup.kill"), 1));
        } else {
            // What wants to fork must not be faster than what kills it.
            for folder in self.folders() {
                drop(write(&folder.join("pids.max"), 0));
            }
        }
        until_empty(|| self.pids())
    }

    /// Removes it and what is below it. It must not have processes.
    pub fn remove(&self) -> io::Result<()> {
        for folder in self.folders() {
            for part in below(&folder) {
                remove(&part)?;
            }
            remove(&folder)?;
            // The installation's own, with its last node.
            if let Some(installation) = folder.parent() {
                drop(remove(installation));
            }
        }
        Ok(())
    }

    /// What all of it has used.
    pub fn usage(&self) -> Usage {
        match &self.hierarchies {
            Hierarchies::One(one) => usage_one(
                one.accounting.as_ref().map(|root| root.join(&self.name)).as_deref(),
                &one.memory.join(&self.name),
                self.pids().len() as u64,
            ),
            Hierarchies::Two(root) => usage_two(&root.join(&self.name), self.pids().len() as u64),
        }
    }
}

/// Limits memory and swap together. Raising needs the one first, lowering the other, so each is tried twice.
pub fn limit_memory_one(folder: &Path, bytes: u64) -> io::Result<()> {
    let (memory, with_swap) = (folder.join("memory.limit_in_bytes"), folder.join("memory.memsw.limit_in_bytes"));
    let first = write(&memory, bytes);
    let swap = write(&with_swap, bytes);
    if first.is_err() {
        write(&memory, bytes)?;
    }
    // Kernels that do not count swap have no such file.
    if with_swap.exists() { swap.or_else(|_| write(&with_swap, bytes)) } else { Ok(()) }
}

/// Limits memory, without swap.
pub fn limit_memory_two(folder: &Path, bytes: u64) -> io::Result<()> {
    write(&folder.join("memory.max"), bytes)?;
    drop(write(&folder.join("memory.swap.max"), 0));
    Ok(())
}

/// Reads usage from the files of version 1.
pub fn usage_one(accounting: Option<&Path>, memory: &Path, processes: u64) -> Usage {
    let cpu = accounting.and_then(|folder| number(&folder.join("cpuacct.usage"))).unwrap_or(0);
    let stat = std::fs::read_to_string(memory.join("memory.stat")).unwrap_or_default();
    let (rss, shared) = (keyed(&stat, "total_rss").unwrap_or(0), keyed(&stat, "total_shmem").unwrap_or(0));
    Usage { cpu, memory: rss + shared, shared, processes }
}

/// Reads usage from the files of version 2.
pub fn usage_two(folder: &Path, processes: u64) -> Usage {
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap_or_default();
    let (cpu, memory) = (read("cpu.stat"), read("memory.stat"));
    let (anonymous, shared) = (keyed(&memory, "anon").unwrap_or(0), keyed(&memory, "shmem").unwrap_or(0));
    let kernel = keyed(&memory, "kernel").unwrap_or(0);
    Usage {
        cpu: keyed(&cpu, "usage_usec").unwrap_or(0) * 1_000,
        memory: anonymous + shared + kernel,
        shared,
        processes,
    }
}
