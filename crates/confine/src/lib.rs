//! Control groups, version 2 or 1: a node's share of its machine, and the shares of the jobs on it.
//!
//! A node's group is named after its installation and its number, `atelier/<installation>/node-7`, in each
//! hierarchy. So whoever looks after nodes finds all processes of one, also when its agent is dead:
//!
//! ```no_run
//! # fn main() -> std::io::Result<()> {
//! if let Some(confinement) = atelier_confine::Confinement::detect() {
//!     let node = confinement.node("an-installation", 7);
//!     node.kill_all()?;
//!     node.remove()?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Below it are `agent` (the agent itself) and `part-…`: groups of single jobs, made once and used again.
//!
//! Beside that, [`bubblewrap`] says whether people can have private views of the system here, and
//! [`refuse_calls`] takes system calls away that no sandbox needs.

mod calls;
mod detect;
mod files;
mod kill;
mod node;
mod part;
mod view;

use std::path::PathBuf;

pub use calls::{REFUSED, When, refuse_calls, refused_calls_program};
pub use kill::until_empty as kill_until_empty;
pub use node::NodeGroup;
pub use part::{PartGroup, memory_kills};
pub use view::bubblewrap;

/// Which control groups the machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// One hierarchy for each controller.
    One,
    /// One hierarchy for all.
    Two,
}

/// What a group may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Thousandths of a core. A node never gets more; among the parts of a node they are weights.
    pub cores: u64,
    /// Memory in MiB, never more.
    pub memory: u64,
    /// Processes and threads, never more.
    pub processes: u64,
}

/// What a group has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time in nanoseconds, since the group was made.
    pub cpu: u64,
    /// Memory in bytes, now; without what the system only keeps in case it is read again.
    pub memory: u64,
    /// Memory in bytes, now, of files that live in memory and outlive the processes that wrote them.
    pub shared: u64,
    pub processes: u64,
}

/// A machine's control groups, found to be usable by this process.
#[derive(Clone, Debug)]
pub struct Confinement {
    pub(crate) hierarchies: Hierarchies,
}

/// Where the hierarchies are mounted.
#[derive(Clone, Debug)]
pub(crate) enum Hierarchies {
    One(One),
    Two(PathBuf),
}

/// The hierarchies of version 1 that are of use here. Several may be the same folder.
#[derive(Clone, Debug)]
pub(crate) struct One {
    pub cpu: PathBuf,
    pub memory: PathBuf,
    pub accounting: Option<PathBuf>,
    pub pids: Option<PathBuf>,
    /// Hierarchies without controllers, by which a service manager knows whose processes are whose. A node is
    /// nobody's service: it outlives the server that started it.
    pub names: Vec<PathBuf>,
}

impl One {
    /// The folders that hold processes of parts, each once.
    pub fn controllers(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.memory.clone(), self.cpu.clone()];
        for folder in self.accounting.iter().chain(&self.pids) {
            if !folders.contains(folder) {
                folders.push(folder.clone());
            }
        }
        folders
    }

    pub fn all(&self) -> Vec<PathBuf> {
        let mut folders = self.controllers();
        folders.extend(self.names.iter().cloned());
        folders
    }
}

impl Confinement {
    /// Looks for control groups that this process may use: version 2 with the controllers `cpu` and `memory`,
    /// else version 1 with them, else none.
    pub fn detect() -> Option<Self> {
        detect::two().or_else(detect::one).map(|hierarchies| Self { hierarchies })
    }

    /// Version 2 as it is found below a folder: one that was recorded on another machine, for tests.
    pub fn recorded(folder: &std::path::Path) -> Self {
        Self { hierarchies: Hierarchies::Two(folder.to_owned()) }
    }

    pub const fn version(&self) -> Version {
        match self.hierarchies {
            Hierarchies::One(_) => Version::One,
            Hierarchies::Two(_) => Version::Two,
        }
    }

    /// The group of a node. Nothing is made yet.
    pub fn node(&self, installation: &str, node: u64) -> NodeGroup {
        // Ids are made by us; still no text may lead out of the hierarchy.
        let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let installation: String = installation.chars().map(safe).collect();
        NodeGroup::new(self.hierarchies.clone(), PathBuf::from(format!("atelier/{installation}/node-{node}")))
    }
}
