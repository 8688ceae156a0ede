//! Workers of the instance: made in its sandboxes, handed to those who asked for them (`acquire`), seen off.

mod acquire;

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use atelier_confine::PartGroup;
use atelier_domain::UserId;
use rustix::process::Signal;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::Agent;
use crate::instance::{Mounts, Place, WorkerHandle};
use crate::processes;
use crate::sandbox::{Channel, SandboxId, WorkerId};
use crate::wire::Said;

/// After so many rounds of killing the worker must be the problem.
const WORKER_ROUNDS: u32 = 100;
/// After so many rounds it must be the whole sandbox.
const SANDBOX_ROUNDS: u32 = 200;

type Reply = oneshot::Sender<Result<WorkerHandle, String>>;

/// The workers of an instance, and what its sandboxes look like.
#[derive(Debug, Default)]
pub struct InstanceWorkers {
    own: Option<Mounts>,
    scratch: Option<Mounts>,
    apart: Option<Mounts>,
    by_id: HashMap<WorkerId, InstanceWorker>,
    /// Who waits for a sandbox.
    waiting: Vec<(SandboxId, Reply)>,
    /// Who waits for the end of a sandbox.
    ending: Vec<(SandboxId, oneshot::Sender<()>)>,
    /// Processor time of workers that are gone, in nanoseconds.
    spent: u64,
}

#[derive(Debug)]
struct InstanceWorker {
    sandbox: SandboxId,
    channel: Arc<Channel>,
    /// Its process, once it has shown it.
    pid: Option<u32>,
    group: Option<PartGroup>,
    /// Who wants it, until it is ready.
    reply: Option<Reply>,
    /// Where what it says goes, from then on.
    said: Option<UnboundedSender<(Said, Vec<OwnedFd>)>>,
    /// Processor time of its group before it came there, in nanoseconds.
    before: u64,
}

impl InstanceWorker {
    fn processes(&self) -> Vec<u32> {
        let Some(own) = self.pid else { return Vec::new() };
        match &self.group {
            Some(group) => group.pids().into_iter().filter(|pid| *pid != own).collect(),
            None => processes::descendants(own),
        }
    }

    fn cpu(&self) -> u64 {
        match &self.group {
            Some(group) => group.usage().cpu.saturating_sub(self.before),
            None => crate::instance::cpu_of(&self.processes()),
        }
    }
}

impl InstanceWorkers {
    fn set_mounts(&mut self, place: Place, mounts: Option<Mounts>) {
        match place {
            Place::Own => self.own = mounts,
            Place::Scratch => self.scratch = mounts,
            Place::Apart => self.apart = mounts,
        }
    }

    fn at(&self, place: Place) -> Option<&Mounts> {
        match place {
            Place::Own => self.own.as_ref(),
            Place::Scratch => self.scratch.as_ref(),
            Place::Apart => self.apart.as_ref(),
        }
    }

    /// What a sandbox of a person looks like, if it is that of their instance.
    pub fn mounts_of(&self, owner: &UserId) -> Option<&Mounts> {
        self.own.as_ref().filter(|mounts| mounts.person.id == *owner)
    }

    /// Whether a worker is one of the instance's, in that sandbox.
    pub fn has(&self, id: WorkerId, sandbox: SandboxId) -> bool {
        self.by_id.get(&id).is_some_and(|worker| worker.sandbox == sandbox)
    }

    /// Whether nobody is left.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Processor time of all that ever ran, and what runs now.
    pub fn usage(&self) -> (u64, Vec<u32>) {
        let cpu = self.spent + self.by_id.values().map(InstanceWorker::cpu).sum::<u64>();
        (cpu, self.by_id.values().flat_map(InstanceWorker::processes).collect())
    }
}

/// In whose name a sandbox is found. Those that jobs must not find belong to nobody: no account has a space
/// in its name.
fn owner(mounts: &Mounts, place: Place) -> UserId {
    match place {
        Place::Own => mounts.person.id.clone(),
        Place::Scratch => UserId::new(format!("{} scratch", mounts.person.id.as_str())),
        Place::Apart => UserId::new(format!("{} apart", mounts.person.id.as_str())),
    }
}

impl Agent {
    /// A launcher says that a worker is no more, and that nothing of what it ran is left.
    pub(super) fn instance_worker_gone(&mut self, id: WorkerId, why: &str) {
        let Some(worker) = self.hosted.workers.by_id.remove(&id) else { return };
        self.hosted.workers.spent += worker.cpu();
        worker.channel.close();
        if let Some(group) = worker.group {
            self.groups.give(group);
        }
        if let Some(reply) = worker.reply {
            drop(reply.send(Err(format!("its sandbox makes no processes: {why}"))));
        }
    }

    pub(super) fn signal_instance_worker(&self, id: WorkerId, signal: Signal) {
        let Some(worker) = self.hosted.workers.by_id.get(&id) else { return };
        for pid in worker.processes() {
            processes::signal(pid, signal);
            // Whoever is stopped hears nothing until it goes on.
            processes::signal(pid, Signal::CONT);
        }
    }

    pub(super) fn kill_instance_worker(&mut self, id: WorkerId, round: u32) {
        let Some(worker) = self.hosted.workers.by_id.get_mut(&id) else { return };
        if let Some(group) = &mut worker.group {
            group.forbid_forks();
        }
        for pid in worker.processes() {
            processes::signal(pid, Signal::KILL);
        }
        let (pid, home) = (worker.pid, worker.sandbox);
        if round == WORKER_ROUNDS {
            pid.into_iter().for_each(|pid| processes::signal(pid, Signal::KILL));
        } else if round >= SANDBOX_ROUNDS {
            tracing::warn!("a sandbox of the instance does not clear up; it is killed");
            self.abandon_sandbox(home);
        }
    }

    /// Nobody wants a worker any more.
    pub(super) fn release_instance_worker(&self, id: WorkerId, is_over: bool) {
        let Some(worker) = self.hosted.workers.by_id.get(&id) else { return };
        if !is_over {
            for pid in worker.processes().into_iter().chain(worker.pid) {
                processes::signal(pid, Signal::KILL);
            }
        }
        // It ends with this, and its launcher says so.
        worker.channel.close();
    }

    /// Ends a sandbox of the instance.
    pub(super) fn end_sandboxes(&mut self, place: Place, reply: oneshot::Sender<()>) {
        let owner = self.hosted.workers.at(place).map(|mounts| owner(mounts, place));
        // Before the first set-up there may be one for jobs, which knows nothing of the instance.
        let owner = owner.or_else(|| self.hosted.person().filter(|_| place == Place::Own));
        let found = owner.and_then(|owner| self.sandboxes.of(&owner));
        match found {
            Some(id) => {
                self.hosted.workers.ending.push((id, reply));
                self.abandon_sandbox(id);
            }
            None => {
                let _ = reply.send(());
            }
        }
    }

    /// From now on the sandbox of that kind looks like this. Those for single jobs look like before, so they
    /// go.
    pub(super) fn set_mounts(&mut self, place: Place, mounts: Option<Mounts>) {
        self.hosted.workers.set_mounts(place, mounts);
        let old = self.sandboxes.sandboxes.keys().copied().filter(|id| self.sandboxes.is_per_job(*id));
        for id in old.collect::<Vec<_>>() {
            self.replace_sandbox(id);
        }
    }

    /// A sandbox has ended with all that was in it.
    pub(super) fn lose_instance_workers(&mut self, id: SandboxId, why: &str) {
        let lost: Vec<WorkerId> = {
            let workers = self.hosted.workers.by_id.iter();
            workers.filter(|(_, worker)| worker.sandbox == id).map(|(id, _)| *id).collect()
        };
        for worker in lost {
            self.instance_worker_gone(worker, why);
        }
        for (sandbox, reply) in std::mem::take(&mut self.hosted.workers.waiting) {
            if sandbox == id {
                drop(reply.send(Err(why.to_owned())));
            } else {
                self.hosted.workers.waiting.push((sandbox, reply));
            }
        }
        for (sandbox, reply) in std::mem::take(&mut self.hosted.workers.ending) {
            if sandbox == id {
                let _ = reply.send(());
            } else {
                self.hosted.workers.ending.push((sandbox, reply));
            }
        }
    }
}
