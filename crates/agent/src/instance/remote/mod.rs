//! Sessions of people who came in from elsewhere. Unlike terminals, they end with the connection that they came over.

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
use super::standing::{Ending, Standing};
use super::{Hired, Place};
use crate::wire::{Order, Outcome, Remote, Said, What};

/// The most sessions and connections at once.
const MOST: usize = 256;
/// How long it may take until there is one; the server waits no longer.
const BEGINNING: Duration = Duration::from_secs(8);

/// How many there are.
#[derive(Default)]
pub struct Guests(AtomicUsize);

/// One of them; gives its place back.
pub struct Seat(Arc<Standing>);

impl Seat {
    fn take(standing: &Arc<Standing>) -> Result<Self, String> {
        if standing.guests.0.fetch_add(1, Ordering::Relaxed) >= MOST {
            standing.guests.0.fetch_sub(1, Ordering::Relaxed);
            return Err(format!("{MOST} sessions are open, and more are not allowed: close one first"));
        }
        Ok(Self(Arc::clone(standing)))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.guests.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A session that runs and waits for the stream to it.
pub struct Session {
    hired: Hired,
    ends: Ends,
    ending: Ending,
    seat: Seat,
}

/// Begins a session.
pub async fn begin(standing: &Arc<Standing>, start: &SessionStart) -> Result<Session, String> {
    let (seat, ending) = (Seat::take(standing)?, standing.ending());
    let beginning = async {
        let mut hired = standing.hire(Place::Own).await?;
        let mut variables = start.environment.clone();
        if let Some(screen) = &start.terminal {
            variables.push(("TERM".to_owned(), screen.term.clone()));
        }
        let what = start.command.clone().map_or(What::Shell, What::Command);
        let screen = start.terminal.as_ref().map(|screen| (screen.columns, screen.rows));
        let remote = remote(standing, &hired, what, screen, variables)?;
        if screen.is_some() {
            hired.say(&Order::Remote(Box::new(remote)), &[])?;
            let handle = spawned(&mut hired).await?.ok_or("the sandbox gave no terminal")?;
            let near = Near::new(handle).map_err(|error| format!("the terminal cannot be used: {error}"))?;
            return Ok((hired, Ends::Terminal(near)));
        }
        let (input, given) = input()?;
        let ((output, output_given), (errors, errors_given)) = (pipe()?, pipe()?);
        let files = [given.as_fd(), output_given.as_fd(), errors_given.as_fd()];
        hired.say(&Order::Remote(Box::new(remote)), &files)?;
        spawned(&mut hired).await?;
        Ok((hired, Ends::Pipes(Pipes { input: Some(input), output: Some(output), errors: Some(errors) })))
    };
    let (hired, ends) = timely(beginning).await?;
    Ok(Session { hired, ends, ending, seat })
}

/// Begins a server of files, and gives the way to it.
pub async fn files(standing: &Arc<Standing>) -> Result<UnixStream, String> {
    let (seat, mut ending) = (Seat::take(standing)?, standing.ending());
    let too_many = |error: std::io::Error| format!("there are too many open files: {error}");
    let beginning = async {
        let mut hired = standing.hire(Place::Own).await?;
        let remote = remote(standing, &hired, What::Sftp, None, Vec::new())?;
        let (ours, theirs) = UnixStream::pair().map_err(too_many)?;
        let theirs = theirs.into_std().map_err(too_many)?;
        theirs.set_nonblocking(false).map_err(too_many)?;
        // What goes wrong it tells in its own words; beside that it has nothing to say.
        let (_unread, errors) = pipe()?;
        hired.say(&Order::Remote(Box::new(remote)), &[theirs.as_fd(), theirs.as_fd(), errors.as_fd()])?;
        spawned(&mut hired).await?;
        Ok((hired, ours))
    };
    let (mut hired, ours) = timely(beginning).await?;
    tokio::spawn(async move {
        tokio::select! {
            _ = hired.outcome() => {}
            grace = ending.told() => hired.end(&[Signal::TERM], grace).await,
        }
        drop(seat);
    });
    Ok(ours)
}

/// What a connection holds until it is over.
#[expect(dead_code, reason = "held, not read: dropping it gives a place back and lets the instance end")]
pub struct Held(Seat, Ending);

/// Connects to something, from inside the sandbox.
pub async fn connect(standing: &Arc<Standing>, to: &Endpoint) -> Result<(Wire, Held), String> {
    let (seat, ending) = (Seat::take(standing)?, standing.ending());
    let beginning = async {
        let mut hired = standing.hire(Place::Own).await?;
        hired.say(&Order::Connect(to.clone()), &[])?;
        spawned(&mut hired).await?.ok_or_else(|| "the sandbox gave no connection".to_owned())
    };
    let handle = timely(beginning).await?;
    Ok((wire(handle).map_err(|error| format!("the connection cannot be used: {error}"))?, Held(seat, ending)))
}

async fn timely<T>(beginning: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let late = |_| format!("its sandbox does not answer within {} s", BEGINNING.as_secs());
    tokio::time::timeout(BEGINNING, beginning).await.map_err(late)?
}

fn remote(
    standing: &Standing,
    hired: &Hired,
    what: What,
    screen: Option<(u16, u16)>,
    variables: Vec<(String, String)>,
) -> Result<Remote, String> {
    let rooms = standing.rooms.get().ok_or("the instance is being set up")?;
    let mut environment = rooms.inside.environment.clone();
    environment.extend(variables);
    let memory = hired.limit(&standing.config);
    Ok(Remote { what, screen, folder: rooms.inside.home.clone(), environment, memory })
}

/// Waits until it runs; the handle that it gave, if it gave one.
async fn spawned(hired: &mut Hired) -> Result<Option<OwnedFd>, String> {
    match hired.next().await {
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
    /// Serves whoever came, until they go or the process ends. What it has left running then goes on until the instance ends.
    pub async fn attend(self, wire: Wire) {
        let Self { mut hired, ends, mut ending, seat } = self;
        let channel = hired.channel();
        let told = {
            let carry = pump::carry(wire, ends, &channel, hired.outcome());
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
        drop(seat);
        // Shells do not end when they are asked to, but when their terminal is gone.
        let polite = [Signal::HUP, Signal::TERM];
        if let Some(grace) = told {
            return hired.end(&polite, grace).await;
        }
        tokio::select! {
            () = hired.gone() => {}
            grace = ending.told() => hired.end(&polite, grace).await,
        }
    }
}
