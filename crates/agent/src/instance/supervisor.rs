//! The supervisor of one generation of an instance: what all of its tasks share. It knows the applications,
//! ends and restarts them, and tells when everything has to end.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use atelier_protocol::{App, AppState, AppsStatus, Event, SetUp, ToServer};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Notify, watch};

use super::folders::Folders;
use super::logfile::LogFile;
use super::mounts::Inside;
use super::remote::Guests;
use super::supervised_app::SupervisedApp;
use super::terminal::Terminals;
use super::{Ask, Place, WorkerHandle};
use crate::config::AgentConfig;
use crate::core::Happening;
use crate::facts::Isolation;

/// The supervisor of one generation of an instance.
pub struct Supervisor {
    pub set_up: SetUp,
    pub config: AgentConfig,
    pub isolation: Isolation,
    pub terminals: Terminals,
    /// Sessions of people who came in from elsewhere.
    pub guests: Guests,
    /// Known once its folders are made.
    pub layout: OnceLock<Layout>,
    /// Somebody wants to know what goes on.
    pub tell: Notify,
    inbox: UnboundedSender<Happening>,
    apps: Mutex<Apps>,
    is_healthy: OnceLock<()>,
    /// How its scripts went, for the words of applications that wait for them.
    pub have_scripts_failed: OnceLock<()>,
    /// Set when everything has to end, with the time that there is for it. Each task that runs something
    /// listens.
    ending: watch::Sender<Option<Duration>>,
}

/// Where things are.
pub struct Layout {
    pub folders: Folders,
    pub inside: Inside,
    pub setup_log: Arc<LogFile>,
}

/// The applications, and as of when those are that people added.
struct Apps {
    all: Vec<Arc<SupervisedApp>>,
    revision: i64,
    /// Whether they were started: the scripts are done.
    are_started: bool,
}

impl std::fmt::Debug for Supervisor {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let SetUp { instance, generation, .. } = &self.set_up;
        out.debug_struct("Supervisor")
            .field("instance", instance)
            .field("generation", generation)
            .finish_non_exhaustive()
    }
}

impl Supervisor {
    /// One that is about to be set up.
    pub fn new(set_up: SetUp, config: AgentConfig, isolation: Isolation, inbox: UnboundedSender<Happening>) -> Self {
        let (logs, has_view) = (set_up.folder.join("logs"), matches!(isolation, Isolation::View(_)));
        let all = set_up.apps.iter().map(|app| supervised_app(app.clone(), &logs, has_view)).collect();
        Self {
            apps: Mutex::new(Apps { all, revision: set_up.apps_revision, are_started: false }),
            set_up,
            config,
            isolation,
            terminals: Terminals::default(),
            guests: Guests::default(),
            layout: OnceLock::new(),
            tell: Notify::new(),
            inbox,
            is_healthy: OnceLock::new(),
            have_scripts_failed: OnceLock::new(),
            ending: watch::channel(None).0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Apps> {
        self.apps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The user of the system as whom things run, where people have their own.
    pub fn uid(&self) -> Option<u32> {
        if self.isolation == Isolation::None { None } else { self.set_up.person.uid }
    }

    /// Asks the loop for something.
    pub fn ask(&self, ask: Ask) {
        drop(self.inbox.send(Happening::Instance(Box::new(ask))));
    }

    /// A worker in one of its sandboxes.
    pub async fn acquire_worker(&self, place: Place) -> Result<WorkerHandle, String> {
        if self.is_ending() {
            return Err("the instance stops".to_owned());
        }
        WorkerHandle::acquire(&self.inbox, place).await
    }

    /// What the server must hear of.
    pub fn answer(&self, event: Event) {
        self.ask(Ask::Answer(self.set_up.generation, event));
    }

    pub fn end(&self, grace: Duration) {
        self.ending.send_modify(|ending| *ending = Some(ending.map_or(grace, |before| before.min(grace))));
    }

    pub fn is_ending(&self) -> bool {
        self.ending.borrow().is_some()
    }

    /// Listens for the end. Whoever holds this is waited for.
    pub fn ending(&self) -> Ending {
        Ending(self.ending.subscribe())
    }

    /// Waits until all tasks that listen for the end are gone.
    pub async fn gone(&self) {
        self.ending.closed().await;
        self.leave();
    }

    /// Removes what is of no use to anybody after this generation.
    pub fn leave(&self) {
        if let Some(layout) = self.layout.get() {
            layout.folders.leave();
        }
    }

    /// Whether what runs here has a private view.
    pub const fn has_view(&self) -> bool {
        matches!(self.isolation, Isolation::View(_))
    }

    /// An application does differently now.
    pub fn app_is(&self, app: &SupervisedApp, state: AppState, last_lines: Vec<String>) {
        app.is(state, last_lines);
        self.say_apps();
        self.look_whether_healthy();
    }

    pub fn apps(&self) -> Vec<Arc<SupervisedApp>> {
        self.lock().all.clone()
    }

    /// An application, by its name.
    pub fn app(&self, name: &str) -> Option<Arc<SupervisedApp>> {
        self.lock().all.iter().find(|supervised| supervised.app.name == name).cloned()
    }

    /// The scripts are done: applications are started from now on, and these are those that wait for it.
    pub fn start_apps(&self) -> Vec<Arc<SupervisedApp>> {
        let mut apps = self.lock();
        apps.are_started = true;
        apps.all.clone()
    }

    /// These are the applications that people added, as of that time. What is as before goes on; what is not
    /// there any more ends.
    pub fn replace_apps(self: &Arc<Self>, revision: i64, wanted: Vec<App>) {
        let logs = self.set_up.folder.join("logs");
        let is_fine = |app: &App| is_name(&app.name) && app.is_custom;
        let mut apps = self.lock();
        if revision < apps.revision || self.is_ending() {
            return;
        }
        apps.revision = revision;
        let (mut before, mut all): (Vec<_>, Vec<_>) =
            apps.all.drain(..).partition(|supervised| supervised.app.is_custom);
        let mut fresh = Vec::new();
        for app in wanted.into_iter().filter(is_fine) {
            if all.iter().any(|supervised| supervised.app.name == app.name) {
                continue;
            }
            let known = before
                .iter()
                .position(|supervised| supervised.app.name == app.name)
                .map(|index| before.swap_remove(index));
            match known {
                Some(known) if known.app == app => all.push(known),
                known => {
                    let supervised = supervised_app(app, &logs, self.has_view());
                    all.push(Arc::clone(&supervised));
                    if let Some(known) = &known {
                        known.dismiss();
                    }
                    fresh.push((supervised, known));
                }
            }
        }
        before.iter().for_each(|gone| gone.dismiss());
        apps.all = all;
        let are_started = apps.are_started;
        drop(apps);
        for (supervised, before) in fresh.into_iter().filter(|_| are_started) {
            super::apps::start(self, &supervised, before);
        }
        self.say_apps();
    }

    /// Ends an application and starts it again.
    pub fn restart_app(&self, name: &str) {
        if let Some(supervised) = self.app(name) {
            supervised.begin_anew();
        }
    }

    /// The first time that all applications answer is told.
    pub fn look_whether_healthy(&self) {
        let is_up = |supervised: &Arc<SupervisedApp>| {
            !supervised.counts_for_health() || supervised.state().0 == AppState::Ready
        };
        let is_healthy = self.apps().iter().all(is_up);
        if is_healthy && self.is_healthy.set(()).is_ok() {
            let SetUp { instance, generation, .. } = self.set_up;
            self.answer(Event::Healthy { instance, generation });
        }
    }

    /// Tells how applications and terminals do.
    pub fn say_apps(&self) {
        let apps = self.apps().iter().map(|supervised| supervised.status()).collect();
        let SetUp { instance, generation, .. } = self.set_up;
        let status = AppsStatus { instance, generation, apps, terminals: self.terminals.names() };
        self.ask(Ask::Say(ToServer::Apps(Box::new(status))));
    }
}

/// Whoever has this is told when everything has to end.
pub struct Ending(watch::Receiver<Option<Duration>>);

impl Ending {
    /// Waits until it is told, and says how long it may take.
    pub async fn told(&mut self) -> Duration {
        match self.0.wait_for(Option::is_some).await {
            Ok(grace) => grace.unwrap_or_default(),
            // Nobody is there any more who could tell.
            Err(_) => Duration::ZERO,
        }
    }
}

fn supervised_app(app: App, logs: &Path, has_view: bool) -> Arc<SupervisedApp> {
    let is_exposed = app.port.is_some() && (app.has_open_network || !has_view);
    SupervisedApp::new(app, logs, is_exposed)
}

/// Whether a text can name an application or a terminal.
pub fn is_name(text: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=16).contains(&text.len()) && text.bytes().all(is_fine)
}
