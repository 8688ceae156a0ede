//! Applications: started, asked until they answer, started again when they end.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atelier_protocol::{App, AppState};
use rustix::process::Signal;
use tokio::net::unix::pipe::Receiver;

use super::logfile::LogFile;
use super::supervised_app::{Ears, SupervisedApp, Word};
use super::supervisor::{Layout, Supervisor};
use super::{Place, WorkerHandle, http, socket};
use crate::clock;
use crate::wire::{Bridge, Order, Outcome, Process, Program};

/// Between two questions whether it answers: at first, and when that has taken a while.
const ASK: Duration = Duration::from_millis(25);
const ASK_LATER: Duration = Duration::from_millis(200);
const A_WHILE: Duration = Duration::from_secs(20);
/// One that does not answer within this is started again.
const LONGEST_START: Duration = Duration::from_secs(180);
/// The pause before it is started again: the first, and the longest.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// One that has ended so often within this time has failed.
const ENDS: usize = 5;
const WITHIN: Duration = Duration::from_secs(600);
/// What people see of its log.
const LINES: usize = 20;

/// Starts all of them.
pub fn start_all(supervisor: &Arc<Supervisor>) {
    for supervised in supervisor.start_apps() {
        start(supervisor, &supervised, None);
    }
    supervisor.look_whether_healthy();
}

/// Starts one, once the one is gone in whose place it comes.
pub fn start(supervisor: &Arc<Supervisor>, supervised: &Arc<SupervisedApp>, before: Option<Arc<SupervisedApp>>) {
    let (supervisor, own, mut ears) =
        (Arc::clone(supervisor), Arc::clone(supervised), supervised.ears(supervisor.ending()));
    supervised.runs(tokio::spawn(async move {
        if let Some(before) = before {
            before.gone().await;
        }
        supervise(&supervisor, &own, &mut ears).await;
        if let Some(layout) = supervisor.layout.get() {
            drop(std::fs::remove_file(layout.folders.run.join(socket::name(&own.app.name))));
        }
    }));
}

/// How a run of an application ended.
enum End {
    /// It was told to, for good or to begin anew.
    Told(Word),
    /// There was no process; why.
    Refused(String),
    /// By itself; in words.
    Ended(String),
}

/// Starts an application, and starts it again when it ends, until it is told to end.
async fn supervise(supervisor: &Arc<Supervisor>, supervised: &SupervisedApp, ears: &mut Ears) {
    let Some(layout) = supervisor.layout.get() else { return };
    let (app, log) = (&supervised.app, &supervised.log);
    let needs_base = app.argv.first().is_some_and(|program| program.contains("{layer}"));
    if needs_base && supervisor.set_up.base.is_none() {
        let why = format!(
            "There is no environment with {} on this server yet: it has to be built first.",
            supervised.label()
        );
        return supervisor.app_is(supervised, AppState::Failed, vec![why]);
    }
    if app.is_on_demand {
        supervisor.app_is(supervised, AppState::OnDemand, Vec::new());
        if !ears.woken().await {
            return;
        }
    }
    let mut ends: VecDeque<Instant> = VecDeque::new();
    loop {
        supervisor.app_is(supervised, AppState::Starting, Vec::new());
        log.turn_over();
        log.note(&format!("{} is started", app.name));
        let last_lines = match run(supervisor, layout, supervised, ears).await {
            End::Told(Word::End(_)) => return,
            End::Told(Word::Anew(_)) => {
                log.note("it begins anew, since somebody wants it");
                ends.clear();
                continue;
            }
            End::Refused(why) => {
                log.note(&why);
                ends.extend([clock::now(); ENDS]);
                // What helps stands first: the rest may be long.
                [app.remedy.clone(), why].into_iter().filter(|line| !line.is_empty()).collect()
            }
            End::Ended(words) => {
                let mut last = log.last_lines(LINES);
                log.note(&words);
                last.push(words);
                ends.push_back(clock::now());
                last
            }
        };
        let now = clock::now();
        ends.retain(|end| now.duration_since(*end) < WITHIN);
        let word = if ends.len() >= ENDS {
            supervisor.app_is(supervised, AppState::Failed, last_lines);
            Some(ears.word().await)
        } else {
            supervisor.app_is(supervised, AppState::BackingOff, last_lines);
            let doubled = PAUSE * 2_u32.saturating_pow(u32::try_from(ends.len()).unwrap_or(8).saturating_sub(1));
            tokio::time::timeout(doubled.min(LONGEST_PAUSE), ears.word()).await.ok()
        };
        match word {
            Some(Word::End(_)) => return,
            Some(Word::Anew(_)) => ends.clear(),
            None => {}
        }
    }
}

/// One run, from its start to its end.
async fn run(supervisor: &Arc<Supervisor>, layout: &Layout, supervised: &SupervisedApp, ears: &mut Ears) -> End {
    let (app, log) = (&supervised.app, &supervised.log);
    let began = clock::now();
    // One that was killed has left it.
    drop(std::fs::remove_file(layout.folders.run.join(socket::name(&app.name))));
    let (mut worker, output) = match begin(supervisor, layout, supervised).await {
        Ok(begun) => begun,
        Err(_) if supervisor.is_ending() => return End::Told(Word::End(Duration::ZERO)),
        Err(why) => return End::Ended(why),
    };
    let mut is_ready = false;
    let outcome = loop {
        let ask = async {
            tokio::time::sleep(if began.elapsed() < A_WHILE { ASK } else { ASK_LATER }).await;
            answers(supervisor, layout, app).await
        };
        tokio::select! {
            outcome = worker.outcome() => break outcome,
            word = ears.word() => {
                let (Word::End(grace) | Word::Anew(grace)) = word;
                worker.end(&[Signal::TERM], grace).await;
                return End::Told(word);
            }
            has_answered = ask, if !is_ready => {
                if has_answered {
                    is_ready = true;
                    supervisor.app_is(supervised, AppState::Ready, Vec::new());
                    log.note(&format!("{} answers after {} ms", app.name, began.elapsed().as_millis()));
                } else if began.elapsed() > LONGEST_START {
                    worker.end(&[Signal::TERM], Duration::from_secs(2)).await;
                    let seconds = LONGEST_START.as_secs();
                    return End::Ended(format!("It did not answer within {seconds} s, so it was ended."));
                }
            }
        }
    };
    // Nothing of it is left, so this ends too.
    drop(tokio::time::timeout(Duration::from_secs(2), output).await);
    match outcome {
        Outcome::Refused(why) => End::Refused(format!("It cannot be started: {why}.")),
        Outcome::Code(code) => End::Ended(format!("It ended with code {code} after {} s.", began.elapsed().as_secs())),
    }
}

/// Starts the process; its output goes into its log.
async fn begin(
    supervisor: &Supervisor,
    layout: &Layout,
    supervised: &SupervisedApp,
) -> Result<(WorkerHandle, tokio::task::JoinHandle<()>), String> {
    let app = &supervised.app;
    let is_apart = app.port.is_some() && !supervised.is_exposed;
    let mut worker = supervisor.acquire_worker(if is_apart { Place::Apart } else { Place::Own }).await?;
    let inside = &layout.inside;
    let socket = inside.run.join(socket::name(&app.name)).display().to_string();
    let layer = inside.layer.display().to_string();
    let port = app.port.map(|port| port.to_string()).unwrap_or_default();
    let fill = |text: &String| {
        let text = text.replace("{socket}", &socket).replace("{port}", &port);
        text.replace("{home}", &inside.home).replace("{layer}", &layer)
    };
    let mut environment = inside.environment.clone();
    environment.extend(app.environment.iter().map(|(name, value)| (name.clone(), fill(value))));
    environment.push(("ATELIER_APP".to_owned(), app.name.clone()));
    environment.push(match app.port {
        Some(_) => ("PORT".to_owned(), port.clone()),
        None => ("ATELIER_APP_SOCKET".to_owned(), socket.clone()),
    });
    let process = Process {
        folder: inside.home.clone(),
        program: Program::Argv(app.argv.iter().map(fill).collect()),
        environment,
        memory: worker.limit(&supervisor.config).filter(|_| !app.reserves_much),
        bridge: app.port.map(|port| Bridge { socket: socket.clone(), port }),
    };
    let (read, write) = pipe()?;
    worker.say(&Order::Process(Box::new(process)), &[write.as_fd()])?;
    let output = tokio::spawn(copy(read, Arc::clone(&supervised.log)));
    Ok((worker, output))
}

/// A pipe for what a process prints.
pub fn pipe() -> Result<(Receiver, std::os::fd::OwnedFd), String> {
    let make = || -> std::io::Result<_> {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&read, true)?;
        Ok((Receiver::from_owned_fd(read)?, write))
    };
    make().map_err(|error| format!("there are too many open files: {error}"))
}

/// Carries what a process prints into a log.
pub async fn copy(read: Receiver, log: Arc<LogFile>) {
    while read.readable().await.is_ok() {
        // Made when there is something: most applications are quiet.
        let mut piece = vec![0; 16 << 10];
        match read.try_read(&mut piece) {
            Ok(0) => return,
            Ok(count) => log.append(&piece[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

async fn answers(supervisor: &Supervisor, layout: &Layout, app: &App) -> bool {
    let Ok(stream) = socket::connect(&layout.folders.run, &app.name, supervisor.uid()).await else { return false };
    matches!(http::status(stream, &app.health).await, Ok(200..=499))
}
