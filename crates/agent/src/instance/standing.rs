//! One generation of an instance: what all of its tasks share.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use atelier_protocol::{App, AppState, AppStatus, AppsStatus, Event, SetUp, ToServer};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Notify, watch};

use super::dwelling::Inside;
use super::folders::Folders;
use super::logfile::LogFile;
use super::terminal::Terminals;
use super::{Ask, Hired, Place};
use crate::clock;
use crate::config::AgentConfig;
use crate::core::Happening;
use crate::facts::Isolation;

/// One generation of an instance.
pub struct Standing {
    pub set_up: SetUp,
    pub config: AgentConfig,
    pub isolation: Isolation,
    pub terminals: Terminals,
    /// Known once its folders are made.
    pub rooms: OnceLock<Rooms>,
    /// Somebody wants to know what goes on.
    pub tell: Notify,
    inbox: UnboundedSender<Happening>,
    apps: Mutex<Vec<Known>>,
    is_healthy: OnceLock<()>,
    /// How its scripts went, for the words of applications that wait for them.
    pub have_scripts_failed: OnceLock<()>,
    /// Set when everything has to end, with the time that there is for it. Each task that runs something listens.
    ending: watch::Sender<Option<Duration>>,
}

/// Where things are.
pub struct Rooms {
    pub folders: Folders,
    pub inside: Inside,
    pub setup_log: Arc<LogFile>,
    pub app_logs: Vec<Arc<LogFile>>,
}

/// What is known of an application.
struct Known {
    state: AppState,
    since: Instant,
    took: Option<Duration>,
    restarts: u32,
    last_lines: Vec<String>,
}

impl std::fmt::Debug for Standing {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let SetUp { instance, generation, .. } = &self.set_up;
        out.debug_struct("Standing").field("instance", instance).field("generation", generation).finish_non_exhaustive()
    }
}

impl Standing {
    /// One that is about to be set up.
    pub fn new(set_up: SetUp, config: AgentConfig, isolation: Isolation, inbox: UnboundedSender<Happening>) -> Self {
        let known = |_: &App| Known {
            state: AppState::Waiting,
            since: clock::now(),
            took: None,
            restarts: 0,
            last_lines: Vec::new(),
        };
        Self {
            apps: Mutex::new(set_up.apps.iter().map(known).collect()),
            set_up,
            config,
            isolation,
            terminals: Terminals::default(),
            rooms: OnceLock::new(),
            tell: Notify::new(),
            inbox,
            is_healthy: OnceLock::new(),
            have_scripts_failed: OnceLock::new(),
            ending: watch::channel(None).0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Known>> {
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
    pub async fn hire(&self, place: Place) -> Result<Hired, String> {
        if self.is_ending() {
            return Err("the instance stops".to_owned());
        }
        Hired::hire(&self.inbox, place).await
    }

    /// What the server must hear of.
    pub fn answer(&self, event: Event) {
        self.ask(Ask::Answer(self.set_up.generation, event));
    }

    /// Ends everything.
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
        if let Some(rooms) = self.rooms.get() {
            rooms.folders.leave();
        }
    }

    /// An application does differently now.
    pub fn app_is(&self, index: usize, state: AppState, last_lines: Vec<String>) {
        if let Some(app) = self.lock().get_mut(index) {
            let is_again = matches!(app.state, AppState::BackingOff) && state == AppState::Starting;
            app.restarts += u32::from(is_again);
            app.took = if state == AppState::Ready { Some(app.since.elapsed()) } else { None };
            (app.state, app.since, app.last_lines) = (state, clock::now(), last_lines);
        }
        self.say_apps();
        self.look_whether_healthy();
    }

    /// How an application does, and what it printed last if it does not do well.
    pub fn app_state(&self, index: usize) -> Option<(AppState, Vec<String>)> {
        self.lock().get(index).map(|app| (app.state, app.last_lines.clone()))
    }

    /// The first time that all applications answer is told.
    pub fn look_whether_healthy(&self) {
        let is_healthy = self.lock().iter().all(|app| app.state == AppState::Ready);
        if is_healthy && self.is_healthy.set(()).is_ok() {
            let SetUp { instance, generation, .. } = self.set_up;
            self.answer(Event::Healthy { instance, generation });
        }
    }

    /// Tells how applications and terminals do.
    pub fn say_apps(&self) {
        let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let apps = self.lock();
        let status = |(known, app): (&Known, &App)| AppStatus {
            name: app.name.clone(),
            state: known.state,
            since_ms: millis(known.since.elapsed()),
            took_ms: known.took.map(millis),
            restarts: known.restarts,
            last_lines: known.last_lines.clone(),
        };
        let apps = apps.iter().zip(&self.set_up.apps).map(status).collect();
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

/// What people call an application.
pub fn label(app: &str) -> &str {
    if app == "jupyter" { "JupyterLab" } else { app }
}

/// Whether a text can name an application or a terminal.
pub fn is_name(text: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=16).contains(&text.len()) && text.bytes().all(is_fine)
}
