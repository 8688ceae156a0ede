//! Parts that workers have before their turn, so that between two quick jobs nobody waits for the agent.
//!
//! A worker says that a part has ended before it begins the next, and gives the next back if the part that it
//! runs takes long. So until it has said one of the two, the next has not begun; but which of them its
//! processes are of is not known. That is why [`Agent::signal`] waits for its word.

use atelier_domain::world::{AllocationKey, Exit};
use atelier_protocol::Event;
use rustix::process::Signal;

use super::Agent;
use super::part::Stage;
use crate::sandbox::WorkerId;

impl Agent {
    /// Hands the next parts to workers that have only just begun with theirs.
    pub(super) fn hand_ahead(&mut self) {
        while let Some(&part) = self.queue.front() {
            let Some(id) = self.worker_to_be_free(part) else { return };
            if let Err(error) = self.hand_over(id, part) {
                // It is not lost: the part waits on, and whether the worker listens shows when its own part
                // has ended.
                return tracing::warn!(%error, "a worker cannot be given its next job");
            }
            self.queue.pop_front();
            if let Some(held) = self.parts.get_mut(&part) {
                held.stage = Stage::Next(id);
            }
            if let Some(worker) = self.sandboxes.workers.get_mut(&id) {
                worker.next = Some(part);
            }
        }
    }

    /// A worker of the same person that has only just begun with a part of the same shape: it will have the
    /// room.
    fn worker_to_be_free(&self, part: AllocationKey) -> Option<WorkerId> {
        let start = &self.parts.get(&part)?.start;
        let is_plain = !start.task.is_alone && start.task.files.is_empty() && start.shape.gpus == 0;
        if !is_plain || !self.has_user(&start.person) {
            return None;
        }
        let home = self.sandboxes.of(&start.person.id)?;
        let will_do = |id: WorkerId, current: AllocationKey| {
            self.parts.get(&current).is_some_and(|held| {
                held.stage == Stage::Running(id)
                    && held.start.shape == start.shape
                    && held.watch_at.is_some()
                    && held.ending.is_none()
            })
        };
        let workers =
            self.sandboxes.workers.iter().filter(|(_, worker)| worker.sandbox == home && worker.next.is_none());
        workers
            .filter_map(|(id, worker)| Some((*id, worker.part?)))
            .find(|(id, part)| will_do(*id, *part))
            .map(|(id, _)| id)
    }

    /// A worker has ended its part, and so begins the next that it has.
    pub(super) fn begin_next(&mut self, id: WorkerId, part: AllocationKey) {
        let (Some(worker), Some(held)) = (self.sandboxes.workers.get_mut(&id), self.parts.get_mut(&part)) else {
            return;
        };
        worker.next = None;
        worker.part = Some(part);
        // What the part before it had is free, and this one wants as much.
        held.gpus = self.room.take(held.start.shape);
        if held.gpus.is_none() {
            tracing::error!(?part, "there is no room for a part that has begun");
        }
        self.has_begun(id, part);
        if self.parts.get(&part).is_some_and(|held| held.ending.is_some()) {
            self.signal(id, Signal::TERM);
        }
    }

    /// The next part of a worker has not begun, and will not there.
    pub(super) fn take_next_back(&mut self, id: WorkerId) {
        let Some(worker) = self.sandboxes.workers.get_mut(&id) else { return };
        let (current, Some(part)) = (worker.part, worker.next.take()) else { return };
        self.return_to_queue(part);
        // Now it is known whose processes these are.
        if current.and_then(|part| self.parts.get(&part)).is_some_and(|held| held.ending.is_some()) {
            self.signal(id, Signal::TERM);
        }
    }

    /// A part that was next waits again, unless it need not.
    pub(super) fn return_to_queue(&mut self, part: AllocationKey) {
        let Some(held) = self.parts.get_mut(&part) else { return };
        held.pipe = None;
        held.stage = Stage::Queued;
        if held.ending.is_some() {
            return self.is_over(part, Exit::Code(143));
        }
        if held.is_wanted_back {
            self.parts.remove(&part);
            self.recent.add(part);
            return self.outbox.add(Event::GivenBack(part));
        }
        self.queue.push_front(part);
    }
}
