//! The base environment: what every instance comes with, one for the installation.
//!
//! Each instance has a layer of its own on top. A changed list is built beside the old one, which stays in
//! use until the new one is complete.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use atelier_domain::WorkspaceId;
use atelier_domain::environment::Requirements;
use atelier_domain::history::Event;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::base_status::{BaseStatus, Built};
use super::build::{self, News};
use super::failure::{self, Failure};
use super::process::Cancel;
use super::recipe::{self, Kind, Python};
use super::shelf::Shelf;
use super::{Settings, base_keeper};
use crate::store::{self, Author, BaseEnvironment, Store, WriteTx};

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
pub struct Base {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub settings: Settings,
    pub store: Arc<Store>,
    pub shelf: Shelf,
    pub status: watch::Sender<BaseStatus>,
    pub current: RwLock<Option<Arc<Built>>>,
    /// What the present list asks for; empty before that is known.
    pub wanted: Mutex<String>,
    pub wishes: watch::Sender<Wishes>,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

/// What the keeper is told.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wishes {
    /// Counted up when there is a reason to look again.
    looks: u64,
    pub stops: bool,
}

impl Base {
    /// Nothing happens before [`Base::start`].
    pub(super) fn new(store: Arc<Store>, settings: Settings) -> Self {
        let status = if settings.builds { BaseStatus::Waiting } else { BaseStatus::Off };
        let inner = Inner {
            shelf: Shelf::new(&settings.folder),
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

    pub(super) fn start(&self) {
        let mut keeper = self.inner.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        if keeper.is_none() {
            *keeper = Some(tokio::spawn(base_keeper::keep(self.clone())));
        }
    }

    pub(super) async fn stop(&self) {
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
    pub fn status(&self) -> BaseStatus {
        self.inner.status.borrow().clone()
    }

    /// Wakes when that changes.
    pub fn watch(&self) -> watch::Receiver<BaseStatus> {
        self.inner.status.subscribe()
    }

    pub(super) fn settings(&self) -> &Settings {
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
        tx.want_base_environment(workspace, author, &wanted, &event).await?;
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
            BaseStatus::Building { .. } => return Err(RebuildError::Building),
            status => matches!(status, BaseStatus::Ready(_)),
        };
        let known = tx.base_environment().await?;
        let wanted = BaseEnvironment { edition: known.edition.saturating_add(u32::from(is_there)), ..known };
        tx.want_base_environment(workspace, author, &wanted, &Event::EnvironmentRebuilt).await?;
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
pub(super) fn read_list(row: &BaseEnvironment) -> Requirements {
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
