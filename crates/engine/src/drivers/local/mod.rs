//! The local driver: nodes are agents on the server's own machine, each with its share of it.
//!
//! A node is a folder in the data directory. Its agent holds a lock on a file there for as long as it lives,
//! so that nobody needs to trust a process number: a node exists if its lock is held.

mod gpus;
mod machine;
mod network;
mod process;
mod program;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use atelier_domain::compute::size::{SiteName, Size};
use atelier_domain::compute::{NodeId, Resources};
use atelier_domain::text::Problem;
use atelier_domain::world::FoundNode;
use atelier_protocol::AgentConfig;
pub use machine::{Isolation, Machine, Settings};
pub use network::{NetworkSettings, changes as network_changes, undo as undo_network};
pub use process::{end_node as end, stop_all};
pub use program::Carried;
use tokio::sync::OnceCell;

use super::{Capabilities, Driver, Later, NewNode};
use crate::fleet::Folders;

/// Makes nodes on the server's own machine.
#[derive(Clone, Debug)]
pub struct Local {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    site: SiteName,
    installation: String,
    folders: Folders,
    machine: Machine,
    settings: Settings,
    /// The copy of the program that agents run, once it is made.
    program: OnceCell<PathBuf>,
    /// Set once people get to their folders.
    is_open: OnceCell<()>,
    /// Nodes that are being made right now: their agents do not hold their lock yet.
    launching: Mutex<HashSet<NodeId>>,
    /// Held from looking which GPUs are free until the choice is written down.
    choosing: Mutex<()>,
    confinement: Option<atelier_confine::Confinement>,
    /// Made ready when the first node, or somebody who asks, needs it.
    network: std::sync::OnceLock<network::Prepared>,
}

impl Local {
    /// For an installation with its files in those folders.
    pub fn new(installation: &str, folders: Folders, settings: Settings) -> Result<Self, Problem> {
        Self::on(Machine::look(), installation, folders, settings)
    }

    /// The same on a machine that was looked at before, or is made up.
    pub fn on(machine: Machine, installation: &str, folders: Folders, settings: Settings) -> Result<Self, Problem> {
        let inner = Inner {
            site: SiteName::parse("local")?,
            installation: installation.to_owned(),
            folders,
            machine,
            settings,
            program: OnceCell::new(),
            is_open: OnceCell::new(),
            launching: Mutex::default(),
            choosing: Mutex::default(),
            confinement: atelier_confine::Confinement::detect(),
            network: std::sync::OnceLock::new(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Copies the program and opens the ways to people's folders while nobody waits for it.
    pub fn prepare(&self) {
        let it = self.clone();
        tokio::spawn(async move {
            if let Err(why) = it.program().await {
                tracing::warn!(why, "the program could not be copied for nodes; the next node tries again");
            }
            if let Err(why) = it.open().await {
                tracing::warn!(why, "people cannot run anything on this machine; the next node tries again");
            }
        });
    }

    /// Lets people through to their folders, where only their users keep them apart.
    async fn open(&self) -> Result<(), String> {
        if !self.inner.machine.has_users_alone(self.inner.settings.isolation) {
            return Ok(());
        }
        let opened = self.inner.is_open.get_or_try_init(|| async {
            let folders = self.inner.folders.clone();
            let opened = tokio::task::spawn_blocking(move || folders.let_people_through()).await;
            opened.unwrap_or_else(|error| Err(error.to_string()))
        });
        opened.await.copied()
    }

    /// The networks of people, where they have private views.
    fn network(&self) -> Option<&network::Prepared> {
        let (machine, settings) = (&self.inner.machine, &self.inner.settings);
        let has_view = machine.has_own_users(settings.isolation) && !machine.has_users_alone(settings.isolation);
        let prepare = || network::prepare(&self.inner.installation, &self.inner.folders, settings.network.as_ref());
        has_view.then(|| self.inner.network.get_or_init(prepare))
    }

    async fn program(&self) -> Result<PathBuf, String> {
        if let Some(program) = &self.inner.settings.program {
            return Ok(program.clone());
        }
        let made = self.inner.program.get_or_try_init(|| async {
            let programs = self.inner.folders.programs();
            let carried = self.inner.settings.carried;
            let copied = tokio::task::spawn_blocking(move || program::copy_to(&programs, carried)).await;
            copied.unwrap_or_else(|error| Err(error.to_string()))
        });
        made.await.cloned()
    }

    /// Chooses the GPUs of a node and writes down what its agent is told. Waits for the disk.
    fn note(&self, new: NewNode, folder: PathBuf) -> Result<(), String> {
        let (folders, settings) = (&self.inner.folders, &self.inner.settings);
        let server = format!("unix:{}", folders.socket().display());
        let mut config = AgentConfig::new(server, new.node, new.token, &folder);
        config.installation.clone_from(&self.inner.installation);
        config.shape = new.shape;
        config.homes = folders.homes();
        config.shared = folders.shared();
        config.jobs = folders.jobs();
        if let Some((environments, python)) = &settings.environments {
            let whole = std::path::absolute(environments).unwrap_or_else(|_| environments.clone());
            (config.environments, config.python) = (Some(whole), Some(python.clone()));
        }
        config.alone_seconds = settings.alone_seconds;
        config.isolate = settings.isolation != Isolation::Off;
        config.view = settings.isolation == Isolation::View;
        config.network = self.network().and_then(|network| network.config.clone());
        let _choosing = self.inner.choosing.lock().unwrap_or_else(PoisonError::into_inner);
        if new.shape.gpus > 0 {
            let held = gpus::held(&folders.nodes(), new.node)?;
            config.gpus = gpus::choose(self.inner.machine.gpus, &held, new.shape.gpus)?;
        }
        process::note(&config)
    }

    /// Ends the agent of a node and all that runs in its control group; its folder stays.
    async fn end(&self, node: NodeId) -> Result<(), String> {
        process::end(&self.inner.folders.node(node)).await?;
        if let Some(confinement) = self.inner.confinement.clone() {
            let group = confinement.node(&self.inner.installation, node.0);
            let cleared = tokio::task::spawn_blocking(move || {
                group.kill_all()?;
                group.remove()
            });
            let cleared = cleared.await.map_err(|error| error.to_string())?;
            cleared.map_err(|error| format!("its control group could not be cleared: {error}"))?;
        }
        Ok(())
    }

    fn is_launching(&self, node: NodeId) -> bool {
        self.inner.launching.lock().unwrap_or_else(PoisonError::into_inner).contains(&node)
    }
}

/// Marks a node as being made for as long as it lives.
struct Launching<'a>(&'a Inner, NodeId);

impl<'a> Launching<'a> {
    /// None if it is being made already.
    fn begin(inner: &'a Inner, node: NodeId) -> Option<Self> {
        let is_new = inner.launching.lock().unwrap_or_else(PoisonError::into_inner).insert(node);
        is_new.then_some(Self(inner, node))
    }
}

impl Drop for Launching<'_> {
    fn drop(&mut self) {
        self.0.launching.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

impl Driver for Local {
    fn site(&self) -> &SiteName {
        &self.inner.site
    }

    fn capabilities(&self) -> Capabilities {
        let limits = match &self.inner.confinement {
            Some(found) if found.version() == atelier_confine::Version::Two => {
                "Cores and memory of a node are enforced by control groups (version 2)."
            }
            Some(_) => "Cores and memory of a node are enforced by control groups (version 1).",
            None => {
                "Control groups cannot be used here: memory is limited for each process, cores are not limited at all."
            }
        };
        let (isolation, is_isolated) = self.inner.machine.isolation(self.inner.settings.isolation);
        let (isolation, is_isolated) = match self.network() {
            Some(network) => (format!("{isolation} {}", network.sentence), is_isolated && network.is_separate),
            None => (format!("{isolation} Users also share this machine’s network."), false),
        };
        let changes = network::changes(&self.inner.installation, &self.inner.folders);
        Capabilities { kind: "local", limits: limits.into(), isolation, is_isolated, changes }
    }

    fn capacity(&self) -> Later<'_, Resources> {
        let capacity = self.inner.machine.capacity(&self.inner.settings);
        Box::pin(async move { Ok(capacity) })
    }

    fn default_sizes(&self, capacity: Resources) -> Vec<Size> {
        machine::sizes(&self.inner.site, capacity, self.inner.machine.cores)
    }

    fn exists(&self, node: NodeId) -> Later<'_, bool> {
        Box::pin(async move {
            if self.is_launching(node) { Ok(true) } else { process::look(&self.inner.folders.node(node)) }
        })
    }

    fn launch(&self, new: NewNode) -> Later<'_, ()> {
        Box::pin(async move {
            let Some(_mark) = Launching::begin(&self.inner, new.node) else { return Ok(()) };
            let program = self.program().await?;
            self.open().await?;
            let folder = self.inner.folders.node(new.node);
            // A second agent would wait for the lock of the first, and outlive it.
            if process::look(&folder)? {
                return Ok(());
            }
            let (it, own) = (self.clone(), folder.clone());
            let began = tokio::task::spawn_blocking(move || {
                it.note(new, own.clone())?;
                process::start(&program, &own)
            });
            let ended = began.await.unwrap_or_else(|error| Err(error.to_string()))?;
            process::holds_lock(&folder, &ended).await
        })
    }

    fn terminate(&self, name: String) -> Later<'_, ()> {
        Box::pin(async move {
            let Some(node) = NodeId::parse(&name) else {
                return Err(format!("“{name}” is no node of this driver"));
            };
            let folder = self.inner.folders.node(node);
            self.end(node).await?;
            process::leave_output(&folder, &self.inner.folders.left_by(node)).await?;
            process::remove(&folder).await
        })
    }

    fn list(&self) -> Later<'_, Vec<FoundNode>> {
        Box::pin(async move {
            let nodes = process::alive(&self.inner.folders.nodes())?;
            Ok(nodes.into_iter().map(|node| FoundNode { name: node.to_string(), node: Some(node) }).collect())
        })
    }
}
