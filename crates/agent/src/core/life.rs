//! Draining, leaving, being alone; and the sandboxes' own lives.

use std::time::{Duration, Instant};

use atelier_domain::world::AllocationKey;
use atelier_protocol::Event;

use super::Agent;
use super::part::{Stage, Why};
use crate::clock;
use crate::sandbox::{Kind, Sandbox, SandboxId};

/// A sandbox in which nothing ran for so long is ended.
const IDLE: Duration = Duration::from_secs(600);
/// After the grace, how long the end of everything may take.
const LEAVING: Duration = Duration::from_secs(10);
/// How long what runs in an instance gets to end where nobody says.
const HOSTING: Duration = Duration::from_secs(5);
/// How long an agent that leaves waits for the server to hear of the end of its jobs.
const HEARING: Duration = Duration::from_secs(3);

/// How the agent's own life goes on.
#[derive(Debug)]
pub struct Life {
    is_draining: bool,
    leaving: Option<Leaving>,
    quarantine: Option<String>,
    last_heard: Instant,
}

#[derive(Debug)]
struct Leaving {
    why: String,
    /// Then it goes, whatever is left.
    at_last: Instant,
    /// Everything has ended since then.
    empty_since: Option<Instant>,
}

impl Life {
    pub const fn new(now: Instant) -> Self {
        Self { is_draining: false, leaving: None, quarantine: None, last_heard: now }
    }

    pub const fn heard_at(&mut self, now: Instant) {
        self.last_heard = now;
    }

    pub const fn drain(&mut self) {
        self.is_draining = true;
    }

    pub const fn undrain(&mut self) {
        self.is_draining = false;
    }

    /// The server does not know this agent: it finishes what it has and ends.
    pub fn quarantine(&mut self, why: &str) {
        self.quarantine = Some(format!("the server does not let it in: {why}"));
    }

    pub const fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    pub fn deadline(&self) -> Option<Instant> {
        let leaving = self.leaving.as_ref()?;
        Some(leaving.empty_since.map_or(leaving.at_last, |since| since + HEARING))
    }
}

impl Agent {
    /// Ends everything, then itself.
    pub(super) fn quit(&mut self, grace: Duration, why: &str) {
        let now = clock::now();
        let at_last = now.checked_add(grace).unwrap_or(now) + LEAVING;
        if let Some(leaving) = &mut self.life.leaving {
            leaving.at_last = leaving.at_last.min(at_last);
        } else {
            self.life.leaving = Some(Leaving { why: why.to_owned(), at_last, empty_since: None });
        }
        self.end_instance(grace);
        let parts: Vec<_> = self.parts.keys().copied().collect();
        for part in parts {
            self.end(part, grace, Why::Told);
        }
    }

    /// Whether the agent's time has come, and why.
    pub(super) fn is_done(&mut self, now: Instant) -> Option<String> {
        let has_ended = self.queue.is_empty() && self.parts.values().all(|held| held.stage == Stage::Over);
        if self.life.is_draining && has_ended && self.parts.values().all(|held| held.is_off) {
            // Once for each time it was told; a start lifts it before that.
            self.life.is_draining = false;
            self.outbox.add(Event::Drained);
            self.send_events();
        }
        // An instance does not keep a node that has no server, but everything ends before the node does.
        let is_hosting = !self.has_instance_ended();
        if let Some(leaving) = &mut self.life.leaving {
            let has_ended = has_ended && !is_hosting;
            if has_ended && leaving.empty_since.is_none() {
                leaving.empty_since = Some(now);
            }
            let was_heard = has_ended && self.outbox.is_empty();
            let has_waited = leaving.empty_since.is_some_and(|since| now >= since + HEARING);
            return (was_heard || has_waited || now >= leaving.at_last).then(|| leaving.why.clone());
        }
        if !has_ended {
            return None;
        }
        let alone = Duration::from_secs(self.config.alone_seconds);
        let is_alone = !self.is_welcome() && now.duration_since(self.life.last_heard) >= alone;
        let alone = is_alone.then(|| format!("it has had no server for {} seconds", alone.as_secs()));
        let why = self.life.quarantine.clone().or(alone)?;
        if is_hosting {
            self.quit(HOSTING, &why);
            return None;
        }
        Some(why)
    }

    pub(super) fn retire_idle_sandboxes(&mut self) {
        let now = clock::now();
        self.retire_forlorn_workers();
        let ids: Vec<SandboxId> = self.sandboxes.sandboxes.keys().copied().collect();
        for id in ids {
            if self.sandboxes.is_busy(id) {
                if let Some(sandbox) = self.sandboxes.sandboxes.get_mut(&id) {
                    sandbox.idle_since = now;
                }
            } else {
                // Nobody finds one without an owner any more.
                let is_done = |sandbox: &Sandbox| sandbox.owner.is_none() || now >= sandbox.idle_since + IDLE;
                if self.sandboxes.sandboxes.get(&id).is_some_and(is_done) {
                    self.retire_sandbox(id);
                }
            }
        }
    }

    /// Ends workers for single jobs that were made ahead of time, if no such job waits any more.
    fn retire_forlorn_workers(&mut self) {
        let is_alone = |part: &AllocationKey| self.parts.get(part).is_some_and(|held| held.start.task.is_alone);
        if self.queue.iter().any(is_alone) {
            return;
        }
        let per_job = self.sandboxes.sandboxes.iter_mut().filter(|(_, sandbox)| sandbox.kind == Kind::PerJob);
        let per_job: Vec<SandboxId> = per_job
            .map(|(id, sandbox)| {
                sandbox.warm = 0;
                *id
            })
            .collect();
        for id in per_job {
            for worker in self.sandboxes.idle(id).collect::<Vec<_>>() {
                if let Some(worker) = self.sandboxes.workers.get_mut(&worker) {
                    worker.is_spent = true;
                    worker.channel.close();
                }
            }
        }
        self.temporaries.clear();
    }
}
