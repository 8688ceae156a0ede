//! What the server says, and what it is told.

use std::collections::HashSet;

use atelier_domain::world::{AllocationKey, Exit};
use atelier_protocol::{Auth, Bytes, Event, Hello, ToAgent, ToServer, VERSION};

use super::part::{Held, Why};
use super::{Agent, Link};
use crate::blobs::Progress;
use crate::clock;
use crate::link::FromLink;
use crate::log::Log;

/// The longest that events wait for more of them.
const HOLD: std::time::Duration = std::time::Duration::from_millis(10);
/// With fewer parts to go on with for each that runs, nothing waits: the server needs time to send more.
const FEW: usize = 6;

impl Agent {
    pub(super) fn on_link(&mut self, news: FromLink) {
        let current = self.link.as_ref().map(|link| link.number);
        match news {
            FromLink::Connected(number, sender) => {
                self.link = Some(Link { number, sender, is_welcome: false });
                self.say_hello();
            }
            FromLink::Closed(number) if current == Some(number) => self.link = None,
            FromLink::Said(number, said) if current == Some(number) => {
                self.life.heard_at(clock::now());
                self.on_message(*said);
            }
            FromLink::Bytes(number, bytes) if current == Some(number) => {
                self.life.heard_at(clock::now());
                if let Bytes::File { blob, offset, total, bytes } = bytes {
                    let progress = self.blobs.piece(&blob, offset, total, &bytes);
                    self.on_progress(progress);
                }
            }
            FromLink::Alive(number) if current == Some(number) => self.life.heard_at(clock::now()),
            _ => {}
        }
    }

    fn say_hello(&mut self) {
        let secret = self.secret.clone();
        let auth = if self.config.token.is_empty() {
            Auth::Known { secret }
        } else {
            Auth::Join { token: self.config.token.clone(), secret }
        };
        let parts = self.parts.iter().filter(|(_, held)| !held.is_off).map(|(part, _)| *part).collect();
        let (node, facts) = (self.config.node, self.facts.clone());
        let hello = Hello { protocol: VERSION, node, auth, facts, parts, more: false };
        hello.messages().iter().for_each(|message| self.say(message));
    }

    fn on_message(&mut self, message: ToAgent) {
        // Before the welcome only a welcome or a refusal counts.
        if !self.is_welcome() && !matches!(message, ToAgent::Welcome { .. } | ToAgent::Refused { .. }) {
            return;
        }
        match message {
            ToAgent::Welcome { heard, kept } => self.on_welcome(heard, kept),
            ToAgent::Refused { why, again } => {
                tracing::warn!(%why, again, "the server does not let this agent in");
                if !again {
                    self.is_last_link.store(true, std::sync::atomic::Ordering::Relaxed);
                    self.life.quarantine(&why);
                }
                self.link = None;
            }
            ToAgent::Heard(number) => self.on_heard(number),
            ToAgent::Kept { part, length, again } => self.on_kept(part, length, again),
            ToAgent::Start(start) => self.on_start(start),
            ToAgent::End { part, grace, is_preempted } => self.on_end(part, grace, is_preempted),
            ToAgent::GiveBack { part } => self.on_give_back(part),
            ToAgent::Drain => self.life.drain(),
            ToAgent::Undrain => self.life.undrain(),
            ToAgent::NoFile { blob, why } => {
                let progress = self.blobs.missing(&blob, &why);
                self.on_progress(progress);
            }
            ToAgent::SetUp(_)
            | ToAgent::RunScripts(_)
            | ToAgent::Open { .. }
            | ToAgent::TellActivity
            | ToAgent::Apps(_)
            | ToAgent::RestartApp { .. } => self.on_instance(message),
            ToAgent::Identity(told) => {
                let link = self.link.as_ref().map_or(0, |link| link.number);
                self.identities.keep(&self.config, &self.isolation, *told, link);
            }
            ToAgent::NoIdentity { person } => self.identities.drop_one(&person),
            ToAgent::Quit { grace } => self.quit(clock::duration(grace), "the server said so"),
        }
    }

    /// Everything that the server does not have is sent again: output first, then events.
    fn on_welcome(&mut self, heard: u64, kept: Vec<(AllocationKey, u64)>) {
        if let Some(link) = &mut self.link {
            link.is_welcome = true;
        }
        // Redeemed; from now on the secret is enough.
        self.config.token = String::new();
        self.on_heard(heard);
        for (part, length) in kept {
            if let Some(held) = self.parts.get_mut(&part) {
                held.log.keep(length);
            }
        }
        self.under_way = 0;
        self.lagging = HashSet::new();
        self.line.clear();
        for (part, held) in &mut self.parts {
            held.log.rewind();
            held.is_in_line = !held.log.is_sent();
            if held.is_in_line {
                self.line.push_back(*part);
                if held.is_off {
                    self.lagging.insert(*part);
                }
            }
        }
        self.must_repeat = true;
        self.resume_paused();
        self.greet_for_instance();
        self.fetch();
    }

    fn on_heard(&mut self, number: u64) {
        for part in self.outbox.heard(number) {
            self.parts.remove(&part);
            self.lagging.remove(&part);
            self.recent.add(part);
        }
    }

    fn on_start(&mut self, start: Box<atelier_protocol::Start>) {
        let part = start.part;
        if self.parts.contains_key(&part) || self.recent.has(part) {
            return;
        }
        if part.node != self.config.node {
            tracing::warn!(?part, "the server sent a part of another node");
            return;
        }
        self.life.undrain();
        // A node that was made before there were environments does not show them to anybody.
        let is_alone = start.task.is_alone;
        let misses = start.environment.as_ref().filter(|wanted| !self.shows(&wanted.path, is_alone));
        let misses = misses.map(|wanted| wanted.name.clone());
        let spool = self.config.folder.join("spool").join(format!("{}.{}", part.job.0, part.attempt));
        let shape = start.shape;
        self.parts.insert(part, Held::new(start, Log::new(spool)));
        if self.life.is_leaving() {
            self.refuse(part, "the node is about to end".to_owned());
        } else if let Some(name) = misses {
            self.refuse(
                part,
                format!("the environment {name} is not to be had on this node; an operator replaces the node"),
            );
        } else if self.room.could_have(shape) {
            self.queue.push_back(part);
        } else {
            self.refuse(part, "it asks for more than the whole node has".to_owned());
        }
    }

    /// Whether an environment is there for those who run here. Who is alone has temporary files of their own,
    /// which hide what lies in the place of the machine's.
    fn shows(&self, environment: &std::path::Path, is_alone: bool) -> bool {
        let is_in = |folder: &std::path::PathBuf| environment.starts_with(folder);
        let has_view = matches!(self.isolation, crate::facts::Isolation::View(_));
        let is_hidden = has_view && is_alone && environment.starts_with("/tmp");
        let is_bound = !has_view || self.config.environments.as_ref().is_some_and(is_in);
        environment.join("bin/python").exists() && is_bound && !is_hidden
    }

    /// A part that still waits for room goes back, and never begins here.
    fn on_give_back(&mut self, part: AllocationKey) {
        match self.queue.iter().position(|waiting| *waiting == part) {
            Some(place) => {
                self.queue.remove(place);
                self.parts.remove(&part);
            }
            // It has begun; that was said, or is about to be. If it was only about to begin, it may still
            // come back.
            None if self.parts.contains_key(&part) => {
                if let Some(held) = self.parts.get_mut(&part) {
                    held.is_wanted_back = true;
                }
                return;
            }
            None => {}
        }
        self.recent.add(part);
        self.outbox.add(Event::GivenBack(part));
    }

    fn on_end(&mut self, part: AllocationKey, grace: atelier_domain::time::Span, is_preempted: bool) {
        if self.parts.contains_key(&part) {
            let why = if is_preempted { Why::Preempted } else { Why::Told };
            self.end(part, clock::duration(grace), why);
        } else {
            // Nothing is known of it, so nothing of it is left; the server may wait to hear that.
            self.outbox.add(Event::Off { part, exit: Exit::Code(143) });
        }
    }

    /// Asks for the next piece of a file, if one is wanted.
    pub(super) fn fetch(&mut self) {
        while let Some(next) = self.blobs.next() {
            match next {
                Ok((blob, offset)) => {
                    if self.is_welcome() {
                        self.say(&ToServer::Fetch { blob, offset });
                    }
                    return;
                }
                Err((blob, why)) => self.fail_blob(&blob, &why),
            }
        }
    }

    fn on_progress(&mut self, progress: Progress) {
        match progress {
            Progress::None => return,
            Progress::More => {}
            Progress::Done(blob) => {
                self.script_fetched(&blob, None);
                self.assign_what_has_its_files();
            }
            Progress::Failed(blob, why) => {
                self.script_fetched(&blob, Some(&why));
                self.fail_blob(&blob, &why);
            }
        }
        self.fetch();
    }

    /// Whether what happened may be said a little later, together with what happens meanwhile: while there is
    /// more than enough to go on with, each word would only cost the server a commit.
    fn may_wait(&mut self) -> bool {
        let busy = self.sandboxes.workers.values().filter(|worker| worker.part.is_some()).count();
        let next = self.sandboxes.workers.values().filter(|worker| worker.next.is_some()).count();
        if self.queue.len() + next <= FEW * busy.max(1) {
            return false;
        }
        let now = clock::now();
        now < *self.hold.get_or_insert(now + HOLD)
    }

    /// Sends what happened, once everything that must come before it was sent.
    pub(super) fn send_events(&mut self) {
        if !self.is_welcome() || !self.lagging.is_empty() || !self.outbox.has_fresh() {
            // Nothing is being held back, so nothing needs a clock.
            self.hold = None;
        }
        if !self.is_welcome() || !self.lagging.is_empty() {
            return;
        }
        if self.must_repeat {
            self.must_repeat = false;
            for events in self.outbox.again() {
                self.say(&ToServer::Events(events));
            }
        }
        if self.outbox.has_fresh() && !self.may_wait() {
            self.hold = None;
            for events in self.outbox.number() {
                self.say(&ToServer::Events(events));
            }
        }
    }
}
