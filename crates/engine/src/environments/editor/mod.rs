//! VS Code in the browser (code-server): installed once on this machine when an operator wants it, beside the
//! environments and with the same means, and read by all instances.

mod headers;
mod install;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use atelier_domain::history::Event;
use atelier_domain::{Timestamp, WorkspaceId};
pub use headers::missing_packages;
use tokio::sync::{oneshot, watch};
use tokio::time::{MissedTickBehavior, interval};

use super::base_status::LINES;
use super::failure::{Ended, Failure};
use super::process::Cancel;
use super::shelf::Shelf;
use super::{Built, Settings};
use crate::clock;
use crate::store::{self, Author, Store, WriteTx};

/// The version that is installed.
pub const VERSION: &str = "4.139.1";
/// Live pages hear of an installation so often.
const PACE: Duration = Duration::from_secs(1);

/// What it is called on the shelf.
fn name() -> String {
    format!("code-server-{VERSION}")
}

/// The parts of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditorPhase {
    /// Something else is built in the same place.
    Waiting,
    /// The program that runs it.
    Node,
    /// The editor and what it needs.
    Downloading,
    /// What is compiled for this machine.
    Compiling,
    Checking,
}

impl EditorPhase {
    pub const fn words(self) -> &'static str {
        match self {
            Self::Waiting => "waiting for another build",
            Self::Node => "getting Node.js",
            Self::Downloading => "downloading code-server",
            Self::Compiling => "compiling its parts",
            Self::Checking => "trying whether it starts",
        }
    }
}

/// How the editor does on this server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditorStatus {
    /// Nobody wanted it yet.
    Absent,
    /// It is being installed.
    Installing {
        /// At what it is.
        phase: EditorPhase,
        since: Timestamp,
        /// The last lines that were printed.
        lines: Vec<String>,
    },
    Ready(Arc<Built>),
    /// It could not be installed.
    Failed(Failure),
}

/// What is heard of an installation.
#[derive(Debug)]
pub enum EditorNews<'a> {
    /// At what it is.
    Phase(EditorPhase),
    /// A line that was printed.
    Line(&'a str),
}

/// Why it is not installed now.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("VS Code is installed already.")]
    There,
    #[error("It is being installed already.")]
    Running,
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// The editor. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Editors {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    settings: Settings,
    store: Arc<Store>,
    status: watch::Sender<EditorStatus>,
    cancel: Mutex<Option<Arc<Cancel>>>,
}

impl Editors {
    /// Looks whether it is there.
    pub fn new(store: Arc<Store>, settings: Settings) -> Self {
        let there = look(&settings);
        let status = there.map_or(EditorStatus::Absent, |built| EditorStatus::Ready(Arc::new(built)));
        let inner = Inner { settings, store, status: watch::Sender::new(status), cancel: Mutex::default() };
        Self { inner: Arc::new(inner) }
    }

    pub fn status(&self) -> EditorStatus {
        self.inner.status.borrow().clone()
    }

    /// Where it is; nothing if it is not installed. One that the command line has installed meanwhile is
    /// found.
    pub fn current(&self) -> Option<Arc<Built>> {
        if let EditorStatus::Ready(built) = &*self.inner.status.borrow() {
            return Some(Arc::clone(built));
        }
        if matches!(*self.inner.status.borrow(), EditorStatus::Installing { .. }) {
            return None;
        }
        let built = Arc::new(look(&self.inner.settings)?);
        self.inner.status.send_replace(EditorStatus::Ready(Arc::clone(&built)));
        Some(built)
    }

    /// Whether instances get it.
    pub fn is_installed(&self) -> bool {
        self.current().is_some()
    }

    /// Where the last try was logged, once one has begun.
    pub fn log(&self) -> Option<PathBuf> {
        Some(Shelf::new(&self.inner.settings.folder).log(&name())).filter(|path| path.is_file())
    }

    /// Begins to install it, and records who wanted that.
    pub async fn install(
        &self,
        mut tx: WriteTx<'_>,
        workspace: &WorkspaceId,
        author: &Author,
    ) -> Result<(), InstallError> {
        if self.is_installed() {
            return Err(InstallError::There);
        }
        let cancel = Arc::new(Cancel::default());
        {
            let mut running = self.inner.cancel.lock().unwrap_or_else(PoisonError::into_inner);
            if running.is_some() {
                return Err(InstallError::Running);
            }
            *running = Some(Arc::clone(&cancel));
        }
        let recorded = async {
            tx.record(workspace, author, None, &Event::EditorInstalled { version: VERSION.to_owned() }).await?;
            tx.commit().await
        };
        if let Err(error) = recorded.await {
            self.forget();
            return Err(error.into());
        }
        self.begin();
        tokio::spawn(self.clone().run(cancel));
        Ok(())
    }

    /// Ends what is being installed; somebody has to want it again.
    pub fn stop(&self) {
        if let Some(cancel) = &*self.inner.cancel.lock().unwrap_or_else(PoisonError::into_inner) {
            cancel.cancel();
        }
    }

    fn forget(&self) {
        *self.inner.cancel.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn begin(&self) {
        let (phase, since) = (EditorPhase::Waiting, clock::now());
        self.inner.status.send_replace(EditorStatus::Installing { phase, since, lines: Vec::new() });
    }

    async fn run(self, cancel: Arc<Cancel>) {
        let (done, mut is_done) = oneshot::channel();
        let it = self.clone();
        let thread = move || {
            let mut tell = |news: EditorNews<'_>| it.hear(&news);
            // Nobody waits for it where the server has stopped.
            let _ = done.send(install::install(&it.inner.settings, &cancel, &mut tell));
        };
        let started = std::thread::Builder::new().name("install-editor".into()).spawn(thread);
        let (mut news, mut pace) = (self.inner.status.subscribe(), interval(PACE));
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let ended = loop {
            tokio::select! {
                ended = &mut is_done => break ended,
                _ = pace.tick() => if news.has_changed().unwrap_or_default() {
                    news.mark_unchanged();
                    self.tell_pages().await;
                },
            }
        };
        let status = match (ended, started) {
            (Ok(Ok(built)), _) => {
                tracing::info!(path = %built.path.display(), took_ms = built.built_in_ms, "VS Code is installed");
                EditorStatus::Ready(Arc::new(built))
            }
            (Ok(Err(Ended::Canceled)), _) => EditorStatus::Absent,
            (Ok(Err(Ended::Failed(failure))), _) => {
                tracing::error!("VS Code could not be installed: {failure}");
                EditorStatus::Failed(failure)
            }
            (Err(_), Err(error)) => {
                EditorStatus::Failed(Failure::new(format!("No thread could be started: {error}."), "Try again."))
            }
            (Err(_), Ok(_)) => EditorStatus::Failed(Failure::new("The installation broke off.", "Try again.")),
        };
        self.forget();
        self.inner.status.send_replace(status);
        self.tell_pages().await;
    }

    async fn tell_pages(&self) {
        if let Err(error) = self.inner.store.tell_engine_pages(clock::now()).await {
            tracing::debug!(%error, "live pages were not told how the editor does");
        }
    }

    fn hear(&self, news: &EditorNews<'_>) {
        self.inner.status.send_modify(|status| {
            let EditorStatus::Installing { phase, lines, .. } = status else { return };
            match news {
                EditorNews::Phase(now) => *phase = *now,
                EditorNews::Line(line) => {
                    if lines.len() == LINES {
                        lines.remove(0);
                    }
                    lines.push((*line).to_owned());
                }
            }
        });
    }
}

/// What is installed, if that is complete.
fn look(settings: &Settings) -> Option<Built> {
    Shelf::new(&settings.folder).look(&name())
}

/// The program that runs it, and what it runs, in a place where it is installed.
pub fn programs(place: &std::path::Path) -> Option<(PathBuf, PathBuf)> {
    let node = install::node_of(place)?;
    let entry = place.join("node_modules/code-server/out/node/entry.js");
    entry.is_file().then_some((node, entry))
}

/// Installs it here and now, unless it is there; for the command line. Blocks until it is done or canceled.
///
/// # Errors
/// Why it could not be installed.
pub fn install_now(
    settings: &Settings,
    cancel: &Cancel,
    hear: &mut dyn FnMut(EditorNews<'_>),
) -> Result<Built, Failure> {
    if let Some(built) = look(settings) {
        return Ok(built);
    }
    install::install(settings, cancel, hear).map_err(|ended| match ended {
        Ended::Failed(failure) => failure,
        Ended::Canceled => Failure::new("It was stopped.", "The next try begins anew; downloads are kept."),
    })
}
