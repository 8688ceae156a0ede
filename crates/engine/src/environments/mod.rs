//! Python environments, built once on this machine for each list of packages: the base of instances, which is
//! JupyterLab and what is beside it, and those that people name for jobs and notebooks ([`library`]).
//!
//! The base is a virtual environment that everybody reads and nobody writes; each instance has a layer of its
//! own on top. Its name is the hash of what it is made of ([`recipe`]). A changed list is built beside the
//! old one, which stays in use until the new one is complete. [`keeper`] decides when, [`build`] does it on a
//! thread of its own.

mod bounds;
mod build;
pub mod editor;
mod failure;
mod freeze;
mod guard;
mod in_use;
mod keeper;
mod kernels;
mod library;
mod pip;
mod process;
mod recipe;
mod seal;
mod shelf;
mod status;
mod worker;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use atelier_domain::WorkspaceId;
pub use atelier_domain::environment::{MAX_LINE, MAX_LINES, Requirements};
use atelier_domain::history::Event;
pub use bounds::Bounds;
use build::FOR_PIP;
pub use build::News;
pub use failure::Failure;
pub use freeze::{Frozen, frozen};
pub use library::{BuildFailure, BuildState, Library};
pub use process::Cancel;
pub use recipe::{Kind, Python};
use shelf::Shelf;
pub use status::{Built, EnvironmentStatus, Phase};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::store::{self, Author, BaseEnvironment, Store, WriteTx};

/// What may be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub folder: PathBuf,
    /// Where JupyterLab finds what notebooks can run with, by this server alone.
    pub kernels: PathBuf,
    /// Whether other servers may use the same folder; then nothing is removed from it.
    pub is_shared: bool,
    /// The Python that they stand on.
    pub python: PathBuf,
    /// Whether the server builds what is missing.
    pub builds: bool,
    /// Whether people have users of their own, where the server is root: they must be able to read it, and it
    /// is not built by root.
    pub has_own_users: bool,
    /// Variables for pip beside the server's own, such as another index.
    pub pip: Vec<(String, String)>,
    /// How long a build may take.
    pub limit: Duration,
    /// What else a build may use.
    pub bounds: Bounds,
    /// How long after a failure it is tried again: after the first, the second, and all later ones.
    pub retries: [Duration; 3],
}

impl Settings {
    /// In the server's own data directory.
    pub fn of(data: &Path) -> Self {
        let minutes = |count: u64| Duration::from_secs(60 * count);
        Self {
            folder: data.join("environments"),
            kernels: data.join("environments").join("kernels"),
            is_shared: false,
            python: "/usr/bin/python3".into(),
            builds: true,
            has_own_users: true,
            pip: Vec::new(),
            limit: minutes(30),
            bounds: Bounds::default(),
            retries: [minutes(1), minutes(5), minutes(30)],
        }
    }
}

/// Why it cannot be built again.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    /// The server builds none.
    #[error(
        "Building is switched off on this server, by the setting environment. Set it to auto and start the server \
         again, or build it with: atelier environment build"
    )]
    Off,
    /// One is being built.
    #[error("It is being built already. Wait until that is done, or change the list.")]
    Building,
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// The base environment. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Environments {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    settings: Settings,
    store: Arc<Store>,
    shelf: Shelf,
    status: watch::Sender<EnvironmentStatus>,
    current: RwLock<Option<Arc<Built>>>,
    /// What the present list asks for; empty before that is known.
    wanted: Mutex<String>,
    wishes: watch::Sender<Wishes>,
    keeper: Mutex<Option<JoinHandle<()>>>,
    library: Library,
}

/// What the keeper is told.
#[derive(Clone, Copy, Debug, Default)]
struct Wishes {
    /// Counted up when there is a reason to look again.
    looks: u64,
    stops: bool,
}

impl Environments {
    /// Looks after environments. Nothing happens before [`Environments::start`].
    pub fn new(store: Arc<Store>, settings: Settings) -> Self {
        let status = if settings.builds { EnvironmentStatus::Waiting } else { EnvironmentStatus::Off };
        let inner = Inner {
            shelf: Shelf::new(&settings.folder),
            library: Library::new(Arc::clone(&store), settings.clone()),
            settings,
            store,
            status: watch::Sender::new(status),
            current: RwLock::default(),
            wanted: Mutex::default(),
            wishes: watch::Sender::new(Wishes::default()),
            keeper: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Those that people name.
    pub fn library(&self) -> &Library {
        &self.inner.library
    }

    /// Begins to build what is missing, in the background.
    pub fn start(&self) {
        self.inner.library.start();
        let mut keeper = self.inner.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        if keeper.is_none() {
            *keeper = Some(tokio::spawn(keeper::keep(self.clone())));
        }
    }

    /// Ends what is being built; the next start builds it again.
    pub async fn stop(&self) {
        self.inner.library.stop().await;
        let keeper = self.inner.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(keeper) = keeper {
            self.inner.wishes.send_modify(|wishes| wishes.stops = true);
            if keeper.await.is_err() {
                tracing::warn!("who looks after the base environment had broken off");
            }
        }
    }

    /// The environment that instances get: the folder with `bin/python` in it. None before the first is
    /// built.
    pub fn current(&self) -> Option<PathBuf> {
        self.in_use().map(|built| built.path.clone())
    }

    /// The same, with what is in it.
    pub fn in_use(&self) -> Option<Arc<Built>> {
        self.inner.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How the one does that the present list asks for. While it is built or cannot be built, an older one
    /// may be in use.
    pub fn status(&self) -> EnvironmentStatus {
        self.inner.status.borrow().clone()
    }

    /// Wakes when that changes.
    pub fn watch(&self) -> watch::Receiver<EnvironmentStatus> {
        self.inner.status.subscribe()
    }

    /// Where environments are, what they stand on, and the rest of it.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// Where the last try was logged, once one has begun.
    pub fn log(&self) -> Option<PathBuf> {
        let wanted = self.inner.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        Some(self.inner.shelf.log(&wanted)).filter(|path| !wanted.is_empty() && path.is_file())
    }

    /// The list as it is wanted now.
    pub async fn requirements(&self) -> store::Result<Requirements> {
        Ok(read_list(&self.inner.store.base_environment().await?))
    }

    /// Makes another list the wanted one, with who did it, and begins to build it. The old one stays in use
    /// until then. Gives false, and changes nothing, if it is the list already.
    pub async fn set_requirements(
        &self,
        mut tx: WriteTx<'_>,
        workspace: &WorkspaceId,
        author: &Author,
        list: &Requirements,
    ) -> store::Result<bool> {
        let known = tx.base_environment().await?;
        let old = read_list(&known);
        if old == *list {
            return Ok(false);
        }
        let event = Event::EnvironmentChanged { added: list.beyond(&old), removed: old.beyond(list) };
        let wanted = BaseEnvironment { requirements: list.text(), ..known };
        tx.want_environment(workspace, author, &wanted, &event).await?;
        tx.commit().await?;
        self.kick();
        Ok(true)
    }

    /// Builds the same list anew, with the versions of today; one that could not be built is tried again at
    /// once.
    pub async fn rebuild(
        &self,
        mut tx: WriteTx<'_>,
        workspace: &WorkspaceId,
        author: &Author,
    ) -> Result<(), RebuildError> {
        if !self.inner.settings.builds {
            return Err(RebuildError::Off);
        }
        let is_there = match self.status() {
            EnvironmentStatus::Building { .. } => return Err(RebuildError::Building),
            status => matches!(status, EnvironmentStatus::Ready(_)),
        };
        let known = tx.base_environment().await?;
        let wanted = BaseEnvironment { edition: known.edition.saturating_add(u32::from(is_there)), ..known };
        tx.want_environment(workspace, author, &wanted, &Event::EnvironmentRebuilt).await?;
        tx.commit().await?;
        self.kick();
        Ok(())
    }

    /// Removes environments that are neither in `in_use` (their folders, of all instances that have one,
    /// running or about to) nor given to new instances. Gives what went; nothing does while one is built, or
    /// where other servers share the folder.
    pub async fn collect(&self, in_use: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
        if self.inner.settings.is_shared {
            return Vec::new();
        }
        let mut keep = in_use.clone();
        keep.extend(self.current());
        let wanted = self.inner.wanted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if wanted.is_empty() {
            // Before the first look nobody knows what is wanted.
            return Vec::new();
        }
        keep.insert(self.inner.shelf.place(&wanted));
        let shelf = self.inner.shelf.clone();
        let collected = tokio::task::spawn_blocking(move || match shelf.try_lock() {
            Ok(Some(lock)) => shelf.collect(&lock, &keep),
            _ => Ok(Vec::new()),
        });
        match collected.await {
            Ok(Ok(gone)) => gone,
            Ok(Err(error)) => {
                tracing::warn!(%error, "environments that nobody uses could not be removed");
                Vec::new()
            }
            Err(_) => Vec::new(),
        }
    }

    fn kick(&self) {
        self.inner.wishes.send_modify(|wishes| wishes.looks += 1);
    }
}

/// The list of a row; the one that comes with Atelier where there is none.
fn read_list(row: &BaseEnvironment) -> Requirements {
    if row.requirements.is_empty() {
        return Requirements::default();
    }
    Requirements::parse(&row.requirements).unwrap_or_else(|problem| {
        tracing::error!("the kept list of packages cannot be read: {}", problem.message);
        Requirements::default()
    })
}

/// Builds what is wanted here and now, unless it is there; for the command line. Blocks until it is done or
/// canceled.
///
/// # Errors
/// Why it could not be built.
pub fn build_now(
    settings: &Settings,
    wanted: &BaseEnvironment,
    cancel: &Cancel,
    hear: &mut dyn FnMut(News<'_>),
) -> Result<Built, Failure> {
    let python = Python::ask(&settings.python)?;
    let requirements = read_list(wanted);
    let recipe = recipe::Recipe { requirements, python, edition: wanted.edition, kind: Kind::Base, before: Vec::new() };
    if let Some(built) = Shelf::new(&settings.folder).look(&recipe.hash()) {
        return Ok(built);
    }
    build::build(settings, &recipe, cancel, hear).map_err(|ended| match ended {
        failure::Ended::Failed(failure) => failure,
        failure::Ended::Canceled => Failure::new("It was stopped.", "The next build begins anew; downloads are kept."),
    })
}
