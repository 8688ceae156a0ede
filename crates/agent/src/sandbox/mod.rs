//! Sandboxes: one for each person, with workers in it; and for each person whose jobs want to be alone, one
//! that makes a sandbox for each of these jobs.

mod channel;
mod command;
mod devices;
mod groups;
mod person;
mod temporary;

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use atelier_confine::PartGroup;
use atelier_domain::UserId;
use atelier_domain::world::AllocationKey;
pub use channel::Channel;
pub use command::{PROGRAM, start};
pub use groups::{Groups, PROCESSES, share};
pub use person::prepare;
pub use temporary::Temporaries;

use crate::environment::Places;

/// The number of a sandbox; never used twice.
pub type SandboxId = u64;
/// The number of a worker; never used twice.
pub type WorkerId = u64;

/// What a sandbox is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All jobs of a person that do not mind each other; its workers run one after another.
    Shared,
    /// Jobs that want to be alone; each of its workers is a sandbox of its own, for one job.
    PerJob,
}

/// One sandbox.
#[derive(Debug)]
pub struct Sandbox {
    /// Whose; nobody's once it is to end.
    pub owner: Option<UserId>,
    /// What it is for.
    pub kind: Kind,
    /// As which user its jobs run.
    pub uid: Option<u32>,
    /// How it is spoken to.
    pub channel: Arc<Channel>,
    /// The process that was started for it: everything in it is below.
    pub pid: u32,
    /// A handle of the first process in there, where it has processes of its own: they all end with that one.
    pub first: Option<OwnedFd>,
    /// Whether it has said that it is ready.
    pub is_ready: bool,
    /// Parts that wait for a worker.
    pub waiting: VecDeque<AllocationKey>,
    /// So many workers more are wanted for parts that wait for room.
    pub warm: usize,
    /// Workers that were asked for and are not ready.
    pub coming: usize,
    /// Where things are in it.
    pub places: Places,
    /// What it says when it cannot be made.
    pub complaints: File,
    /// Nothing runs in it since then.
    pub idle_since: Instant,
    /// Whether it stays although nothing of a job runs in it: an instance is there.
    pub is_pinned: bool,
    /// The network that it is in, if that is not the machine's: held for as long as it needs it.
    pub _network: Option<Arc<crate::network::Network>>,
}

/// One worker.
#[derive(Debug)]
pub struct Worker {
    pub sandbox: SandboxId,
    /// How it is spoken to.
    pub channel: Arc<Channel>,
    /// Its process, as the agent numbers it.
    pub pid: Option<u32>,
    /// Its control group, and so its jobs'.
    pub group: Option<PartGroup>,
    pub part: Option<AllocationKey>,
    /// What it will run after that: it has it already.
    pub next: Option<AllocationKey>,
    /// How often the system had killed in its group when that was last looked at.
    pub kills: u64,
    /// Whether it can look at that itself.
    pub counts_kills: bool,
    /// Whether it takes no other job.
    pub is_spent: bool,
    /// Its own temporary files, with whose they are.
    pub temporary: Option<(Option<u32>, PathBuf)>,
    /// Whether everything that it said was heard: its end of the socket is closed.
    pub has_hung_up: bool,
    /// Whether it and all of its job are gone.
    pub is_gone: bool,
    /// Whether its launcher says that something of it does not end.
    pub lingers: bool,
    /// Why it never began, if somebody has said so.
    pub complaint: String,
}

impl Worker {
    /// One that was asked for.
    pub const fn new(sandbox: SandboxId, channel: Arc<Channel>, temporary: Option<(Option<u32>, PathBuf)>) -> Self {
        Self {
            sandbox,
            channel,
            pid: None,
            group: None,
            part: None,
            next: None,
            kills: 0,
            counts_kills: false,
            is_spent: false,
            temporary,
            has_hung_up: false,
            is_gone: false,
            lingers: false,
            complaint: String::new(),
        }
    }

    /// Whether it could be given something to do.
    pub const fn is_idle(&self) -> bool {
        self.pid.is_some() && self.part.is_none() && !self.is_spent && !self.has_hung_up
    }
}

impl Worker {
    /// The processes of its job.
    pub fn processes(&self) -> Vec<u32> {
        let Some(own) = self.pid else { return Vec::new() };
        match &self.group {
            Some(group) => group.pids().into_iter().filter(|pid| *pid != own).collect(),
            None => crate::processes::descendants(own),
        }
    }
}

/// All sandboxes and workers of a node.
#[derive(Debug, Default)]
pub struct Sandboxes {
    pub sandboxes: HashMap<SandboxId, Sandbox>,
    pub workers: HashMap<WorkerId, Worker>,
    last: u64,
}

impl Sandboxes {
    pub const fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// The sandbox of a person that all their jobs share.
    pub fn of(&self, owner: &UserId) -> Option<SandboxId> {
        self.find(owner, Kind::Shared)
    }

    /// The sandbox of a person that makes one for each job that wants to be alone.
    pub fn per_job_of(&self, owner: &UserId) -> Option<SandboxId> {
        self.find(owner, Kind::PerJob)
    }

    fn find(&self, owner: &UserId, kind: Kind) -> Option<SandboxId> {
        let is_it = |sandbox: &Sandbox| sandbox.kind == kind && sandbox.owner.as_ref() == Some(owner);
        self.sandboxes.iter().find(|(_, sandbox)| is_it(sandbox)).map(|(id, _)| *id)
    }

    /// Workers in a sandbox that are ready and have nothing to do.
    pub fn idle(&self, sandbox: SandboxId) -> impl Iterator<Item = WorkerId> {
        let is_idle = move |worker: &Worker| worker.sandbox == sandbox && worker.is_idle();
        self.workers.iter().filter(move |(_, worker)| is_idle(worker)).map(|(id, _)| *id)
    }

    /// Whether the workers of a sandbox are sandboxes of their own.
    pub fn is_per_job(&self, sandbox: SandboxId) -> bool {
        self.sandboxes.get(&sandbox).is_some_and(|sandbox| sandbox.kind == Kind::PerJob)
    }

    /// Whether anything runs or waits in a sandbox.
    pub fn is_busy(&self, sandbox: SandboxId) -> bool {
        let is_busy = |worker: &Worker| worker.sandbox == sandbox && (worker.part.is_some() || worker.next.is_some());
        self.workers.values().any(is_busy)
            || self.sandboxes.get(&sandbox).is_some_and(|sandbox| sandbox.is_pinned || !sandbox.waiting.is_empty())
    }
}
