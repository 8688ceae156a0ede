//! Applications: started, asked until they answer, started again when they end.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atelier_protocol::{App, AppState};
use rustix::process::Signal;
use tokio::net::unix::pipe::Receiver;

use super::logfile::LogFile;
use super::standing::{Ending, Rooms, Standing, label};
use super::{Hired, Place, http, socket};
use crate::clock;
use crate::wire::{Order, Outcome, Process, Program};

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
pub fn start_all(standing: &Arc<Standing>) {
    standing.look_whether_healthy();
    for index in 0..standing.set_up.apps.len() {
        let (standing, ending) = (Arc::clone(standing), standing.ending());
        tokio::spawn(async move { keep(&standing, index, ending).await });
    }
}

/// How a run of an application ended.
enum End {
    /// It was told to.
    Told,
    /// There was no process; why.
    Refused(String),
    /// By itself; in words.
    Ended(String),
}

async fn keep(standing: &Arc<Standing>, index: usize, mut ending: Ending) {
    let (Some(rooms), Some(app)) = (standing.rooms.get(), standing.set_up.apps.get(index)) else { return };
    let Some(log) = rooms.app_logs.get(index) else { return };
    let needs_base = app.argv.first().is_some_and(|program| program.contains("{layer}"));
    if needs_base && standing.set_up.base.is_none() {
        let why =
            format!("There is no environment with {} on this server yet: it has to be built first.", label(&app.name));
        return standing.app_is(index, AppState::Failed, vec![why]);
    }
    let mut ends: VecDeque<Instant> = VecDeque::new();
    loop {
        standing.app_is(index, AppState::Starting, Vec::new());
        log.turn_over();
        log.note(&format!("{} is started", app.name));
        let last_lines = match run(standing, rooms, app, index, log, &mut ending).await {
            End::Told => return,
            End::Refused(why) => {
                log.note(&why);
                return standing.app_is(index, AppState::Failed, vec![why]);
            }
            End::Ended(words) => {
                let mut last = log.last_lines(LINES);
                log.note(&words);
                last.push(words);
                last
            }
        };
        let now = clock::now();
        ends.push_back(now);
        ends.retain(|end| now.duration_since(*end) < WITHIN);
        if ends.len() >= ENDS {
            return standing.app_is(index, AppState::Failed, last_lines);
        }
        standing.app_is(index, AppState::BackingOff, last_lines);
        let doubled = PAUSE * 2_u32.saturating_pow(u32::try_from(ends.len()).unwrap_or(8).saturating_sub(1));
        tokio::select! {
            () = tokio::time::sleep(doubled.min(LONGEST_PAUSE)) => {}
            _ = ending.told() => return,
        }
    }
}

/// One run, from its start to its end.
async fn run(
    standing: &Arc<Standing>,
    rooms: &Rooms,
    app: &App,
    index: usize,
    log: &Arc<LogFile>,
    ending: &mut Ending,
) -> End {
    let began = clock::now();
    // One that was killed has left it.
    drop(std::fs::remove_file(rooms.folders.run.join(socket::name(&app.name))));
    let (mut hired, output) = match begin(standing, rooms, app, log).await {
        Ok(begun) => begun,
        Err(why) => return if standing.is_ending() { End::Told } else { End::Ended(why) },
    };
    let mut is_ready = false;
    let outcome = loop {
        let ask = async {
            tokio::time::sleep(if began.elapsed() < A_WHILE { ASK } else { ASK_LATER }).await;
            answers(standing, rooms, app).await
        };
        tokio::select! {
            outcome = hired.outcome() => break outcome,
            grace = ending.told() => {
                hired.end(&[Signal::TERM], grace).await;
                return End::Told;
            }
            has_answered = ask, if !is_ready => {
                if has_answered {
                    is_ready = true;
                    standing.app_is(index, AppState::Ready, Vec::new());
                    log.note(&format!("{} answers after {} ms", app.name, began.elapsed().as_millis()));
                } else if began.elapsed() > LONGEST_START {
                    hired.end(&[Signal::TERM], Duration::from_secs(2)).await;
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
    standing: &Standing,
    rooms: &Rooms,
    app: &App,
    log: &Arc<LogFile>,
) -> Result<(Hired, tokio::task::JoinHandle<()>), String> {
    let mut hired = standing.hire(Place::Own).await?;
    let inside = &rooms.inside;
    let socket = inside.run.join(socket::name(&app.name)).display().to_string();
    let layer = inside.layer.display().to_string();
    let fill = |argument: &String| {
        argument.replace("{socket}", &socket).replace("{home}", &inside.home).replace("{layer}", &layer)
    };
    let process = Process {
        folder: inside.home.clone(),
        program: Program::Argv(app.argv.iter().map(fill).collect()),
        environment: inside.environment.clone(),
        memory: hired.limit(&standing.config),
    };
    let (read, write) = pipe()?;
    hired.say(&Order::Process(Box::new(process)), &[write.as_fd()])?;
    let output = tokio::spawn(copy(read, Arc::clone(log)));
    Ok((hired, output))
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

async fn answers(standing: &Standing, rooms: &Rooms, app: &App) -> bool {
    let Ok(stream) = socket::connect(&rooms.folders.run, &app.name, standing.uid()).await else { return false };
    matches!(http::status(stream, &app.health).await, Ok(200..=499))
}
