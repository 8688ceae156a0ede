//! Environments that people name: which there are, how they do, who waits for them.
//!
//! What is complete lies on the shelf, by its hash, and versions that mean the same share it. What the disk
//! does not tell (that one could not be built, that one was removed, that somebody wants one) is kept in the
//! store. [`super::named_builder`] builds, one after another.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use atelier_domain::environment::{EnvironmentHash, Packages, Recipe as WrittenRecipe};
use atelier_domain::text::{Text, capitalised};
use atelier_domain::time::Span;
use atelier_domain::world::Report;
use atelier_domain::{Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};
use tokio::sync::{OnceCell, watch};
use tokio::task::JoinHandle;

use super::base_status::{Built, Phase};
use super::failure::Failure;
use super::recipe::{Kind, Python, Recipe};
use super::shelf::Shelf;
use super::{Settings, in_use, kernels, named_builder};
use crate::clock;
use crate::run::EngineHandle;
use crate::store::{self, BuildRow, EnvironmentVersion, KeptState, Store};

/// Who has claimed something so recently may not be known to the engine yet.
const CLAIM: Span = Span::minutes(5);
/// Uses are noted this often at most.
const NOTED_EVERY: Span = Span::minutes(1);

/// Why one could not be built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildFailure {
    /// What happened, and the line that it happened at.
    pub why: String,
    pub help: String,
    /// The number of the line that failed, if it was one.
    pub line: Option<usize>,
    /// The last lines that were printed.
    pub printed: Vec<String>,
}

impl BuildFailure {
    /// What is said of a failure about a written list.
    pub(super) fn of(failure: Failure, written: &WrittenRecipe) -> Self {
        let line = failure.about.iter().find_map(|package| written.line_of(package));
        let help = failure.help.trim_end_matches("It is tried again by itself.").trim_end().to_owned();
        let why = match line {
            Some(line) => {
                format!("{} failed: {}", capitalised(&line.shown()), failure.why)
            }
            None => failure.why,
        };
        Self { why, help, line: line.map(|line| line.number), printed: failure.lines }
    }

    fn plain(why: &str, help: &str) -> Self {
        Self { why: why.to_owned(), help: help.to_owned(), line: None, printed: Vec::new() }
    }
}

/// How one does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildState {
    /// It was never built; the first use builds it.
    Absent,
    /// Others are built before it: so many.
    Waiting(usize),
    /// It is being built.
    Building {
        /// At what it is.
        phase: Phase,
        /// How many packages are known to be needed.
        packages: usize,
        since: Timestamp,
    },
    Ready(Arc<Built>),
    /// It could not be built.
    Failed {
        failure: BuildFailure,
        at: Timestamp,
    },
    /// It was removed, since nobody used it; the next use builds it again.
    Collected {
        at: Timestamp,
        /// What was in it.
        packages: Packages,
    },
}

impl BuildState {
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Waiting(_) => "waiting",
            Self::Building { .. } => "building",
            Self::Ready(_) => "ready",
            Self::Failed { .. } => "failed",
            Self::Collected { .. } => "collected",
        }
    }

    /// What is in it, or was, as far as that is known.
    pub fn packages(&self) -> &[(String, String)] {
        match self {
            Self::Ready(built) => &built.packages,
            Self::Collected { packages, .. } => packages,
            _ => &[],
        }
    }
}

/// What goes on now. Kept in memory: the next start finds out what is wanted.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub queue: VecDeque<EnvironmentHash>,
    pub current: Option<Current>,
    /// Found on the shelf before.
    pub ready: BTreeMap<EnvironmentHash, Arc<Built>>,
    /// When a use of it was last noted.
    noted: BTreeMap<EnvironmentHash, Timestamp>,
    /// When somebody last began to use it.
    claimed: BTreeMap<EnvironmentHash, Timestamp>,
    /// What is being removed.
    leaving: BTreeSet<EnvironmentHash>,
}

/// What is being built.
#[derive(Debug)]
pub(super) struct Current {
    pub hash: EnvironmentHash,
    pub phase: Phase,
    pub packages: usize,
    pub since: Timestamp,
}

/// Named environments. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Named {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub settings: Settings,
    pub store: Arc<Store>,
    pub shelf: Shelf,
    pub work: Mutex<Work>,
    /// Counted up when there is something to do; true once it ends.
    pub wake: watch::Sender<(u64, bool)>,
    python: OnceCell<Python>,
    engine: OnceLock<EngineHandle>,
    worker: Mutex<Option<JoinHandle<()>>>,
    /// Held by who writes down what notebooks can run with.
    kernels: tokio::sync::Mutex<()>,
}

impl Named {
    pub(super) fn new(store: Arc<Store>, settings: Settings) -> Self {
        let inner = Inner {
            shelf: Shelf::new(&settings.folder),
            settings,
            store,
            work: Mutex::default(),
            wake: watch::Sender::new((0, false)),
            python: OnceCell::new(),
            engine: OnceLock::new(),
            worker: Mutex::default(),
            kernels: tokio::sync::Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    pub(super) fn work(&self) -> MutexGuard<'_, Work> {
        self.inner.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who is told when something that jobs wait for is there, or cannot be.
    pub(crate) fn report_to(&self, engine: EngineHandle) {
        // Set once, at the start of the server.
        let _ = self.inner.engine.set(engine);
    }

    pub(super) fn start(&self) {
        let mut worker = self.inner.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.is_none() {
            *worker = Some(tokio::spawn(named_builder::run(self.clone())));
        }
    }

    pub(super) async fn stop(&self) {
        let worker = self.inner.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(worker) = worker {
            self.inner.wake.send_modify(|wake| wake.1 = true);
            if worker.await.is_err() {
                tracing::warn!("who builds environments had broken off");
            }
        }
    }

    /// Whether this server builds any.
    pub fn builds(&self) -> bool {
        self.inner.settings.builds
    }

    /// The Python that all of them stand on.
    pub async fn python(&self) -> Result<Python, Failure> {
        let asked = self.inner.python.get_or_try_init(|| async {
            let program = self.inner.settings.python.clone();
            let asked = tokio::task::spawn_blocking(move || Python::ask(&program)).await;
            asked.map_err(|error| Failure::new(format!("Python could not be asked: {error}."), ""))?
        });
        asked.await.cloned()
    }

    /// What a written list becomes.
    pub(super) fn recipe(python: &Python, written: &WrittenRecipe) -> Recipe {
        Recipe {
            requirements: written.requirements(),
            python: python.clone(),
            edition: 0,
            kind: Kind::Named,
            before: Packages::new(),
        }
    }

    /// The name on the shelf of what a written list becomes.
    pub async fn hash(&self, written: &WrittenRecipe) -> Result<EnvironmentHash, Failure> {
        Ok(Self::recipe(&self.python().await?, written).short())
    }

    /// The same for a version; none if its text cannot be read any more.
    pub async fn hash_of(&self, version: &EnvironmentVersion) -> Result<Option<EnvironmentHash>, Failure> {
        let python = self.python().await?;
        let written = WrittenRecipe::parse(&version.recipe, None).ok();
        Ok(written.map(|written| Self::recipe(&python, &written).short()))
    }

    /// Where it is, if it is complete: the folder with `bin/python` in it.
    pub fn path(&self, hash: EnvironmentHash) -> Option<PathBuf> {
        self.ready(hash).map(|built| built.path.clone())
    }

    pub fn ready(&self, hash: EnvironmentHash) -> Option<Arc<Built>> {
        let known = {
            let work = self.work();
            if work.leaving.contains(&hash) {
                return None;
            }
            work.ready.get(&hash).cloned()
        };
        match known {
            Some(built) if built.path.join(super::shelf::MARK).exists() => Some(built),
            _ => {
                let built = self.inner.shelf.look(&hash.to_string()).map(Arc::new);
                let mut work = self.work();
                match &built {
                    Some(built) => work.ready.insert(hash, Arc::clone(built)),
                    None => work.ready.remove(&hash),
                };
                built
            }
        }
    }

    pub async fn state(&self, hash: EnvironmentHash) -> store::Result<BuildState> {
        if let Some(state) = self.state_now(hash) {
            return Ok(state);
        }
        let row = self.inner.store.environment_build(hash).await?;
        Ok(row.map_or(BuildState::Absent, kept_state))
    }

    /// How all of them do that anything is known of.
    pub async fn states(
        &self,
        hashes: &BTreeSet<EnvironmentHash>,
    ) -> store::Result<BTreeMap<EnvironmentHash, BuildState>> {
        let mut kept: BTreeMap<EnvironmentHash, BuildRow> =
            self.inner.store.environment_builds().await?.into_iter().map(|row| (row.hash, row)).collect();
        let state = |hash: &EnvironmentHash| {
            let now = self.state_now(*hash);
            now.unwrap_or_else(|| kept.remove(hash).map_or(BuildState::Absent, kept_state))
        };
        Ok(hashes.iter().copied().zip(hashes.iter().map(state).collect::<Vec<_>>()).collect())
    }

    /// What is known without asking the store.
    fn state_now(&self, hash: EnvironmentHash) -> Option<BuildState> {
        {
            let work = self.work();
            if let Some(current) = work.current.as_ref().filter(|current| current.hash == hash) {
                let Current { phase, packages, since, .. } = *current;
                return Some(BuildState::Building { phase, packages, since });
            }
            if let Some(before) = work.queue.iter().position(|waiting| *waiting == hash) {
                return Some(BuildState::Waiting(before + usize::from(work.current.is_some())));
            }
        }
        self.ready(hash).map(BuildState::Ready)
    }

    /// Where its last build was logged.
    pub fn log(&self, hash: EnvironmentHash) -> Option<PathBuf> {
        Some(self.inner.shelf.log(&hash.to_string())).filter(|path| path.is_file())
    }

    /// Somebody waits for it: it is built unless it is there, and those who wait are told.
    pub fn need(&self, hash: EnvironmentHash) {
        if self.ready(hash).is_some() {
            return self.tell(hash, None);
        }
        if !self.builds() {
            let why = "Building is switched off on this server, by the setting environment, or it makes no nodes.";
            return self.tell(hash, Some(why.into()));
        }
        let mut work = self.work();
        let is_known = work.queue.contains(&hash) || work.current.as_ref().is_some_and(|current| current.hash == hash);
        if !is_known {
            work.queue.push_back(hash);
        }
        drop(work);
        self.inner.wake.send_modify(|wake| wake.0 += 1);
    }

    /// Says that something is about to use it; said before it is looked for, so that nothing removes it in
    /// between.
    pub fn claim(&self, hash: EnvironmentHash) {
        self.work().claimed.insert(hash, clock::now());
    }

    /// Takes it away from those who look for it, unless somebody has claimed it or waits for it.
    fn takes_leave(&self, hash: EnvironmentHash) -> bool {
        let mut work = self.work();
        let is_claimed =
            work.claimed.get(&hash).is_some_and(|at| at.0.saturating_add(CLAIM.as_millis()) > clock::now().0);
        let is_wanted = work.queue.contains(&hash) || work.current.as_ref().is_some_and(|current| current.hash == hash);
        if is_claimed || is_wanted {
            return false;
        }
        work.ready.remove(&hash);
        work.leaving.insert(hash)
    }

    /// Notes that a version is used; often enough to know the day, and seldom enough to cost nothing.
    pub async fn note_use(&self, workspace: &WorkspaceId, version: &EnvironmentVersion, hash: EnvironmentHash) {
        let now = clock::now();
        {
            let mut work = self.work();
            if work.noted.get(&hash).is_some_and(|last| last.0.saturating_add(NOTED_EVERY.as_millis()) > now.0) {
                return;
            }
            work.noted.insert(hash, now);
        }
        let of = Some((workspace, &version.name, version.version));
        if let Err(error) = self.inner.store.note_environment_use(of, hash, now).await {
            tracing::warn!(%error, "that an environment is used could not be noted");
        }
    }

    /// Which of these processes of this machine run with right now.
    pub async fn running(&self) -> BTreeSet<EnvironmentHash> {
        let folder = self.inner.shelf.folder().to_owned();
        tokio::task::spawn_blocking(move || in_use::by_processes(&folder)).await.unwrap_or_default()
    }

    /// Tells those who wait for it.
    pub(super) fn tell(&self, hash: EnvironmentHash, failure: Option<Text>) {
        let Some(engine) = self.inner.engine.get().cloned() else { return };
        tokio::spawn(async move {
            // If nobody hears it, the next start asks for it again.
            let _ = engine.report_all(&[Report::Environment { hash, failure }]).await;
        });
    }

    /// Shows notebooks what they can run with now. One at a time, from the look to the end: the last one has
    /// seen the most.
    pub async fn refresh_kernels(&self) {
        let _turn = self.inner.kernels.lock().await;
        let (versions, python) = match (self.inner.store.all_environment_versions().await, self.python().await) {
            (Ok(versions), Ok(python)) => (versions, python),
            (Err(error), _) => return tracing::warn!(%error, "which environments there are could not be read"),
            (_, Err(failure)) => {
                return tracing::debug!("there is no Python, so notebooks see no environments: {failure}");
            }
        };
        let mut shown = Vec::new();
        for version in versions.iter().rev() {
            let Ok(written) = WrittenRecipe::parse(&version.recipe, None) else { continue };
            let hash = Self::recipe(&python, &written).short();
            let label = format!("{} (v{})", version.name, version.version);
            let name = format!("{}-{}", version.name, version.version);
            match self.state(hash).await {
                Ok(BuildState::Ready(built)) if built.has_kernel => {
                    shown.push(kernels::Kernel { name, label, path: Some(built.path.clone()), why: String::new() });
                }
                Ok(BuildState::Failed { failure, .. }) => {
                    let line = failure.line.map_or_else(String::new, |line| format!(", line {line} failed"));
                    let label = format!("{label}: not built{line}");
                    let why = format!("{} {}", failure.why, failure.help);
                    shown.push(kernels::Kernel { name, label, path: None, why });
                }
                _ => {}
            }
        }
        let (folder, program) = (self.inner.settings.kernels.clone(), self.inner.settings.python.clone());
        let written = tokio::task::spawn_blocking(move || kernels::write(&folder, &program, &shown)).await;
        if let Ok(Err(error)) = written {
            tracing::warn!(%error, "what notebooks can run with could not be written down");
        }
    }

    /// Removes what nobody has used for `keep` and nothing uses now; `live` are those that jobs wait for or
    /// run with. Gives what went. Nothing does while one is built, or where other servers share the folder.
    pub async fn collect(
        &self,
        live: &BTreeSet<EnvironmentHash>,
        keep: Span,
        now: Timestamp,
    ) -> store::Result<Vec<EnvironmentHash>> {
        if self.inner.settings.is_shared {
            return Ok(Vec::new());
        }
        let used: BTreeSet<EnvironmentHash> = live.union(&self.running().await).copied().collect();
        for hash in &used {
            self.inner.store.note_environment_use(None, *hash, now).await?;
        }
        let mut named = BTreeSet::new();
        for version in self.inner.store.all_environment_versions().await? {
            match self.hash_of(&version).await {
                Ok(hash) => named.extend(hash),
                // Without a Python nobody knows what belongs to what.
                Err(_) => return Ok(Vec::new()),
            }
        }
        let mut gone = Vec::new();
        for row in self.inner.store.environment_builds().await? {
            if let KeptState::Failed(_) = row.state
                && (!named.contains(&row.hash) || row.changed_at.0.saturating_add(keep.as_millis()) <= now.0)
            {
                // Nobody can look at it any more, or has for long; what was said in the end is kept in the
                // store.
                let _ = std::fs::remove_file(self.inner.shelf.log(&row.hash.to_string()));
                continue;
            }
            let Some(built) = (row.state == KeptState::Ready).then(|| self.ready(row.hash)).flatten() else { continue };
            let last = row.used_at.unwrap_or(built.built_at).max(built.built_at);
            let is_old = last.0.saturating_add(keep.as_millis()) <= now.0;
            if used.contains(&row.hash) || (named.contains(&row.hash) && !is_old) {
                continue;
            }
            if !self.takes_leave(row.hash) {
                continue;
            }
            let (shelf, hash) = (self.inner.shelf.clone(), row.hash.to_string());
            let removed = tokio::task::spawn_blocking(move || match shelf.try_lock() {
                Ok(Some(_lock)) => shelf.remove(&hash).map(|()| true),
                _ => Ok(false),
            });
            let removed = removed.await;
            self.work().leaving.remove(&row.hash);
            match removed {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => break,
                Ok(Err(error)) => {
                    tracing::warn!(%error, hash = %row.hash, "an environment that nobody uses could not be removed");
                    continue;
                }
                Err(_) => continue,
            }
            let row =
                BuildRow { state: KeptState::Collected, packages: built.packages.clone(), changed_at: now, ..row };
            self.inner.store.keep_environment_build(&row, now).await?;
            gone.push(row.hash);
        }
        if !gone.is_empty() {
            self.refresh_kernels().await;
        }
        Ok(gone)
    }

    /// Keeps how a build ended.
    pub(super) async fn keep_build(&self, hash: EnvironmentHash, ended: &Result<Arc<Built>, BuildFailure>) {
        let now = clock::now();
        let before = self.inner.store.environment_build(hash).await.ok().flatten();
        let (state, packages, size) = match ended {
            Ok(built) => (KeptState::Ready, built.packages.clone(), built.size),
            Err(failure) => (KeptState::Failed(failure.clone()), Vec::new(), 0),
        };
        let used_at = before.and_then(|row| row.used_at).or(Some(now));
        let row = BuildRow { hash, state, packages, size, used_at, changed_at: now };
        if let Err(error) = self.inner.store.keep_environment_build(&row, now).await {
            tracing::error!(%error, %hash, "how an environment was built could not be kept; the next use finds out \
                                            again");
        }
    }
}

fn kept_state(row: BuildRow) -> BuildState {
    match row.state {
        KeptState::Failed(failure) => BuildState::Failed { failure, at: row.changed_at },
        KeptState::Collected => BuildState::Collected { at: row.changed_at, packages: row.packages },
        // Kept as complete and not on the disk: somebody removed it by hand.
        KeptState::Wanted | KeptState::Ready => BuildState::Absent,
    }
}

/// What is said of a hash that no version means any more.
pub(super) fn nobody_means_it() -> BuildFailure {
    BuildFailure::plain(
        "No version of an environment means this any more: it was deleted, or the server’s Python was replaced.",
        "Submit the job again.",
    )
}
