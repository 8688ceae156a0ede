//! The pool of sandboxes and workers that parts of jobs run in: a part gets a worker that is idle, or one is
//! made.

use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use atelier_domain::UserId;
use atelier_domain::world::AllocationKey;
use atelier_protocol::Person;
use rustix::fs::CWD;
use rustix::mount::{OpenTreeFlags, open_tree};
use tokio::sync::mpsc::UnboundedSender;

use super::part::Stage;
use super::{Agent, Happening};
use crate::facts::Isolation;
use crate::instance::Mounts;
use crate::sandbox::{self, Channel, Kind, Sandbox, SandboxId, Worker, WorkerId};
use crate::wire::{self, Order};
use crate::{clock, identity};

/// So many of the next parts have their sandboxes made while they wait.
const WARM: usize = 2;
/// After one that could not be made, that is not tried for so long.
pub(super) const COLD: Duration = Duration::from_secs(10);
/// A copy that is mounted nowhere.
const CLONE: OpenTreeFlags = OpenTreeFlags::OPEN_TREE_CLONE.union(OpenTreeFlags::OPEN_TREE_CLOEXEC);

impl Agent {
    /// Finds a worker for a part, or has one made.
    pub(super) fn find_worker(&mut self, part: AllocationKey) {
        let Some(held) = self.parts.get(&part) else { return };
        let (person, is_alone) = (&held.start.person.id, held.start.task.is_alone);
        let kind = if is_alone { Kind::PerJob } else { Kind::Shared };
        let known = if is_alone { self.sandboxes.per_job_of(person) } else { self.sandboxes.of(person) };
        let home = match known.map_or_else(|| self.open_sandbox(part, kind), Ok) {
            Ok(home) => home,
            Err(why) => return self.refuse(part, format!("its sandbox cannot be made: {why}")),
        };
        let idle = self.sandboxes.idle(home).next();
        if let Some(worker) = idle {
            return self.assign(worker, part);
        }
        if let Some(held) = self.parts.get_mut(&part) {
            held.stage = Stage::Waiting(home);
        }
        if let Some(sandbox) = self.sandboxes.sandboxes.get_mut(&home) {
            sandbox.waiting.push_back(part);
        }
        self.ask_for_workers(home);
    }

    fn open_sandbox(&mut self, part: AllocationKey, kind: Kind) -> Result<SandboxId, String> {
        let person = self.parts.get(&part).ok_or("it is gone")?.start.person.clone();
        let mounts = self.hosted.workers.mounts_of(&person.id).cloned();
        self.open_sandbox_of(&person, person.id.clone(), kind, mounts.as_ref())
    }

    /// Makes a sandbox that is found under that owner.
    pub(super) fn open_sandbox_of(
        &mut self,
        person: &Person,
        owner: UserId,
        kind: Kind,
        mounts: Option<&Mounts>,
    ) -> Result<SandboxId, String> {
        let id = self.sandboxes.number();
        let uid = if self.isolation == Isolation::None { None } else { person.uid };
        let mut folders = sandbox::prepare(&self.config, person, uid, id, mounts)?;
        // What runs scripts of somebody else is found under another name than the person's, and gets none.
        if owner == person.id {
            folders.identity = identity::prepare(&self.config, &self.isolation, &person.id);
        }
        // What runs scripts of somebody else, or has only loopback, is joined to nothing of the person's.
        let network = match &mut self.networks {
            Some(networks) if !mounts.is_some_and(|mounts| mounts.has_own_network) => {
                let joined = uid.filter(|_| owner == person.id);
                Some(networks.of(&owner, joined).map_err(|error| format!("its network cannot be made: {error}"))?)
            }
            _ => None,
        };
        let open = || -> std::io::Result<Sandbox> {
            let (ours, theirs) = wire::pair()?;
            let space = network.as_ref().map(|network| network.namespace());
            let started = sandbox::start(&self.config, &self.isolation, person, &folders, kind, theirs, space)?;
            let channel = Channel::listen(ours, self.inbox.clone(), move |said| Happening::Sandbox(id, said))?;
            Ok(Sandbox {
                owner: Some(owner),
                kind,
                uid,
                channel,
                pid: started.pid,
                first: None,
                is_ready: false,
                waiting: std::collections::VecDeque::new(),
                warm: 0,
                coming: 0,
                places: started.places,
                complaints: started.complaints,
                idle_since: clock::now(),
                is_pinned: false,
                _network: network,
            })
        };
        let sandbox = open().map_err(|error| error.to_string())?;
        self.sandboxes.sandboxes.insert(id, sandbox);
        Ok(id)
    }

    /// Has as many workers made as there are parts that want one.
    pub(super) fn ask_for_workers(&mut self, id: SandboxId) {
        while let Some(sandbox) = self.sandboxes.sandboxes.get(&id) {
            let has = sandbox.coming + if sandbox.warm > 0 { self.sandboxes.idle(id).count() } else { 0 };
            if !sandbox.is_ready || sandbox.owner.is_none() || has >= sandbox.waiting.len() + sandbox.warm {
                return;
            }
            let Err(error) = self.ask_for_worker(id) else { continue };
            return match error.kind() {
                // It is gone or does not listen: whoever waits gets a new one.
                ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::WouldBlock => self.abandon_sandbox(id),
                _ => self.has_no_worker(id, &error.to_string()),
            };
        }
    }

    fn ask_for_worker(&mut self, id: SandboxId) -> std::io::Result<()> {
        let number = self.sandboxes.number();
        let Some(sandbox) = self.sandboxes.sandboxes.get(&id) else { return Ok(()) };
        let is_apart = sandbox.kind == Kind::PerJob && matches!(self.isolation, Isolation::View(_));
        let temporary = if is_apart { Some((sandbox.uid, self.temporaries.take(sandbox.uid, number)?)) } else { None };
        let path = temporary.as_ref().map(|(_, path)| path.as_path());
        match order_worker(&sandbox.channel, number, path, self.inbox.clone()) {
            Ok(channel) => {
                self.sandboxes.workers.insert(number, Worker::new(id, channel, temporary));
                if let Some(sandbox) = self.sandboxes.sandboxes.get_mut(&id) {
                    sandbox.coming += 1;
                }
                Ok(())
            }
            Err(error) => {
                temporary.into_iter().for_each(|(uid, path)| self.temporaries.give(uid, path));
                Err(error)
            }
        }
    }

    /// A worker cannot be had: whoever waited for it is told, since the next would fare no better.
    pub(super) fn has_no_worker(&mut self, id: SandboxId, why: &str) {
        tracing::warn!(why, "a worker cannot be started");
        self.warm_again = clock::now() + COLD;
        let Some(sandbox) = self.sandboxes.sandboxes.get_mut(&id) else { return };
        sandbox.warm = 0;
        if let Some(part) = sandbox.waiting.pop_front() {
            self.refuse(part, format!("its worker cannot be started: {why}"));
        }
    }

    /// Has sandboxes made for the next parts that want to be alone, while they wait for room: that takes
    /// longer than many jobs.
    pub(super) fn warm_up(&mut self) {
        if clock::now() < self.warm_again {
            return;
        }
        let alone = |part: &&AllocationKey| self.parts.get(part).is_some_and(|held| held.start.task.is_alone);
        let next: Vec<AllocationKey> = self.queue.iter().take(WARM).filter(alone).copied().collect();
        for sandbox in self.sandboxes.sandboxes.values_mut() {
            sandbox.warm = 0;
        }
        let mut homes = Vec::new();
        for part in next {
            let Some(held) = self.parts.get(&part).filter(|held| self.has_user(&held.start.person)) else { continue };
            // What goes wrong here goes wrong again, and is said, when its turn has come.
            let known = self.sandboxes.per_job_of(&held.start.person.id);
            let home = known.map_or_else(|| self.open_sandbox(part, Kind::PerJob), Ok);
            if let Ok(home) = home
                && let Some(sandbox) = self.sandboxes.sandboxes.get_mut(&home)
            {
                sandbox.warm += 1;
                homes.push(home);
            }
        }
        for home in homes {
            self.ask_for_workers(home);
        }
    }
}

/// Asks the launcher at the other end of a channel for a worker, with its temporary files in that folder.
fn order_worker(
    launcher: &Channel,
    number: WorkerId,
    temporary: Option<&Path>,
    inbox: UnboundedSender<Happening>,
) -> std::io::Result<Arc<Channel>> {
    let (ours, theirs) = wire::pair()?;
    // As a mount that is nowhere yet: in the sandbox nobody can find the folder by its name.
    let mount = temporary.map(|path| open_tree(CWD, path, CLONE)).transpose()?;
    let files: Vec<BorrowedFd<'_>> = [theirs.as_fd()].into_iter().chain(mount.iter().map(AsFd::as_fd)).collect();
    let channel = Channel::listen(ours, inbox, move |said| Happening::Worker(number, said))?;
    launcher.say(&Order::Worker(number), &files)?;
    Ok(channel)
}
