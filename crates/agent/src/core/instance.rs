//! The instance on this node: what the server wants of it, and what its tasks want of the loop.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use atelier_domain::UserId;
use atelier_domain::compute::InstanceId;
use atelier_protocol::{Event, RunScripts, SetUp, Target, ToAgent, ToServer};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::sync::oneshot;

use super::Agent;
use super::instance_workers::InstanceWorkers;
use crate::blobs::is_name;
use crate::instance::{self, Ask, Load, Supervisor};

/// The instance on this node, as the loop knows it.
#[derive(Debug, Default)]
pub struct Hosted {
    supervisor: Option<Arc<Supervisor>>,
    /// How its set-up went, once that is known; said again to a server that asks again.
    set_up: Option<Event>,
    /// How its scripts went.
    scripts: Option<Event>,
    /// Whether they were begun.
    has_begun_scripts: bool,
    /// Who waits for which file.
    fetching: Vec<(String, oneshot::Sender<Result<File, String>>)>,
    /// The most that a GPU was busy since somebody asked.
    gpu: Option<f32>,
    pub(super) workers: InstanceWorkers,
}

impl Hosted {
    pub(super) fn person(&self) -> Option<UserId> {
        self.supervisor.as_ref().map(|supervisor| supervisor.set_up.person.id.clone())
    }
}

impl Agent {
    /// The server wants something of the instance.
    pub(super) fn on_instance(&mut self, message: ToAgent) {
        match message {
            ToAgent::SetUp(set_up) => self.on_set_up(*set_up),
            ToAgent::RunScripts(scripts) => self.on_scripts(*scripts),
            ToAgent::Open { ticket, target } => self.on_open(ticket, target),
            ToAgent::TellActivity => {
                if let Some(supervisor) = &self.hosted.supervisor {
                    supervisor.tell.notify_one();
                }
            }
            ToAgent::Apps(custom) => {
                if let Some(supervisor) = self.supervisor_of(custom.instance) {
                    supervisor.replace_apps(custom.revision, custom.apps);
                }
            }
            ToAgent::RestartApp { instance, name } => {
                if let Some(supervisor) = self.supervisor_of(instance) {
                    supervisor.restart_app(&name);
                }
            }
            _ => {}
        }
    }

    /// The instance here, if it is that one.
    fn supervisor_of(&self, instance: InstanceId) -> Option<&Arc<Supervisor>> {
        self.hosted.supervisor.as_ref().filter(|supervisor| supervisor.set_up.instance == instance)
    }

    fn on_set_up(&mut self, set_up: SetUp) {
        let SetUp { instance, generation, .. } = set_up;
        let known = self.hosted.supervisor.as_ref().filter(|supervisor| supervisor.set_up.instance == instance);
        match known.map(|supervisor| supervisor.set_up.generation) {
            Some(now) if now > generation => return,
            Some(now) if now == generation => return self.say_again(self.hosted.set_up.clone()),
            _ => {}
        }
        if self.life.is_leaving() {
            let failure = Some("the node is about to end".into());
            return self.outbox.add(Event::SetUp { instance, generation, failure });
        }
        allow_many_files();
        let (config, isolation) = (self.config.clone(), self.isolation.clone());
        let supervisor = Arc::new(Supervisor::new(set_up, config, isolation, self.inbox.clone()));
        let before = self.hosted.supervisor.replace(Arc::clone(&supervisor));
        (self.hosted.set_up, self.hosted.scripts, self.hosted.has_begun_scripts) = (None, None, false);
        tokio::spawn(instance::begin(supervisor, before));
    }

    fn on_scripts(&mut self, scripts: RunScripts) {
        let RunScripts { instance, generation, .. } = scripts;
        let is_it = |supervisor: &&Arc<Supervisor>| {
            (supervisor.set_up.instance, supervisor.set_up.generation) == (instance, generation)
        };
        let Some(supervisor) = self.hosted.supervisor.as_ref().filter(is_it) else {
            tracing::warn!(%instance, generation, "scripts of an instance that is not here");
            return;
        };
        if self.hosted.has_begun_scripts {
            return self.say_again(self.hosted.scripts.clone());
        }
        if !matches!(self.hosted.set_up, Some(Event::SetUp { failure: None, .. })) {
            let failure = Some("the instance is not set up".into());
            return self.outbox.add(Event::ScriptsDone { instance, generation, creation_done: false, failure });
        }
        self.hosted.has_begun_scripts = true;
        tokio::spawn(instance::run_scripts(Arc::clone(supervisor), scripts));
    }

    /// What was asked before is answered as before; where there is no answer yet, it comes.
    fn say_again(&mut self, answer: Option<Event>) {
        answer.into_iter().for_each(|event| self.outbox.add(event));
    }

    fn on_open(&self, ticket: String, target: Target) {
        match &self.hosted.supervisor {
            Some(supervisor) => drop(tokio::spawn(instance::open_stream(Arc::clone(supervisor), ticket, target))),
            None => self.say(&ToServer::Unreachable { ticket, why: "no instance is set up on this node".into() }),
        }
    }

    /// A task of the instance wants something.
    pub(super) fn on_ask(&mut self, ask: Ask) {
        match ask {
            Ask::SetMounts(place, mounts) => self.set_mounts(place, *mounts),
            Ask::EndSandboxes(place, reply) => self.end_sandboxes(place, reply),
            Ask::AcquireWorker(place, reply) => self.acquire_worker(place, reply),
            Ask::Spoken(id, spoken) => self.on_instance_worker(id, spoken),
            Ask::Signal(id, signal) => self.signal_instance_worker(id, signal),
            Ask::Kill(id, round) => self.kill_instance_worker(id, round),
            Ask::Release(id, is_over) => self.release_instance_worker(id, is_over),
            Ask::Fetch(blob, reply) => self.fetch_script(blob, reply),
            Ask::Measure(reply) => drop(reply.send(self.measure())),
            Ask::Answer(generation, event) => self.on_answer(generation, event),
            Ask::Say(message) => {
                if self.is_welcome() {
                    self.say(&message);
                }
            }
        }
    }

    fn on_answer(&mut self, generation: u64, event: Event) {
        if self.hosted.supervisor.as_ref().is_none_or(|supervisor| supervisor.set_up.generation != generation) {
            return;
        }
        match &event {
            Event::SetUp { .. } => self.hosted.set_up = Some(event.clone()),
            Event::ScriptsDone { .. } => self.hosted.scripts = Some(event.clone()),
            _ => {}
        }
        self.outbox.add(event);
    }

    /// The server is there again, and has forgotten how applications do.
    pub(super) fn greet_for_instance(&self) {
        if let Some(supervisor) = &self.hosted.supervisor {
            supervisor.say_apps();
        }
    }

    fn fetch_script(&mut self, blob: String, reply: oneshot::Sender<Result<File, String>>) {
        if !is_name(&blob) {
            return drop(reply.send(Err("it has no hash".to_owned())));
        }
        if let Some(file) = self.blobs.open(&blob) {
            return drop(reply.send(Ok(file)));
        }
        let is_idle = !self.blobs.is_busy();
        self.blobs.want(&blob);
        self.hosted.fetching.push((blob, reply));
        if is_idle {
            self.fetch();
        }
    }

    /// A file has come, or cannot be had: whoever waits for it is told.
    pub(super) fn script_fetched(&mut self, blob: &str, failure: Option<&str>) {
        let fetching = std::mem::take(&mut self.hosted.fetching);
        for (wanted, reply) in fetching {
            if wanted != blob {
                self.hosted.fetching.push((wanted, reply));
                continue;
            }
            let missing = || failure.unwrap_or("it is not on the node any more").to_owned();
            drop(reply.send(self.blobs.open(blob).ok_or_else(missing)));
        }
    }

    fn measure(&mut self) -> Load {
        let is_job = |held: &super::Held| matches!(held.stage, super::part::Stage::Running(_));
        let mut jobs: Vec<_> = self.parts.iter().filter(|(_, held)| is_job(held)).map(|(part, _)| part.job).collect();
        jobs.sort_unstable();
        let (cpu, pids) = self.hosted.workers.usage();
        Load { at: crate::clock::now(), cpu, pids, gpu: self.hosted.gpu.take(), jobs }
    }

    /// How busy GPUs were, as of the last sample.
    pub(super) fn note_gpus(&mut self, gpus: &[atelier_protocol::Gpu]) {
        for gpu in gpus {
            self.hosted.gpu = Some(self.hosted.gpu.unwrap_or(0.0).max(gpu.busy));
        }
    }

    /// Ends the instance with its node.
    pub(super) fn end_instance(&self, grace: Duration) {
        if let Some(supervisor) = &self.hosted.supervisor {
            supervisor.end(grace);
        }
    }

    /// At the agent's own end.
    pub(super) fn leave_instance(&self) {
        if let Some(supervisor) = &self.hosted.supervisor {
            supervisor.leave();
        }
    }

    /// Whether nothing of it runs any more.
    pub(super) fn has_instance_ended(&self) -> bool {
        self.hosted.workers.is_empty()
    }
}

/// Each stream needs two open files, and there may be thousands.
fn allow_many_files() {
    const MANY: u64 = 65_536;
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(MANY, |most| most.min(MANY));
    if limit.current.is_some_and(|now| now < wanted) {
        limit.current = Some(wanted);
        let _ = setrlimit(Resource::Nofile, limit);
    }
}
