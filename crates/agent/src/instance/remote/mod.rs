//! Sessions of people who came in from elsewhere. Unlike terminals, they end with the connection that they
//! came over.

mod frames;
mod pump;

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use atelier_pipe::Wire;
use atelier_protocol::remote::{Endpoint, SessionStart};
use rustix::net::{AddressFamily, SocketType, sockopt};
use rustix::process::Signal;
use tokio::net::unix::pipe::Sender;
use tokio::net::{TcpStream, UnixStream};

use self::pump::{Ends, Pipes};
use super::apps::pipe;
use super::session::Near;
use super::supervisor::{Ending, Supervisor};
use super::{Place, WorkerHandle};
use crate::wire::{Order, Outcome, Remote, Said, What};

/// The most sessions and connections at once.
const MOST: usize = 256;
/// How long it may take until there is one; the server waits no longer.
const BEGINNING: Duration = Duration::from_secs(8);

/// How many there are.
#[derive(Default)]
pub struct Guests(AtomicUsize);

/// One of them; gives its place back.
pub struct Slot(Arc<Supervisor>);

impl Slot {
    fn take(supervisor: &Arc<Supervisor>) -> Result<Self, String> {
        if supervisor.guests.0.fetch_add(1, Ordering::Relaxed) >= MOST {
            supervisor.guests.0.fetch_sub(1, Ordering::Relaxed);
            return Err(format!("{MOST} sessions are open, and more are not allowed: close one first"));
        }
        Ok(Self(Arc::clone(supervisor)))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.guests.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A session that runs and waits for the stream to it.
pub struct Session {
    worker: WorkerHandle,
    ends: Ends,
    ending: Ending,
    slot: Slot,
}

/// Begins a session.
pub async fn begin(supervisor: &Arc<Supervisor>, start: &SessionStart) -> Result<Session, String> {
    let (slot, ending) = (Slot::take(supervisor)?, supervisor.ending());
    let beginning = async {
        let mut worker = supervisor.acquire_worker(Place::Own).await?;
        let mut variables = start.environment.clone();
        if let Some(screen) = &start.terminal {
            variables.push(("TERM".to_owned(), screen.term.clone()));
        }
        let what = start.command.clone().map_or(What::Shell, What::Command);
        let screen = start.terminal.as_ref().map(|screen| (screen.columns, screen.rows));
        let remote = remote(supervisor, &worker, what, screen, variables)?;
        if screen.is_some() {
            worker.say(&Order::Remote(Box::new(remote)), &[])?;
            let handle = spawned(&mut worker).await?.ok_or("the sandbox gave no terminal")?;
            let near = Near::new(handle).map_err(|error| format!("the terminal cannot be used: {error}"))?;
            return Ok((worker, Ends::Terminal(near)));
        }
        let (input, given) = input()?;
        let ((output, output_given), (errors, errors_given)) = (pipe()?, pipe()?);
        let files = [given.as_fd(), output_given.as_fd(), errors_given.as_fd()];
        worker.say(&Order::Remote(Box::new(remote)), &files)?;
        spawned(&mut worker).await?;
        Ok((worker, Ends::Pipes(Pipes { input: Some(input), output: Some(output), errors: Some(errors) })))
    };
    let (worker, ends) = timely(beginning).await?;
    Ok(Session { worker, ends, ending, slot })
}

/// Begins a server of files, and gives the way to it.
pub async fn files(supervisor: &Arc<Supervisor>) -> Result<UnixStream, String> {
    let (slot, mut ending) = (Slot::take(supervisor)?, supervisor.ending());
    let too_many = |error: std::io::Error| format!("there are too many open files: {error}");
    let beginning = async {
        let mut worker = supervisor.acquire_worker(Place::Own).await?;
        let remote = remote(supervisor, &worker, What::Sftp, None, Vec::new())?;
        let (ours, theirs) = UnixStream::pair().map_err(too_many)?;
        let theirs = theirs.into_std().map_err(too_many)?;
        theirs.set_nonblocking(false).map_err(too_many)?;
        // What goes wrong it tells in its own words; beside that it has nothing to say.
        let (_unread, errors) = pipe()?;
        worker.say(&Order::Remote(Box::new(remote)), &[theirs.as_fd(), theirs.as_fd(), errors.as_fd()])?;
        spawned(&mut worker).await?;
        Ok((worker, ours))
    };
    let (mut worker, ours) = timely(beginning).await?;
    tokio::spawn(async move {
        tokio::select! {
            _ = worker.outcome() => {}
            grace = ending.told() => worker.end(&[Signal::TERM], grace).await,
        }
        drop(slot);
    });
    Ok(ours)
}

/// What a connection holds until it is over.
#[expect(dead_code, reason = "held, not read: dropping it gives a place back and lets the instance end")]
pub struct Held(Slot, Ending);

/// Connects to something, from inside the sandbox.
pub async fn connect(supervisor: &Arc<Supervisor>, to: &Endpoint) -> Result<(Wire, Held), String> {
    let (slot, ending) = (Slot::take(supervisor)?, supervisor.ending());
    let beginning = async {
        let mut worker = supervisor.acquire_worker(Place::Own).await?;
        worker.say(&Order::Connect(to.clone()), &[])?;
        spawned(&mut worker).await?.ok_or_else(|| "the sandbox gave no connection".to_owned())
    };
    let handle = timely(beginning).await?;
    Ok((wire(handle).map_err(|error| format!("the connection cannot be used: {error}"))?, Held(slot, ending)))
}

async fn timely<T>(beginning: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let late = |_| format!("its sandbox does not answer within {} s", BEGINNING.as_secs());
    tokio::time::timeout(BEGINNING, beginning).await.map_err(late)?
}

fn remote(
    supervisor: &Supervisor,
    worker: &WorkerHandle,
    what: What,
    screen: Option<(u16, u16)>,
    variables: Vec<(String, String)>,
) -> Result<Remote, String> {
    let layout = supervisor.layout.get().ok_or("the instance is being set up")?;
    let mut environment = layout.inside.environment.clone();
    environment.extend(variables);
    let memory = worker.limit(&supervisor.config);
    Ok(Remote { what, screen, folder: layout.inside.home.clone(), environment, memory })
}

/// Waits until it runs; the handle that it gave, if it gave one.
async fn spawned(worker: &mut WorkerHandle) -> Result<Option<OwnedFd>, String> {
    match worker.next().await {
        Some((Said::Spawned, mut handles)) => Ok(handles.pop()),
        Some((Said::Ended(Outcome::Refused(why)), _)) => Err(why),
        _ => Err("its process has ended at once".to_owned()),
    }
}

/// A pipe for what a process reads.
fn input() -> Result<(Sender, OwnedFd), String> {
    let make = || -> std::io::Result<_> {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&write, true)?;
        Ok((Sender::from_owned_fd(write)?, read))
    };
    make().map_err(|error| format!("there are too many open files: {error}"))
}

/// A handle out of the sandbox as a connection, if it is one: it may be anything.
fn wire(handle: OwnedFd) -> std::io::Result<Wire> {
    if sockopt::socket_type(&handle)? != SocketType::STREAM {
        return Err(std::io::ErrorKind::InvalidData.into());
    }
    match sockopt::socket_domain(&handle)? {
        AddressFamily::UNIX => {
            let stream = std::os::unix::net::UnixStream::from(handle);
            stream.set_nonblocking(true)?;
            UnixStream::from_std(stream).map(Wire::from)
        }
        AddressFamily::INET | AddressFamily::INET6 => {
            let stream = std::net::TcpStream::from(handle);
            stream.set_nonblocking(true)?;
            TcpStream::from_std(stream).map(Wire::from)
        }
        _ => Err(std::io::ErrorKind::InvalidData.into()),
    }
}

impl Session {
    /// Serves whoever came, until they go or the process ends. What it has left running then goes on until
    /// the instance ends.
    pub async fn attend(self, wire: Wire) {
        let Self { mut worker, ends, mut ending, slot } = self;
        let channel = worker.channel();
        let told = {
            let carry = pump::carry(wire, ends, &channel, worker.outcome());
            tokio::select! {
                is_over = carry => {
                    if !is_over {
                        // If it does not listen any more, it is about to end anyway.
                        let _ = channel.say(&Order::HangUp, &[]);
                    }
                    None
                }
                grace = ending.told() => Some(grace),
            }
        };
        drop(slot);
        // Shells do not end when they are asked to, but when their terminal is gone.
        let polite = [Signal::HUP, Signal::TERM];
        if let Some(grace) = told {
            return worker.end(&polite, grace).await;
        }
        tokio::select! {
            () = worker.gone() => {}
            grace = ending.told() => worker.end(&polite, grace).await,
        }
    }
}
