//! Terminals: shells that outlive those who look at them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::Signal;

use super::session::{Near, Session};
use super::supervisor::{Ending, Supervisor, is_name};
use super::{Place, WorkerHandle};
use crate::wire::{Order, Outcome, Process, Program, Said};

/// The most at once.
const MOST: usize = 16;
/// How long it may take until there is one; the server waits no longer.
const BEGINNING: Duration = Duration::from_secs(8);

/// The terminals of an instance.
#[derive(Default)]
pub struct Terminals {
    open: Mutex<BTreeMap<String, Arc<Session>>>,
    /// One is begun at a time, so that two who want the same one get the same one.
    beginning: tokio::sync::Mutex<()>,
}

impl Terminals {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names of those that are open.
    pub fn names(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    /// How many bytes were typed and printed in each since this was last asked.
    pub fn take_traffic(&self) -> Vec<(String, u64, u64)> {
        let named = |(name, session): (&String, &Arc<Session>)| {
            let (typed, shown) = session.take_traffic();
            (name.clone(), typed, shown)
        };
        self.lock().iter().map(named).collect()
    }

    /// The one of that name; a new one if there is none.
    pub async fn get(&self, supervisor: &Arc<Supervisor>, name: &str) -> Result<Arc<Session>, String> {
        if !is_name(name) {
            return Err(format!("“{name}” cannot be the name of a terminal: at most 16 of a–z, 0–9 and “-”"));
        }
        let _turn = self.beginning.lock().await;
        {
            let open = self.lock();
            if let Some(session) = open.get(name) {
                return Ok(Arc::clone(session));
            }
            if open.len() >= MOST {
                return Err(format!("{MOST} terminals are open, and more are not allowed: close one first"));
            }
        }
        let ending = supervisor.ending();
        let begun = tokio::time::timeout(BEGINNING, begin(supervisor)).await;
        let (worker, near) =
            begun.map_err(|_| format!("its sandbox does not answer within {} s", BEGINNING.as_secs()))??;
        let session = Arc::new(Session::new(near));
        self.lock().insert(name.to_owned(), Arc::clone(&session));
        supervisor.say_apps();
        let (supervisor, supervised, name) = (Arc::clone(supervisor), Arc::clone(&session), name.to_owned());
        tokio::spawn(async move { supervise(&supervisor, &supervised, &name, worker, ending).await });
        Ok(session)
    }

    /// Forgets one that has ended.
    fn forget(&self, name: &str, session: &Arc<Session>) {
        let mut open = self.lock();
        if open.get(name).is_some_and(|found| Arc::ptr_eq(found, session)) {
            open.remove(name);
        }
    }
}

/// Has a shell started in a terminal.
async fn begin(supervisor: &Supervisor) -> Result<(WorkerHandle, Near), String> {
    let layout = supervisor.layout.get().ok_or("the instance is being set up")?;
    let mut worker = supervisor.acquire_worker(Place::Own).await?;
    let mut environment = layout.inside.environment.clone();
    for (name, value) in [("TERM", "xterm-256color"), ("COLORTERM", "truecolor")] {
        environment.push((name.to_owned(), value.to_owned()));
    }
    let process = Process {
        folder: layout.inside.home.clone(),
        program: Program::Argv(Vec::new()),
        environment,
        memory: worker.limit(&supervisor.config),
        bridge: None,
    };
    worker.say(&Order::Terminal(Box::new(process)), &[])?;
    match worker.next().await {
        Some((Said::Spawned, mut handles)) => {
            let handle = handles.pop().ok_or("the sandbox gave no terminal")?;
            let near = Near::new(handle).map_err(|error| format!("the terminal cannot be used: {error}"))?;
            Ok((worker, near))
        }
        Some((Said::Ended(Outcome::Refused(why)), _)) => Err(why),
        _ => Err("the shell has ended at once".to_owned()),
    }
}

/// Looks after a terminal until nothing of it is left.
async fn supervise(
    supervisor: &Supervisor,
    session: &Arc<Session>,
    name: &str,
    mut worker: WorkerHandle,
    mut ending: Ending,
) {
    let reading = {
        let session = Arc::clone(session);
        tokio::spawn(async move { session.read_all().await })
    };
    // Shells do not end when they are asked to, but when their terminal is gone.
    let polite = [Signal::HUP, Signal::TERM];
    let mut told = None;
    let outcome = tokio::select! {
        outcome = worker.outcome() => outcome,
        grace = ending.told() => {
            told = Some(grace);
            worker.end(&polite, grace).await;
            Outcome::Code(129)
        }
    };
    // All that was printed before the shell ended comes before its end.
    session.read_rest();
    reading.abort();
    session.end(if let Outcome::Code(code) = outcome { code } else { 1 });
    supervisor.terminals.forget(name, session);
    supervisor.say_apps();
    if told.is_some() {
        return;
    }
    // What the shell has left running goes on until the instance ends.
    tokio::select! {
        () = worker.gone() => {}
        grace = ending.told() => worker.end(&polite, grace).await,
    }
}
