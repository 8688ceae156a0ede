//! From a start to the job: room, files, and what a worker is told. Where the worker comes from is in
//! `worker_pool`.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use atelier_confine::PartGroup;
use atelier_domain::text::Text;
use atelier_domain::world::AllocationKey;
use atelier_protocol::{Event, Person, Run};

use super::Agent;
use super::part::{Pipe, Stage};
use crate::blobs::is_name;
use crate::environment::environment;
use crate::facts::Isolation;
use crate::sandbox::{self, Sandbox, Worker, WorkerId};
use crate::wire::{Job, MAX_FILES, Order};
use crate::{clock, launcher};

/// The server comes first when a job runs too long; this is for when there is none.
const AFTER_TIMEOUT: Duration = Duration::from_secs(2);
/// A worker says much sooner than this that a job runs.
const WATCH: Duration = Duration::from_millis(250);

impl Agent {
    /// Begins parts in order while there is room for the next.
    pub(super) fn begin_what_fits(&mut self) {
        while let Some(&part) = self.queue.front() {
            let Some(held) = self.parts.get_mut(&part) else {
                self.queue.pop_front();
                continue;
            };
            let Some(gpus) = self.room.take(held.start.shape) else {
                self.hand_ahead();
                return self.warm_up();
            };
            held.gpus = Some(gpus);
            held.stage = Stage::Fetching;
            self.queue.pop_front();
            self.begin(part);
        }
    }

    /// Whether there is a user of the system for a person, where one is needed.
    pub(super) fn has_user(&self, person: &Person) -> bool {
        self.isolation == Isolation::None || person.uid.is_some_and(|uid| uid != 0)
    }

    fn begin(&mut self, part: AllocationKey) {
        let Some(held) = self.parts.get(&part) else { return };
        let start = &held.start;
        if let Some(strange) = start.task.files.iter().find(|file| launcher::inside(&file.path).is_none()) {
            let why = format!("the file “{}” does not lie in the job's folder", strange.path);
            return self.refuse(part, why);
        }
        if let Some(strange) = start.task.files.iter().find(|file| !is_name(&file.blob)) {
            let why = format!("the file “{}” has no hash", strange.path);
            return self.refuse(part, why);
        }
        if !self.has_user(&start.person) {
            return self.refuse(part, "there is no user of the system for its owner".to_owned());
        }
        let missing: Vec<String> =
            start.task.files.iter().map(|file| file.blob.clone()).filter(|blob| !self.blobs.has(blob)).collect();
        if missing.is_empty() {
            return self.find_worker(part);
        }
        let is_idle = !self.blobs.is_busy();
        for blob in &missing {
            self.blobs.want(blob);
        }
        if is_idle {
            self.fetch();
        }
    }

    /// A file has come: whoever has all of theirs now goes on.
    pub(super) fn assign_what_has_its_files(&mut self) {
        let has_all = |held: &super::Held| held.start.task.files.iter().all(|file| self.blobs.has(&file.blob));
        let waiting = self.parts.iter().filter(|(_, held)| held.stage == Stage::Fetching);
        let ready: Vec<AllocationKey> = waiting.filter(|(_, held)| has_all(held)).map(|(part, _)| *part).collect();
        for part in ready {
            self.find_worker(part);
        }
    }

    /// A file cannot be had: whoever waits for it is refused.
    pub(super) fn fail_blob(&mut self, blob: &str, why: &str) {
        let waits = |held: &super::Held| held.stage == Stage::Fetching;
        let wants = |held: &super::Held| {
            held.start.task.files.iter().find(|file| file.blob == blob).map(|file| file.path.clone())
        };
        let waiting = self.parts.iter().filter(|(_, held)| waits(held));
        let failed: Vec<(AllocationKey, String)> =
            waiting.filter_map(|(part, held)| Some((*part, wants(held)?))).collect();
        for (part, path) in failed {
            self.refuse(part, format!("the file “{path}” cannot be had: {why}"));
        }
    }

    /// Gives a worker something to do: the files first, then the job.
    pub(super) fn assign(&mut self, id: WorkerId, part: AllocationKey) {
        let (Some(worker), Some(held)) = (self.sandboxes.workers.get_mut(&id), self.parts.get_mut(&part)) else {
            return;
        };
        worker.part = Some(part);
        worker.is_spent = held.start.task.is_alone;
        held.stage = Stage::Running(id);
        if let Some(group) = &mut worker.group
            && let Err(error) = group.set(sandbox::share(held.start.shape))
        {
            let why = format!("its limits cannot be set: {error}");
            worker.part = None;
            return self.refuse(part, why);
        }
        if held.start.task.files.is_empty() { self.send_job(id) } else { self.send_files(id, 0) }
    }

    /// Sends the next files, as many as one message takes.
    pub(super) fn send_files(&mut self, id: WorkerId, done: usize) {
        let Some((worker, sandbox)) = self.worker_and_sandbox(id) else { return };
        let Some(part) = worker.part else { return };
        let (channel, places) = (std::sync::Arc::clone(&worker.channel), sandbox.places.clone());
        let Some(held) = self.parts.get_mut(&part) else { return };
        let batch = &held.start.task.files[done..];
        let batch = &batch[..batch.len().min(MAX_FILES)];
        held.stage = Stage::Filling(id, done + batch.len());
        let mut files = Vec::with_capacity(batch.len());
        for file in batch {
            match self.blobs.open(&file.blob) {
                Some(open) => files.push(open),
                None => {
                    let why = format!("the file “{}” is not on the node any more", file.path);
                    return self.give_up(id, part, why);
                }
            }
        }
        let paths = batch.iter().map(|file| file.path.clone()).collect();
        let order = Order::Files { folder: places.folder(&held.start), paths };
        let handles: Vec<BorrowedFd<'_>> = files.iter().map(AsFd::as_fd).collect();
        if let Err(error) = channel.say(&order, &handles) {
            tracing::warn!(%error, "a worker does not listen");
            self.dismiss(id);
        }
    }

    /// Sends the job itself.
    pub(super) fn send_job(&mut self, id: WorkerId) {
        let Some(part) = self.sandboxes.workers.get(&id).and_then(|worker| worker.part) else { return };
        match self.hand_over(id, part) {
            Ok(()) => self.has_begun(id, part),
            Err(error) => {
                tracing::warn!(%error, "a worker cannot be given its job");
                self.dismiss(id);
            }
        }
        if self.blobs.is_too_full()
            && !self
                .parts
                .values()
                .any(|held| matches!(held.stage, Stage::Fetching | Stage::Waiting(_) | Stage::Filling(..)))
        {
            self.blobs.make_room();
        }
    }

    /// Sends a part to a worker, and keeps the end of the pipe that its output comes from.
    pub(super) fn hand_over(&mut self, id: WorkerId, part: AllocationKey) -> std::io::Result<()> {
        let Some(worker) = self.sandboxes.workers.get_mut(&id) else { return Ok(()) };
        let Some(places) = self.sandboxes.sandboxes.get(&worker.sandbox).map(|sandbox| &sandbox.places) else {
            return Ok(());
        };
        let Some(held) = self.parts.get_mut(&part) else { return Ok(()) };
        if let Some(networks) = &self.networks {
            networks.name_peers(&mut held.start);
        }
        let start = &held.start;
        let gpus = held.gpus.as_deref().unwrap_or_default();
        // In a private view there are the node's own cards and no others, counted from 0.
        let has_view = matches!(self.isolation, Isolation::View(_));
        let seen = if has_view { self.room.places(gpus) } else { gpus.to_vec() };
        let job = Job {
            folder: places.folder(start),
            environment: environment(start, places, gpus, &seen, self.identities.variables(&start.person.id)),
            run: start.task.run.clone(),
            memory: worker.group.is_none().then_some(start.shape.memory << 20),
        };
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&read, true)?;
        let counter = worker.group.as_ref().filter(|_| !worker.counts_kills).map(PartGroup::memory_kills_file);
        let files: Vec<BorrowedFd<'_>> = [write.as_fd()].into_iter().chain(counter.map(AsFd::as_fd)).collect();
        worker.channel.say(&Order::Job(Box::new(job)), &files)?;
        worker.counts_kills = true;
        held.pipe = Some(Pipe::Still(read));
        Ok(())
    }

    /// A worker has begun with a part, or will at any moment.
    pub(super) fn has_begun(&mut self, id: WorkerId, part: AllocationKey) {
        let Some(held) = self.parts.get_mut(&part) else { return };
        held.stage = Stage::Running(id);
        // From now on the agent needs none of it; a part may stay a while until the server has heard of its
        // end.
        held.start.task.run = Run::Argv(Vec::new());
        held.start.task.files = Vec::new();
        held.start.task.environment = Vec::new();
        let now = clock::now();
        held.watch_at = Some(now + WATCH);
        held.too_long_at = held
            .start
            .timeout
            .and_then(|timeout| now.checked_add(clock::duration(timeout)))
            .and_then(|at| at.checked_add(AFTER_TIMEOUT));
    }

    pub(super) fn worker_and_sandbox(&self, id: WorkerId) -> Option<(&Worker, &Sandbox)> {
        let worker = self.sandboxes.workers.get(&id)?;
        Some((worker, self.sandboxes.sandboxes.get(&worker.sandbox)?))
    }

    /// A part could not be started, and nothing of it is left.
    pub(super) fn refuse(&mut self, part: AllocationKey, why: String) {
        self.release(part);
        if let Some(held) = self.parts.get_mut(&part) {
            held.stage = Stage::Over;
            held.is_off = true;
            held.pipe = None;
            let short: String = why.chars().take(1_000).collect();
            self.outbox.add(Event::Refused { part, detail: Text::from(short) });
        }
    }

    /// Gives back the room of a part.
    pub(super) fn release(&mut self, part: AllocationKey) {
        if let Some(held) = self.parts.get_mut(&part)
            && let Some(gpus) = held.gpus.take()
        {
            self.room.give(held.start.shape, gpus);
        }
    }
}
