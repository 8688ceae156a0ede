//! The ends of workers and of sandboxes.
//!
//! Nobody waits here for a process to end: one that is stuck in the system may take for ever. What is left is
//! killed in rounds, and in between the loop goes on with everything else.

use std::collections::VecDeque;
use std::io::Read;
use std::time::{Duration, Instant};

use atelier_domain::world::Exit;
use rustix::process::{Signal, WaitOptions, wait};

use super::Agent;
use super::worker_pool::COLD;
use crate::facts::Isolation;
use crate::sandbox::{Sandbox, SandboxId, Worker, WorkerId};
use crate::{clock, processes};

/// The first pause between two rounds of killing; each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// After so long it is worth a word.
const LONG: Duration = Duration::from_secs(10);

/// A sandbox that ends: its launcher is gone, and something in it may be left.
#[derive(Debug)]
pub struct Closing {
    id: SandboxId,
    sandbox: Sandbox,
    since: Instant,
    pause: Duration,
    next: Instant,
    is_known: bool,
}

impl Agent {
    /// A worker has closed its end of the socket, so all that it said was heard. Its launcher sees to what is
    /// left of it, and says when that is done. What it runs must not live longer than it.
    pub(super) fn on_hung_up(&mut self, id: WorkerId) {
        let Some(worker) = self.sandboxes.workers.get_mut(&id) else { return };
        worker.has_hung_up = true;
        if worker.is_gone {
            return self.bury(id);
        }
        if worker.part.is_some() {
            for pid in worker.processes().into_iter().chain(worker.pid) {
                processes::signal(pid, Signal::KILL);
            }
        }
    }

    /// A launcher says that a worker is no more, and that nothing of its job is left.
    pub(super) fn on_gone(&mut self, id: WorkerId, why: String) {
        let Some(worker) = self.sandboxes.workers.get_mut(&id) else { return };
        worker.is_gone = true;
        if worker.complaint.is_empty() {
            worker.complaint = why;
        }
        // Otherwise its last words are still to come: whether it has begun with its next part.
        if worker.has_hung_up {
            self.bury(id);
        }
    }

    /// What a dead worker ran is over; what it has not begun waits again. Its group can be used again.
    fn bury(&mut self, id: WorkerId) {
        let Some(worker) = self.sandboxes.workers.remove(&id) else { return };
        let Worker { sandbox, pid, group, part, next, kills, temporary, complaint, .. } = worker;
        let ran_out = part.is_some() && group.as_ref().is_some_and(|group| group.memory_kills() > kills);
        if let Some(group) = group {
            self.groups.give(group);
        }
        if let Some((uid, path)) = temporary {
            self.temporaries.give(uid, path);
        }
        if let Some(part) = part {
            self.is_over(part, if ran_out { Exit::OutOfMemory } else { Exit::Code(137) });
        }
        if let Some(next) = next {
            self.return_to_queue(next);
        }
        if pid.is_none()
            && let Some(home) = self.sandboxes.sandboxes.get_mut(&sandbox)
        {
            // It never was.
            home.coming = home.coming.saturating_sub(1);
            self.has_no_worker(sandbox, &complaint);
        }
    }

    /// The launcher of a sandbox has ended: all that is in there ends too. Who waited in it waits for a new
    /// one, unless this one could not even be made.
    pub(super) fn close_sandbox(&mut self, id: SandboxId) {
        let Some(mut sandbox) = self.sandboxes.sandboxes.remove(&id) else { return };
        let now = clock::now();
        let waiting = if sandbox.is_ready { std::mem::take(&mut sandbox.waiting) } else { VecDeque::new() };
        self.closing.push(Closing { id, sandbox, since: now, pause: FIRST_PAUSE, next: now, is_known: false });
        for part in waiting {
            self.find_worker(part);
        }
    }

    /// When there is next something to be done about sandboxes that end.
    pub(super) fn next_closing(&self) -> Option<Instant> {
        self.closing.iter().map(|closing| closing.next).min()
    }

    /// One of our children has ended; it may be the last of a sandbox.
    pub(super) fn reap(&mut self) {
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        let now = clock::now();
        for closing in &mut self.closing {
            closing.next = now;
        }
    }

    /// One round of killing in each sandbox whose turn it is.
    pub(super) fn go_on_closing(&mut self, now: Instant) {
        let (due, later): (Vec<_>, Vec<_>) = self.closing.drain(..).partition(|closing| now >= closing.next);
        self.closing = later;
        for mut closing in due {
            while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
            let left = self.left_of(&closing.sandbox);
            if left.is_empty() {
                self.is_closed(closing.id, closing.sandbox);
                continue;
            }
            self.bury_the_dead_of(closing.id);
            for pid in &left {
                processes::signal(*pid, Signal::KILL);
            }
            if now.duration_since(closing.since) >= LONG && !closing.is_known {
                closing.is_known = true;
                tracing::error!(?left, "processes do not end though they were killed; what they belong to is not over");
            }
            closing.next = now + closing.pause;
            closing.pause = (closing.pause * 2).min(LONGEST_PAUSE);
            self.closing.push(closing);
        }
    }

    /// The processes that are left of a sandbox.
    fn left_of(&self, sandbox: &Sandbox) -> Vec<u32> {
        let (own, pid) = (std::process::id(), sandbox.pid);
        if let Some(first) = &sandbox.first {
            let first = processes::of_handle(first);
            return first
                .map_or_else(Vec::new, |first| [first].into_iter().chain(processes::descendants(first)).collect());
        }
        if matches!(self.isolation, Isolation::View(_)) {
            // It was never ready.
            let mut found = processes::descendants(pid);
            found.extend((processes::parent(pid) == Some(own)).then_some(pid));
            return found;
        }
        // What loses its parent on the way is the agent's own child.
        let mut found = processes::descendants(own);
        for known in self.sandboxes.sandboxes.values().map(|sandbox| sandbox.pid) {
            let theirs = processes::descendants(known);
            found.retain(|pid| *pid != known && !theirs.contains(pid));
        }
        found
    }

    /// Of some workers nothing is left, though something is of others.
    fn bury_the_dead_of(&mut self, id: SandboxId) {
        let is_dead =
            |worker: &Worker| worker.has_hung_up && worker.group.as_ref().is_some_and(|group| group.pids().is_empty());
        let workers = self.sandboxes.workers.iter().filter(|(_, worker)| worker.sandbox == id && is_dead(worker));
        for worker in workers.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.on_gone(worker, String::new());
        }
    }

    /// Nothing is left of a sandbox: all that was in it is over.
    fn is_closed(&mut self, id: SandboxId, mut sandbox: Sandbox) {
        let workers = self.sandboxes.workers.iter().filter(|(_, worker)| worker.sandbox == id);
        for worker in workers.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.on_gone(worker, String::new());
        }
        self.remove_temporary(id);
        if sandbox.is_ready {
            return self.lose_instance_workers(id, "its sandbox has ended");
        }
        let mut complaints = [0; 500];
        let _ = rustix::io::ioctl_fionbio(&sandbox.complaints, true);
        let length = sandbox.complaints.read(&mut complaints).unwrap_or(0);
        let why = String::from_utf8_lossy(&complaints[..length]).trim().to_owned();
        tracing::warn!(why, "a sandbox could not be made");
        self.warm_again = clock::now() + COLD;
        self.lose_instance_workers(id, &why);
        for part in sandbox.waiting {
            self.refuse(part, format!("its sandbox cannot be made: {why}"));
        }
    }

    /// Ends a sandbox that is not needed any more.
    pub(super) fn retire_sandbox(&mut self, id: SandboxId) {
        if let Some(sandbox) = self.sandboxes.sandboxes.get_mut(&id) {
            // Nobody finds it any more. Its end is seen like any other.
            sandbox.owner = None;
            sandbox.channel.close();
        }
    }

    /// Has the next parts for a sandbox wait for a new one; this one ends when nothing runs in it any more.
    pub(super) fn replace_sandbox(&mut self, id: SandboxId) {
        let Some(sandbox) = self.sandboxes.sandboxes.get_mut(&id) else { return };
        sandbox.owner = None;
        let waiting = std::mem::take(&mut sandbox.waiting);
        if !self.sandboxes.is_busy(id) {
            self.retire_sandbox(id);
        }
        for part in waiting {
            self.find_worker(part);
        }
    }

    /// Ends a sandbox that does not do what it is told, with all that is in it.
    pub(super) fn abandon_sandbox(&mut self, id: SandboxId) {
        if let Some(sandbox) = self.sandboxes.sandboxes.get_mut(&id) {
            processes::signal(sandbox.pid, Signal::KILL);
            sandbox.owner = None;
            sandbox.channel.close();
        }
    }

    /// At the agent's own end. This once it waits, since nobody else has to: for all of them together.
    pub(super) fn end_all_sandboxes(&mut self) {
        let mut ending: Vec<(SandboxId, Sandbox)> = self.sandboxes.sandboxes.drain().collect();
        ending.extend(self.closing.drain(..).map(|closing| (closing.id, closing.sandbox)));
        for (_, sandbox) in &ending {
            sandbox.channel.close();
        }
        let killed = atelier_confine::kill_until_empty(|| {
            while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
            ending.iter().flat_map(|(_, sandbox)| self.left_of(sandbox)).collect()
        });
        if let Err(error) = killed {
            tracing::error!(%error, "a sandbox does not end");
        }
        for (id, _) in ending {
            self.remove_temporary(id);
        }
        self.temporaries.clear();
        self.leave_instance();
    }

    /// Removes what programs left in a sandbox's `/tmp`. It may be much, and nobody has to wait for it.
    pub(super) fn remove_temporary(&self, id: SandboxId) {
        let folder = self.config.folder.join("tmp");
        drop(std::fs::remove_file(folder.join(format!("{id}.passwd"))));
        let folder = folder.join(id.to_string());
        if std::fs::remove_dir(&folder).is_err() {
            std::thread::spawn(move || drop(std::fs::remove_dir_all(folder)));
        }
    }
}
