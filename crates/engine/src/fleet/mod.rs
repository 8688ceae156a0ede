//! The fleet: agents on nodes, what they are told and what they say.
//!
//! The engine decides; [`Fleet`] carries its effects to agents and drivers, and their words back. It keeps
//! nothing that must not be lost: who forgets what after a crash is told again.

pub(crate) mod blobs;
mod board;
mod collect;
mod custom_apps;
mod dispatch;
mod folders;
mod hello;
pub(crate) mod homes;
mod identity;
mod instances;
mod key;
mod logs;
mod rights;
mod salvage;
mod samples;
mod session;
mod silence;
mod streams;
mod test_time;
pub(crate) mod transfer;
mod writers;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use atelier_domain::UserId;
use atelier_domain::compute::NodeId;
use atelier_domain::compute::size::SiteName;
use atelier_domain::world::Effect;
use atelier_protocol::ToAgent;
pub use blobs::Blobs;
pub use board::{AgentView, Board};
pub(crate) use collect::remove_folders;
pub use collect::{CollectError, Collected, Collector, UPLOADS_KEPT};
pub use folders::Folders;
pub use homes::KEPT as HOMES_KEPT;
pub use identity::{Signer, held};
pub use instances::{JUPYTER, TERMINAL, VSCODE};
pub use key::{rotate_workload_key, workload_key};
pub use logs::{JobLogs, Kept, LogInfo, LogName};
pub use session::Frame;
pub use streams::NoStream;
use tokio::sync::mpsc;
pub use transfer::secrets_in;

use crate::drivers::Driver;
use crate::hands::Hands;
use crate::run::EngineHandle;
use crate::store::{LocalUser, Store};

/// Agents, drivers, logs. Cheap to clone.
#[derive(Clone)]
pub struct Fleet {
    inner: Arc<Inner>,
}

struct Inner {
    board: Board,
    logs: JobLogs,
    blobs: Blobs,
    folders: Folders,
    store: Arc<Store>,
    engine: OnceLock<EngineHandle>,
    drivers: Mutex<HashMap<SiteName, Arc<dyn Driver>>>,
    connections: Mutex<HashMap<NodeId, Connection>>,
    /// Numbers connections, so that an old one is told from its successor.
    next: AtomicU64,
    people: Mutex<HashMap<UserId, LocalUser>>,
    effects: mpsc::UnboundedSender<Vec<Effect>>,
    queue: Mutex<Option<mpsc::UnboundedReceiver<Vec<Effect>>>>,
    /// Nodes whose connection has just ended: their drivers look whether they live.
    lost: mpsc::UnboundedSender<NodeId>,
    lost_queue: Mutex<Option<mpsc::UnboundedReceiver<NodeId>>>,
    streams: streams::Streams,
    environments: OnceLock<crate::environments::Environments>,
    editors: OnceLock<crate::environments::editor::Editors>,
    signer: OnceLock<Signer>,
    /// Whether people get users of their own on the machine.
    has_own_users: bool,
    /// Whether what people run is on this machine and under one user.
    mixes_people: AtomicBool,
}

/// An agent that is connected.
struct Connection {
    number: u64,
    /// Up to which event its words are durable.
    heard: Arc<AtomicU64>,
    messages: mpsc::UnboundedSender<ToAgent>,
    /// The version of the protocol that it speaks.
    protocol: u32,
    /// Whose tokens it has been told; nothing if it takes none.
    knows: Option<identity::Knows>,
}

impl std::fmt::Debug for Fleet {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Fleet").field("connections", &self.connections().len()).finish_non_exhaustive()
    }
}

impl Fleet {
    /// Of a server that keeps its things in that folder.
    pub fn new(data: &std::path::Path, store: Arc<Store>, has_own_users: bool) -> Self {
        let folders = Folders::new(data);
        let logs = JobLogs::new(folders.logs());
        let (effects, queue) = mpsc::unbounded_channel();
        let (lost, lost_queue) = mpsc::unbounded_channel();
        let inner = Inner {
            board: Board::default(),
            logs,
            blobs: Blobs::new(folders.clone()),
            folders,
            store,
            engine: OnceLock::new(),
            drivers: Mutex::default(),
            connections: Mutex::default(),
            next: AtomicU64::new(1),
            people: Mutex::default(),
            effects,
            queue: Mutex::new(Some(queue)),
            lost,
            lost_queue: Mutex::new(Some(lost_queue)),
            streams: streams::Streams::default(),
            environments: OnceLock::new(),
            editors: OnceLock::new(),
            signer: OnceLock::new(),
            has_own_users,
            mixes_people: AtomicBool::new(false),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Who is connected, and how nodes do.
    pub fn board(&self) -> &Board {
        &self.inner.board
    }

    pub fn logs(&self) -> &JobLogs {
        &self.inner.logs
    }

    pub fn blobs(&self) -> &Blobs {
        &self.inner.blobs
    }

    /// Whether people have users of their own on this machine.
    pub fn has_own_users(&self) -> bool {
        self.inner.has_own_users
    }

    /// What people run is on this machine, and nothing keeps it apart.
    pub fn mix_people(&self) {
        self.inner.mixes_people.store(true, Ordering::Relaxed);
    }

    /// Whether nothing keeps people's programs apart.
    pub fn mixes_people(&self) -> bool {
        self.inner.mixes_people.load(Ordering::Relaxed)
    }

    pub fn folders(&self) -> &Folders {
        &self.inner.folders
    }

    /// The drivers, by site.
    pub fn drivers(&self) -> Vec<Arc<dyn Driver>> {
        lock(&self.inner.drivers).values().cloned().collect()
    }

    /// Begins its work: from now on effects are carried out and agents are let in.
    pub fn attach(&self, engine: EngineHandle, drivers: Vec<Arc<dyn Driver>>) {
        if self.inner.engine.set(engine.clone()).is_err() {
            return;
        }
        if let Some(environments) = self.inner.environments.get() {
            environments.named().report_to(engine);
        }
        for driver in drivers {
            lock(&self.inner.drivers).insert(driver.site().clone(), Arc::clone(&driver));
            tokio::spawn(crate::drivers::look_after(self.clone(), driver));
        }
        if let Some(queue) = lock(&self.inner.queue).take() {
            tokio::spawn(dispatch::run(self.clone(), queue));
        }
        if let Some(lost) = lock(&self.inner.lost_queue).take() {
            tokio::spawn(silence::look_at_lost(self.clone(), lost));
        }
        tokio::spawn(silence::watch(self.clone()));
        tokio::spawn(writers::watch(self.clone()));
        tokio::spawn(homes::run(self.clone()));
    }

    pub(crate) fn engine(&self) -> Option<&EngineHandle> {
        self.inner.engine.get()
    }

    pub(crate) fn store(&self) -> &Store {
        &self.inner.store
    }

    pub(crate) fn driver(&self, site: &SiteName) -> Option<Arc<dyn Driver>> {
        lock(&self.inner.drivers).get(site).cloned()
    }

    fn connections(&self) -> MutexGuard<'_, HashMap<NodeId, Connection>> {
        lock(&self.inner.connections)
    }

    /// Says something to an agent; false if it is not connected. Whoever connects hears what it missed from
    /// the engine.
    pub(crate) fn say(&self, node: NodeId, message: ToAgent) -> bool {
        self.connections().get(&node).is_some_and(|agent| agent.messages.send(message).is_ok())
    }

    /// Compares what drivers find with what is known, now rather than at the next time.
    pub async fn look_again(&self) {
        for driver in self.drivers() {
            crate::drivers::compare(self, &driver).await;
        }
    }

    /// Whether an agent is connected.
    pub fn is_connected(&self, node: NodeId) -> bool {
        self.connections().get(&node).is_some_and(|agent| !agent.messages.is_closed())
    }

    /// How many agents are connected.
    pub fn connected(&self) -> usize {
        self.connections().values().filter(|agent| !agent.messages.is_closed()).count()
    }

    /// A node is no more: whoever still says to be it is not let in.
    pub(crate) async fn forget(&self, node: NodeId) {
        self.connections().remove(&node);
        self.inner.board.forget(node);
        self.inner.logs.end_node(node);
        if let Err(error) = self.inner.store.forget_agent(node).await {
            tracing::warn!(%node, %error, "the secret of an agent that is gone could not be removed");
        }
    }

    fn number(&self) -> u64 {
        self.inner.next.fetch_add(1, Ordering::Relaxed)
    }
}

impl Hands for Fleet {
    fn act(&self, effects: Vec<Effect>) {
        // The other end lives as long as the server.
        let _ = self.inner.effects.send(effects);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
