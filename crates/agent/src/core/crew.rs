//! Workers of the instance: made in its sandboxes, handed to those who asked for them (`hire`), seen off.

mod hire;

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use atelier_confine::PartGroup;
use atelier_domain::UserId;
use rustix::process::Signal;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::Agent;
use crate::instance::{Dwelling, Hired, Place};
use crate::processes;
use crate::sandbox::{Channel, SandboxId, WorkerId};
use crate::wire::Said;

/// After so many rounds of killing the worker must be the problem.
const WORKER_ROUNDS: u32 = 100;
/// After so many rounds it must be the whole sandbox.
const SANDBOX_ROUNDS: u32 = 200;

type Reply = oneshot::Sender<Result<Hired, String>>;

/// The workers of an instance, and what its sandboxes look like.
#[derive(Debug, Default)]
pub struct Crew {
    own: Option<Dwelling>,
    scratch: Option<Dwelling>,
    apart: Option<Dwelling>,
    members: HashMap<WorkerId, Member>,
    /// Who waits for a sandbox.
    waiting: Vec<(SandboxId, Reply)>,
    /// Who waits for the end of a sandbox.
    vacating: Vec<(SandboxId, oneshot::Sender<()>)>,
    /// Processor time of members that are gone, in nanoseconds.
    spent: u64,
}

#[derive(Debug)]
struct Member {
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

impl Member {
    /// What it runs.
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

impl Crew {
    fn dwell(&mut self, place: Place, dwelling: Option<Dwelling>) {
        match place {
            Place::Own => self.own = dwelling,
            Place::Scratch => self.scratch = dwelling,
            Place::Apart => self.apart = dwelling,
        }
    }

    fn at(&self, place: Place) -> Option<&Dwelling> {
        match place {
            Place::Own => self.own.as_ref(),
            Place::Scratch => self.scratch.as_ref(),
            Place::Apart => self.apart.as_ref(),
        }
    }

    /// What a sandbox of a person looks like, if it is that of their instance.
    pub fn dwelling_of(&self, owner: &UserId) -> Option<&Dwelling> {
        self.own.as_ref().filter(|dwelling| dwelling.person.id == *owner)
    }

    /// Whether a worker is one of the instance's, in that sandbox.
    pub fn has(&self, id: WorkerId, sandbox: SandboxId) -> bool {
        self.members.get(&id).is_some_and(|member| member.sandbox == sandbox)
    }

    /// Whether nobody is left.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Processor time of all that ever ran, and what runs now.
    pub fn usage(&self) -> (u64, Vec<u32>) {
        let cpu = self.spent + self.members.values().map(Member::cpu).sum::<u64>();
        (cpu, self.members.values().flat_map(Member::processes).collect())
    }
}

/// In whose name a sandbox is found. Those that jobs must not find belong to nobody: no account has a space in its name.
fn owner(dwelling: &Dwelling, place: Place) -> UserId {
    match place {
        Place::Own => dwelling.person.id.clone(),
        Place::Scratch => UserId::new(format!("{} scratch", dwelling.person.id.as_str())),
        Place::Apart => UserId::new(format!("{} apart", dwelling.person.id.as_str())),
    }
}

impl Agent {
    /// A launcher says that a worker is no more, and that nothing of what it ran is left.
    pub(super) fn hired_gone(&mut self, id: WorkerId, why: &str) {
        let Some(member) = self.hosted.crew.members.remove(&id) else { return };
        self.hosted.crew.spent += member.cpu();
        member.channel.close();
        if let Some(group) = member.group {
            self.groups.give(group);
        }
        if let Some(reply) = member.reply {
            drop(reply.send(Err(format!("its sandbox makes no processes: {why}"))));
        }
    }

    pub(super) fn signal_hired(&self, id: WorkerId, signal: Signal) {
        let Some(member) = self.hosted.crew.members.get(&id) else { return };
        for pid in member.processes() {
            processes::signal(pid, signal);
            // Whoever is stopped hears nothing until it goes on.
            processes::signal(pid, Signal::CONT);
        }
    }

    pub(super) fn kill_hired(&mut self, id: WorkerId, round: u32) {
        let Some(member) = self.hosted.crew.members.get_mut(&id) else { return };
        if let Some(group) = &mut member.group {
            group.forbid_forks();
        }
        for pid in member.processes() {
            processes::signal(pid, Signal::KILL);
        }
        let (pid, home) = (member.pid, member.sandbox);
        if round == WORKER_ROUNDS {
            pid.into_iter().for_each(|pid| processes::signal(pid, Signal::KILL));
        } else if round >= SANDBOX_ROUNDS {
            tracing::warn!("a sandbox of the instance does not clear up; it is killed");
            self.abandon_sandbox(home);
        }
    }

    /// Nobody wants a worker any more.
    pub(super) fn release_hired(&self, id: WorkerId, is_over: bool) {
        let Some(member) = self.hosted.crew.members.get(&id) else { return };
        if !is_over {
            for pid in member.processes().into_iter().chain(member.pid) {
                processes::signal(pid, Signal::KILL);
            }
        }
        // It ends with this, and its launcher says so.
        member.channel.close();
    }

    /// Ends a sandbox of the instance.
    pub(super) fn vacate(&mut self, place: Place, reply: oneshot::Sender<()>) {
        let owner = self.hosted.crew.at(place).map(|dwelling| owner(dwelling, place));
        // Before the first set-up there may be one for jobs, which knows nothing of the instance.
        let owner = owner.or_else(|| self.hosted.person().filter(|_| place == Place::Own));
        let found = owner.and_then(|owner| self.sandboxes.of(&owner));
        match found {
            Some(id) => {
                self.hosted.crew.vacating.push((id, reply));
                self.abandon_sandbox(id);
            }
            None => {
                let _ = reply.send(());
            }
        }
    }

    /// From now on the sandbox of that kind looks like this. Those for single jobs look like before, so they go.
    pub(super) fn dwell(&mut self, place: Place, dwelling: Option<Dwelling>) {
        self.hosted.crew.dwell(place, dwelling);
        let old = self.sandboxes.sandboxes.keys().copied().filter(|id| self.sandboxes.is_nursery(*id));
        for id in old.collect::<Vec<_>>() {
            self.replace_sandbox(id);
        }
    }

    /// A sandbox has ended with all that was in it.
    pub(super) fn lose_crew(&mut self, id: SandboxId, why: &str) {
        let lost: Vec<WorkerId> = {
            let members = self.hosted.crew.members.iter();
            members.filter(|(_, member)| member.sandbox == id).map(|(id, _)| *id).collect()
        };
        for worker in lost {
            self.hired_gone(worker, why);
        }
        for (sandbox, reply) in std::mem::take(&mut self.hosted.crew.waiting) {
            if sandbox == id {
                drop(reply.send(Err(why.to_owned())));
            } else {
                self.hosted.crew.waiting.push((sandbox, reply));
            }
        }
        for (sandbox, reply) in std::mem::take(&mut self.hosted.crew.vacating) {
            if sandbox == id {
                let _ = reply.send(());
            } else {
                self.hosted.crew.vacating.push((sandbox, reply));
            }
        }
    }
}
