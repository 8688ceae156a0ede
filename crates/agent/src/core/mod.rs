//! The loop: one task that owns all that the agent knows.
//!
//! Everything that happens comes in through one inbox. A turn takes what is there, then looks at deadlines,
//! begins what there is room for, and hands over what there is to say: output first, then events, since the
//! server must have all output of a part before it hears that the part is off. Nothing in a turn waits for a
//! process.

mod ahead;
mod closing;
mod ends;
mod instance;
mod instance_workers;
mod life;
mod output;
mod part;
mod recent;
mod server;
mod starts;
mod worker_pool;
mod workers;

use std::collections::{HashMap, HashSet, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use atelier_domain::world::AllocationKey;
use atelier_protocol::{Facts, ToServer, encode};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_tungstenite::tungstenite::Message;

use self::closing::Closing;
use self::instance::Hosted;
use self::life::Life;
use self::part::Held;
use self::recent::Recent;
use crate::blobs::Blobs;
use crate::clock;
use crate::config::AgentConfig;
use crate::facts::Isolation;
use crate::identity::Identities;
use crate::instance::Ask;
use crate::link::{FromLink, keep_connected};
use crate::network::Networks;
use crate::outbox::Outbox;
use crate::room::Room;
use crate::sample::Sampler;
use crate::sandbox::{Groups, SandboxId, Sandboxes, Temporaries, WorkerId};
use crate::wire::Said;

/// How often the node says how it is doing.
const SAMPLE: Duration = Duration::from_secs(5);
/// What is taken from the inbox in one turn.
const TURN: usize = 256;

/// What a launcher or worker said, with the open files that came along; nothing once it is gone.
pub type Spoken = Option<(Said, Vec<OwnedFd>)>;

/// Something that happened.
#[derive(Debug)]
pub enum Happening {
    Link(FromLink),
    Sandbox(SandboxId, Spoken),
    Worker(WorkerId, Spoken),
    /// A part has printed something.
    Readable(AllocationKey),
    /// To the instance here.
    Instance(Box<Ask>),
}

/// The connection, as far as it is.
#[derive(Debug)]
struct Link {
    number: u64,
    sender: UnboundedSender<Message>,
    is_welcome: bool,
}

/// What an agent starts with.
pub struct Beginning {
    /// What it was told.
    pub config: AgentConfig,
    /// What it found out.
    pub facts: Facts,
    /// How people are kept apart.
    pub isolation: Isolation,
    /// The groups of the node.
    pub groups: Groups,
    pub blobs: Blobs,
    /// What the node is doing.
    pub sampler: Sampler,
    /// By which the server knows it again.
    pub secret: String,
}

/// All that the agent knows.
pub struct Agent {
    config: AgentConfig,
    facts: Facts,
    isolation: Isolation,
    secret: String,
    inbox: UnboundedSender<Happening>,
    link: Option<Link>,
    /// Set once no other connection is wanted after this one.
    is_last_link: Arc<AtomicBool>,
    outbox: Outbox,
    /// Whether events that were said must be said again on this connection.
    must_repeat: bool,
    /// Until when events wait for more of them.
    hold: Option<Instant>,
    parts: HashMap<AllocationKey, Held>,
    /// Parts that wait for room, oldest first.
    queue: VecDeque<AllocationKey>,
    /// Parts that have ended and are not off yet.
    over: Vec<AllocationKey>,
    /// Parts with output to send, in turn.
    line: VecDeque<AllocationKey>,
    /// Parts that have more to read than there is room for.
    paused: HashSet<AllocationKey>,
    /// Parts that are off and whose output must be sent again first.
    lagging: HashSet<AllocationKey>,
    /// Bytes of output that were sent and that the server has not kept yet.
    under_way: u64,
    /// Parts that the server knows to be off: what comes late about them changes nothing.
    recent: Recent,
    buffer: Vec<u8>,
    room: Room,
    sandboxes: Sandboxes,
    closing: Vec<Closing>,
    temporaries: Temporaries,
    /// Until then, no sandboxes are made ahead of time.
    warm_again: Instant,
    groups: Groups,
    blobs: Blobs,
    sampler: Sampler,
    life: Life,
    /// The instance on this node, if there is one.
    hosted: Hosted,
    /// Tokens of those whose things run here.
    identities: Identities,
    /// Networks of those whose things run here; nothing where all share the machine's.
    networks: Option<Networks>,
}

impl Agent {
    /// Runs until there is nothing left to do. Says why.
    pub async fn run(beginning: Beginning) -> Result<String, std::io::Error> {
        let (sender, inbox) = unbounded_channel();
        let Beginning { config, facts, isolation, groups, blobs, sampler, secret } = beginning;
        let is_last = Arc::new(AtomicBool::new(false));
        let connecting = tokio::spawn(keep_connected(config.clone(), sender.clone(), Arc::clone(&is_last)));
        let room = Room::new(config.shape, config.gpus.clone());
        let temporaries = Temporaries::new(config.folder.join("tmp"));
        let networks = Networks::new(&config);
        let mut agent = Self {
            config,
            facts,
            isolation,
            secret,
            inbox: sender,
            link: None,
            is_last_link: is_last,
            outbox: Outbox::default(),
            must_repeat: false,
            hold: None,
            parts: HashMap::new(),
            queue: VecDeque::new(),
            over: Vec::new(),
            line: VecDeque::new(),
            paused: HashSet::new(),
            lagging: HashSet::new(),
            under_way: 0,
            recent: Recent::default(),
            buffer: Vec::new(),
            room,
            sandboxes: Sandboxes::default(),
            closing: Vec::new(),
            temporaries,
            warm_again: clock::now(),
            groups,
            blobs,
            sampler,
            life: Life::new(clock::now()),
            hosted: Hosted::default(),
            identities: Identities::default(),
            networks,
        };
        let why = agent.turns(inbox).await?;
        tracing::info!(why, "the agent ends");
        agent.say(&ToServer::Leaving { why: why.as_str().into() });
        agent.is_last_link.store(true, Ordering::Relaxed);
        agent.link = None;
        agent.end_all_sandboxes();
        agent.identities.remove_all();
        // Give the connection a moment to send what there is.
        drop(tokio::time::timeout(Duration::from_secs(2), connecting).await);
        Ok(why)
    }

    async fn turns(&mut self, mut inbox: UnboundedReceiver<Happening>) -> Result<String, std::io::Error> {
        let mut children = signal(SignalKind::child())?;
        let mut terminate = signal(SignalKind::terminate())?;
        // Caught and forgotten: a closed terminal or a key pressed at the server are not meant for the agent.
        let (_hangup, _interrupt) = (signal(SignalKind::hangup())?, signal(SignalKind::interrupt())?);
        let mut sample = tokio::time::interval(SAMPLE);
        sample.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            let next = self.next_deadline();
            tokio::select! {
                Some(happening) = inbox.recv() => {
                    self.take(happening);
                    for _ in 1..TURN {
                        let Ok(happening) = inbox.try_recv() else { break };
                        self.take(happening);
                    }
                }
                () = until(next) => {}
                _ = sample.tick() => self.tick(),
                _ = children.recv() => self.reap(),
                _ = terminate.recv() => self.quit(Duration::from_secs(5), "it was asked to end"),
            }
            let now = clock::now();
            self.meet_deadlines(now);
            self.begin_what_fits();
            self.send_output();
            self.settle();
            self.send_events();
            if let Some(why) = self.is_done(now) {
                return Ok(why);
            }
        }
    }

    fn take(&mut self, happening: Happening) {
        match happening {
            Happening::Link(news) => self.on_link(news),
            Happening::Sandbox(id, said) => self.on_sandbox(id, said),
            Happening::Worker(id, said) => self.on_worker(id, said),
            Happening::Readable(part) => self.read_output(part),
            Happening::Instance(ask) => self.on_ask(*ask),
        }
    }

    /// Says something to the server, if there is one.
    fn say(&self, message: &ToServer) {
        if let Some(link) = &self.link {
            drop(link.sender.send(Message::text(encode(message))));
        }
    }

    /// Asks for tokens that will soon be over.
    fn ask_for_tokens(&mut self) {
        let Some(link) = self.link.as_ref().filter(|link| link.is_welcome).map(|link| link.number) else { return };
        for person in self.identities.due(link, clock::now()) {
            self.say(&ToServer::Identify { person });
        }
    }

    fn is_welcome(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.is_welcome)
    }

    /// Every few seconds.
    fn tick(&mut self) {
        self.resume_paused();
        self.groups.tick();
        self.retire_idle_sandboxes();
        self.ask_for_tokens();
        if self.is_welcome() {
            let parts = self.sandboxes.workers.values().filter_map(|worker| Some((worker.part?, worker)));
            let sample = self.sampler.sample(self.groups.node(), parts, clock::now());
            self.note_gpus(&sample.gpus);
            self.say(&ToServer::Sample(Box::new(sample)));
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
