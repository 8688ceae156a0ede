//! Ending parts: asked first, killed after the grace, until nothing is left.

use std::time::{Duration, Instant};

use atelier_domain::world::{AllocationKey, Exit};
use rustix::process::Signal;

use super::Agent;
use super::part::{Ending, Stage, Why};
use crate::sandbox::WorkerId;
use crate::wire::Order;
use crate::{clock, processes};

/// A launcher puts a notice into a folder much sooner than this.
const NOTICE: Duration = Duration::from_millis(500);
/// Between two rounds of killing.
const ROUND: Duration = Duration::from_millis(20);
/// The same, once there is little hope.
const LATER: Duration = Duration::from_millis(500);
/// After so many rounds the worker must be the problem: it was stopped, perhaps by its own job.
const WORKER_ROUNDS: u32 = 100;
/// After so many rounds it must be the whole sandbox.
const SANDBOX_ROUNDS: u32 = 200;

impl Agent {
    /// Ends a part: its processes get `grace` to end by themselves.
    pub(super) fn end(&mut self, part: AllocationKey, grace: Duration, why: Why) {
        let Some(held) = self.parts.get_mut(&part) else { return };
        let now = clock::now();
        let kill_at = now.checked_add(grace).unwrap_or(now);
        match held.stage {
            Stage::Over => {}
            Stage::Queued | Stage::Fetching => {
                self.queue.retain(|queued| *queued != part);
                self.is_over(part, Exit::Code(143));
            }
            Stage::Waiting(sandbox) => {
                if let Some(sandbox) = self.sandboxes.sandboxes.get_mut(&sandbox) {
                    sandbox.waiting.retain(|waiting| *waiting != part);
                }
                self.is_over(part, Exit::Code(143));
            }
            Stage::Filling(worker, _) | Stage::Running(worker) | Stage::Next(worker) => {
                let before = held.ending;
                let kill_at = before.map_or(kill_at, |ending| ending.kill_at.min(kill_at));
                let rounds = before.map_or(0, |ending| ending.rounds);
                let is_timeout = before.map_or(why == Why::TooLong, |ending| ending.is_timeout);
                let is_next = matches!(held.stage, Stage::Next(_));
                let asked_by = before.and_then(|ending| ending.asked_by);
                held.ending = Some(Ending { kill_at, next: kill_at, rounds, is_timeout, asked_by });
                if is_next || asked_by.is_some() {
                    return;
                }
                if why == Why::Preempted && before.is_none() && self.give_notice(worker, part, grace) {
                    if let Some(ending) = self.parts.get_mut(&part).and_then(|held| held.ending.as_mut()) {
                        ending.asked_by = Some(now + NOTICE);
                    }
                } else {
                    self.signal(worker, Signal::TERM);
                }
            }
        }
    }

    /// Has the launcher put a file into the folder of a part that says that its node is taken back. Says
    /// whether it was asked to.
    fn give_notice(&self, worker: WorkerId, part: AllocationKey, grace: Duration) -> bool {
        let Some((_, sandbox)) = self.worker_and_sandbox(worker) else { return false };
        let Some(held) = self.parts.get(&part) else { return false };
        let (folder, owner) = (sandbox.places.folder(&held.start), sandbox.uid);
        let order = Order::Notice { worker, folder, owner, seconds: grace.as_secs() };
        sandbox.channel.say(&order, &[]).is_ok()
    }

    /// The notice lies in the folder of a worker's job, or cannot: its processes are asked to end.
    pub(super) fn on_noticed(&mut self, id: WorkerId) {
        let Some(part) = self.sandboxes.workers.get(&id).and_then(|worker| worker.part) else { return };
        let Some(ending) = self.parts.get_mut(&part).and_then(|held| held.ending.as_mut()) else { return };
        if ending.asked_by.take().is_some() {
            self.signal(id, Signal::TERM);
        }
    }

    /// Sends a signal to all processes of a worker's job. While it has the next job too, they might be of
    /// that one; the worker says within moments which, and then this comes again.
    pub(super) fn signal(&self, id: WorkerId, signal: Signal) {
        if let Some(worker) = self.sandboxes.workers.get(&id).filter(|worker| worker.next.is_none()) {
            for pid in worker.processes() {
                processes::signal(pid, signal);
                // Whoever is stopped hears no request to end until it goes on.
                if signal == Signal::TERM {
                    processes::signal(pid, Signal::CONT);
                }
            }
        }
    }

    /// Looks after parts that are being ended, or ought to be.
    pub(super) fn meet_deadlines(&mut self, now: Instant) {
        self.go_on_closing(now);
        let busy: Vec<(WorkerId, AllocationKey)> =
            self.sandboxes.workers.iter().filter_map(|(id, worker)| Some((*id, worker.part?))).collect();
        for (id, part) in busy {
            let Some(held) = self.parts.get_mut(&part) else { continue };
            if held.watch_at.is_some_and(|at| now >= at) {
                self.runs(part);
            }
            let waits = |held: &super::part::Held| held.ending.and_then(|ending| ending.asked_by);
            if self.parts.get(&part).and_then(waits).is_some_and(|at| now >= at) {
                self.on_noticed(id);
            }
            let Some(held) = self.parts.get_mut(&part) else { continue };
            match &mut held.ending {
                None if held.too_long_at.is_some_and(|at| now >= at) => {
                    let grace = clock::duration(held.start.grace);
                    self.end(part, grace, Why::TooLong);
                }
                Some(ending) if now >= ending.next => {
                    ending.rounds += 1;
                    // What does not end by then hardly ends soon.
                    ending.next = now + if ending.rounds < SANDBOX_ROUNDS { ROUND } else { LATER };
                    let rounds = ending.rounds;
                    self.kill(id, rounds);
                }
                _ => {}
            }
        }
    }

    /// One round of killing.
    fn kill(&mut self, id: WorkerId, rounds: u32) {
        let Some(worker) = self.sandboxes.workers.get_mut(&id) else { return };
        if let Some(group) = worker.group.as_mut().filter(|_| worker.next.is_none()) {
            group.forbid_forks();
        }
        let home = worker.sandbox;
        // A launcher that says that it tries cannot do more than that; and the end of a worker with a view of
        // its own is the system's business alone.
        let is_apart = worker.temporary.is_some();
        let is_hopeless = worker.lingers || is_apart;
        self.signal(id, Signal::KILL);
        if rounds == WORKER_ROUNDS {
            tracing::warn!("a worker does not say that its job has ended; it is killed");
            self.dismiss(id);
        } else if rounds == SANDBOX_ROUNDS && is_hopeless {
            tracing::error!("a job does not end though it was killed; its room stays taken");
        } else if rounds >= SANDBOX_ROUNDS && !is_hopeless {
            tracing::warn!("a sandbox does not clear up after its worker; it is killed");
            self.abandon_sandbox(home);
        }
    }

    /// When there is next something to be done.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let busy = self.sandboxes.workers.values().filter_map(|worker| self.parts.get(&worker.part?));
        let next = busy.filter_map(|held| {
            let ending = held.ending.map(|ending| ending.next).or(held.too_long_at);
            let asked = held.ending.and_then(|ending| ending.asked_by);
            [held.watch_at, ending, asked].into_iter().flatten().min()
        });
        let next = next.min();
        [next, self.next_closing(), self.life.deadline(), self.hold].into_iter().flatten().min()
    }
}
