//! What sandboxes and workers say.

use std::os::fd::OwnedFd;

use atelier_domain::world::{AllocationKey, Exit};
use atelier_protocol::Event;
use rustix::process::Signal;

use super::part::Stage;
use super::{Agent, Spoken};
use crate::facts::Isolation;
use crate::sandbox::{SandboxId, WorkerId};
use crate::wire::{Order, Outcome, Said};
use crate::{clock, processes};

/// Files in memory that outlive a job; with more, its sandbox is made anew, since they count for the next
/// job.
const TOO_MUCH_SHARED: u64 = 16 << 20;

impl Agent {
    pub(super) fn on_sandbox(&mut self, id: SandboxId, spoken: Spoken) {
        let Some(sandbox) = self.sandboxes.sandboxes.get_mut(&id) else { return };
        // A sandbox speaks for its own workers alone.
        let is_own = |worker: &WorkerId| self.sandboxes.workers.get(worker).is_some_and(|worker| worker.sandbox == id);
        match spoken {
            None => self.close_sandbox(id),
            Some((Said::Ready, handles)) if !sandbox.is_ready => {
                sandbox.is_ready = true;
                let has_view = matches!(self.isolation, Isolation::View(_));
                sandbox.first = handles.into_iter().next().filter(|first| {
                    has_view && processes::of_handle(first).is_some_and(|pid| processes::is_below(pid, sandbox.pid))
                });
                self.serve_waiting(id);
                if self.sandboxes.is_per_job(id) {
                    // Its workers have others, and what else was in there is mounted.
                    self.remove_temporary(id);
                }
                self.ask_for_workers(id);
            }
            Some((Said::Gone(worker, why), _)) if is_own(&worker) => self.on_gone(worker, why),
            Some((Said::Noticed(worker), _)) if is_own(&worker) => self.on_noticed(worker),
            Some((Said::Lingers(worker), _)) if is_own(&worker) => {
                if let Some(worker) = self.sandboxes.workers.get_mut(&worker) {
                    worker.lingers = true;
                }
            }
            Some((Said::Gone(worker, why), _)) if self.hosted.workers.has(worker, id) => {
                self.instance_worker_gone(worker, &why)
            }
            Some(_) => {}
        }
    }

    pub(super) fn on_worker(&mut self, id: WorkerId, spoken: Spoken) {
        match spoken {
            Some((Said::Ready, handles)) => self.on_ready(id, &handles),
            Some((Said::Failed(why), _)) => {
                if let Some(worker) = self.sandboxes.workers.get_mut(&id) {
                    worker.complaint = why;
                }
            }
            Some((said, _)) => self.on_said(id, said),
            None => self.on_hung_up(id),
        }
    }

    /// A worker can be told what to do: it gets its control group, then its job.
    fn on_ready(&mut self, id: WorkerId, handles: &[OwnedFd]) {
        let Some((worker, sandbox)) = self.worker_and_sandbox(id) else { return };
        if worker.pid.is_some() {
            return;
        }
        let home = worker.sandbox;
        // Believed only if it is a process of that sandbox: what is below it will be killed one day.
        let pid = handles.first().and_then(processes::of_handle).filter(|pid| processes::is_below(*pid, sandbox.pid));
        let Some(pid) = pid else {
            tracing::warn!("a worker does not show its process");
            return self.abandon_sandbox(home);
        };
        let group =
            self.groups.take().and_then(|group| group.map(|group| group.attach(pid).map(|()| group)).transpose());
        let Some(worker) = self.sandboxes.workers.get_mut(&id) else { return };
        match group {
            Ok(group) => {
                worker.pid = Some(pid);
                worker.kills = group.as_ref().map_or(0, atelier_confine::PartGroup::memory_kills);
                worker.group = group;
            }
            Err(error) => {
                tracing::warn!(%error, "a control group cannot be had");
                worker.complaint = format!("its control group cannot be had: {error}");
                return processes::signal(pid, Signal::KILL);
            }
        }
        if let Some(sandbox) = self.sandboxes.sandboxes.get_mut(&home) {
            sandbox.coming = sandbox.coming.saturating_sub(1);
        }
        self.assign_next(id);
    }

    /// A worker has nothing to do; maybe somebody waits.
    fn assign_next(&mut self, id: WorkerId) {
        let Some(worker) = self.sandboxes.workers.get(&id) else { return };
        if worker.is_spent {
            // It ends, and with it all that it has; its launcher says when that is done.
            return worker.channel.close();
        }
        if let Some(sandbox) = self.sandboxes.sandboxes.get_mut(&worker.sandbox) {
            sandbox.idle_since = clock::now();
            if let Some(part) = sandbox.waiting.pop_front() {
                self.assign(id, part);
            }
        }
    }

    fn on_said(&mut self, id: WorkerId, said: Said) {
        let Some(worker) = self.sandboxes.workers.get(&id) else { return };
        let Some(part) = worker.part else { return };
        let Some(held) = self.parts.get_mut(&part) else { return };
        match (said, held.stage) {
            (Said::Took, Stage::Filling(_, done)) => {
                if held.ending.is_some() {
                    return self.tidy(id, part);
                }
                if done < held.start.task.files.len() { self.send_files(id, done) } else { self.send_job(id) }
            }
            (Said::Spawned, Stage::Running(_)) => {
                let is_ending = held.ending.is_some();
                let is_heard = worker.channel.say(&Order::Noted, &[]).is_ok();
                self.runs(part);
                if !is_heard {
                    self.dismiss(id);
                } else if is_ending {
                    self.signal(id, Signal::TERM);
                }
            }
            (Said::Back, Stage::Running(_)) => self.take_next_back(id),
            (Said::Ended(outcome), Stage::Running(_) | Stage::Filling(..)) => match outcome {
                Outcome::Code(code) => self.conclude(id, part, Ok(Exit::Code(code))),
                Outcome::Refused(why) => self.conclude(id, part, Err(why)),
            },
            (Said::RanOutOfMemory, Stage::Running(_)) => self.conclude(id, part, Ok(Exit::OutOfMemory)),
            _ => {}
        }
    }

    /// A part runs: that is said, and its output is looked after.
    pub(super) fn runs(&mut self, part: AllocationKey) {
        let Some(held) = self.parts.get_mut(&part) else { return };
        if held.watch_at.take().is_some() {
            held.pipe = held.pipe.take().and_then(|pipe| pipe.watch(part, self.inbox.clone()).ok());
            self.outbox.add(Event::Started(part));
        }
    }

    /// A worker has nothing left of its part, and goes on with the next.
    fn conclude(&mut self, id: WorkerId, part: AllocationKey, outcome: Result<Exit, String>) {
        let Some(worker) = self.sandboxes.workers.get_mut(&id) else { return };
        worker.part = None;
        let next = worker.next;
        match outcome {
            Ok(exit) => self.has_exited(id, part, exit),
            // Whoever is being ended may not fork, so that may be the reason.
            Err(_) if self.parts.get(&part).is_some_and(|held| held.ending.is_some()) => {
                self.is_over(part, Exit::Code(143));
            }
            Err(why) => self.refuse(part, why),
        }
        match next {
            Some(next) => self.begin_next(id, next),
            None => self.assign_next(id),
        }
    }

    fn has_exited(&mut self, id: WorkerId, part: AllocationKey, exit: Exit) {
        let Some(worker) = self.sandboxes.workers.get_mut(&id) else { return };
        let home = worker.sandbox;
        let was_long = self.parts.get(&part).is_some_and(|held| held.is_watched());
        let group = worker.group.as_ref().filter(|_| was_long || exit == Exit::OutOfMemory);
        if let Some(group) = group {
            worker.kills = group.memory_kills();
        }
        let leaves_memory = !worker.is_spent && group.is_some_and(|group| group.usage().shared > TOO_MUCH_SHARED);
        self.is_over(part, exit);
        if leaves_memory && !self.sandboxes.is_busy(home) {
            self.retire_sandbox(home);
        }
    }

    /// The processes of a part are gone: the rest of its output is read, its room is free.
    pub(super) fn is_over(&mut self, part: AllocationKey, exit: Exit) {
        self.release(part);
        self.read_rest(part);
        let Some(held) = self.parts.get_mut(&part) else { return };
        let is_timeout = held.ending.is_some_and(|ending| ending.is_timeout);
        held.exit = Some(if is_timeout { Exit::TimedOut } else { exit });
        held.stage = Stage::Over;
        held.ending = None;
        held.watch_at = None;
        held.too_long_at = None;
        self.over.push(part);
    }

    /// A worker that does not do what it is told is killed; its launcher sees to the rest.
    pub(super) fn dismiss(&mut self, id: WorkerId) {
        let Some(worker) = self.sandboxes.workers.get(&id) else { return };
        match worker.pid {
            Some(pid) if pid != 0 => processes::signal(pid, Signal::KILL),
            _ => self.abandon_sandbox(worker.sandbox),
        }
    }

    /// A part cannot go on, though its worker has begun with it.
    pub(super) fn give_up(&mut self, id: WorkerId, part: AllocationKey, why: String) {
        self.refuse(part, why);
        if let Some(worker) = self.sandboxes.workers.get_mut(&id) {
            worker.part = None;
        }
        self.dismiss(id);
    }

    /// Removes the files of a part that was ended before it began.
    fn tidy(&mut self, id: WorkerId, part: AllocationKey) {
        let Some((worker, sandbox)) = self.worker_and_sandbox(id) else { return };
        let Some(held) = self.parts.get(&part) else { return };
        if worker.channel.say(&Order::Tidy(sandbox.places.folder(&held.start)), &[]).is_err() {
            self.dismiss(id);
        }
    }
}
