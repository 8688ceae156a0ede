//! One application that the supervisor keeps running: what is known of it, and what its task is told.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use atelier_protocol::{App, AppState, AppStatus};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::logfile::{Full, LogFile};
use super::supervisor::Ending;
use crate::clock;

/// The longest log of an application, and once more of what was before it.
const LOG: u64 = 8 << 20;
/// How long one that is not wanted any more, or begins anew, gets to end.
const GRACE: Duration = Duration::from_secs(5);

/// An application.
#[derive(Debug)]
pub struct SupervisedApp {
    pub app: App,
    pub log: Arc<LogFile>,
    /// Whether other people of the machine can reach the port on which it listens.
    pub is_exposed: bool,
    known: Mutex<Known>,
    /// Changed with each word about it; whoever waits for it to answer looks again.
    state: watch::Sender<AppState>,
    wish: watch::Sender<Wish>,
    task: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Known {
    since: Instant,
    took: Option<Duration>,
    restarts: u32,
    last_lines: Vec<String>,
}

/// What an application's task is told.
#[derive(Clone, Copy, Debug, Default)]
struct Wish {
    is_unwanted: bool,
    /// Somebody wants to use it.
    is_awake: bool,
    /// How often somebody wanted it to begin anew.
    anew: u64,
}

/// What an application has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// End for good, within that time.
    End(Duration),
    /// End, then begin anew.
    Anew(Duration),
}

/// With this an application's task listens.
pub struct Ears {
    ending: Ending,
    wish: watch::Receiver<Wish>,
    anew: u64,
}

impl Ears {
    /// Waits until it has to end or to begin anew.
    pub async fn word(&mut self) -> Word {
        let heard = self.anew;
        let wish = tokio::select! {
            grace = self.ending.told() => return Word::End(grace),
            wish = self.wish.wait_for(|wish| wish.is_unwanted || wish.anew > heard) => wish.map(|wish| *wish),
        };
        match wish {
            Ok(wish) if !wish.is_unwanted => {
                self.anew = wish.anew;
                Word::Anew(GRACE)
            }
            _ => Word::End(GRACE),
        }
    }

    /// Waits until somebody wants to use it; false if it has to end before.
    pub async fn woken(&mut self) -> bool {
        tokio::select! {
            _ = self.ending.told() => false,
            wish = self.wish.wait_for(|wish| wish.is_unwanted || wish.is_awake) => {
                wish.is_ok_and(|wish| !wish.is_unwanted)
            }
        }
    }
}

impl SupervisedApp {
    /// One that waits to be started. Its log lies in that folder.
    pub fn new(app: App, logs: &Path, is_exposed: bool) -> Arc<Self> {
        let known = Known { since: clock::now(), took: None, restarts: 0, last_lines: Vec::new() };
        Arc::new(Self {
            log: LogFile::new(logs.join(format!("{}.log", app.name)), LOG, Full::Rotate),
            is_exposed,
            known: Mutex::new(known),
            state: watch::Sender::new(AppState::Waiting),
            wish: watch::Sender::default(),
            task: Mutex::default(),
            app,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What people call it.
    pub fn label(&self) -> &str {
        if self.app.label.is_empty() { label(&self.app.name) } else { &self.app.label }
    }

    pub fn ears(&self, ending: Ending) -> Ears {
        Ears { ending, wish: self.wish.subscribe(), anew: self.wish.borrow().anew }
    }

    /// It does differently now.
    pub fn is(&self, state: AppState, last_lines: Vec<String>) {
        let mut known = self.lock();
        let before = *self.state.borrow();
        known.restarts += u32::from(before == AppState::BackingOff && state == AppState::Starting);
        known.took = (state == AppState::Ready).then(|| known.since.elapsed());
        (known.since, known.last_lines) = (clock::now(), last_lines);
        self.state.send_replace(state);
    }

    /// How it does, and what it printed last if it does not do well.
    pub fn state(&self) -> (AppState, Vec<String>) {
        let known = self.lock();
        (*self.state.borrow(), known.last_lines.clone())
    }

    /// Whether an instance counts as set up only once it answers: what people add may fail, and what sleeps
    /// is not asked.
    pub const fn counts_for_health(&self) -> bool {
        !self.app.is_custom && !self.app.is_on_demand
    }

    pub fn status(&self) -> AppStatus {
        let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let known = self.lock();
        AppStatus {
            name: self.app.name.clone(),
            state: *self.state.borrow(),
            since_ms: millis(known.since.elapsed()),
            took_ms: known.took.map(millis),
            restarts: known.restarts,
            last_lines: known.last_lines.clone(),
            is_exposed: self.is_exposed,
        }
    }

    /// Ends it and starts it again.
    pub fn begin_anew(&self) {
        self.wish.send_modify(|wish| {
            wish.anew += 1;
            wish.is_awake = true;
        });
    }

    /// Nobody wants it any more.
    pub fn dismiss(&self) {
        self.wish.send_modify(|wish| wish.is_unwanted = true);
    }

    /// Somebody wants to use it: one that sleeps is started, and waited for while it may come soon.
    pub async fn wake(&self, patience: Duration) {
        self.wish.send_if_modified(|wish| !std::mem::replace(&mut wish.is_awake, true));
        let mut state = self.state.subscribe();
        let comes = state.wait_for(|state| !matches!(state, AppState::OnDemand | AppState::Starting));
        drop(tokio::time::timeout(patience, comes).await);
    }

    pub fn runs(&self, task: JoinHandle<()>) {
        *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
    }

    /// Waits until nothing of it is left.
    pub async fn gone(&self) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            drop(task.await);
        }
    }
}

/// What people call an application.
fn label(app: &str) -> &str {
    if app == "jupyter" { "JupyterLab" } else { app }
}
