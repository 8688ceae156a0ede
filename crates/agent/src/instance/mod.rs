//! The instance on a node: a person's workstation, with their home, their layer of an environment,
//! applications and terminals.
//!
//! | module | what it does |
//! | --- | --- |
//! | `folders`, `mounts` | where things are on the machine, and what a sandbox of the instance sees of them |
//! | `supervisor` | keeps the applications of one generation of the instance running; shared by all of its tasks |
//! | `begin` | sets it up |
//! | `scripts`, `apps`, `supervised_app` | run in it |
//! | `terminal`, `session`, `ring` | shells that outlive those who look at them |
//! | `remote` | sessions that end with the connection of whoever came in from elsewhere |
//! | `stream` | bytes from and to the server |
//! | `activity`, `kernels`, `load` | what goes on in it |
//! | `worker` | a handle of a worker in its sandbox, for those who want something done |
//!
//! The loop owns the sandbox and its workers; each application, script and terminal is a task that asks the
//! loop for a worker ([`Ask`]) and tells it what the server has to hear. All of it goes on while there is no
//! server.

mod activity;
mod apps;
mod begin;
mod folders;
mod http;
mod kernels;
mod load;
mod logfile;
pub mod mounts;
mod remote;
mod ring;
mod scripts;
mod session;
mod socket;
mod stream;
mod supervised_app;
mod supervisor;
mod terminal;
mod worker;

use std::fs::File;

use atelier_protocol::{Event, ToServer};
pub use begin::begin;
pub use load::{Load, cpu_of};
pub use mounts::Mounts;
use rustix::process::Signal;
pub use scripts::run as run_scripts;
pub use socket::patiently;
pub use stream::open as open_stream;
pub use supervisor::Supervisor;
use tokio::sync::oneshot;
pub use worker::WorkerHandle;

use crate::core::Spoken;
use crate::sandbox::WorkerId;

/// Which of an instance's sandboxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The one with the person's home, in which their jobs run as well.
    Own,
    /// One without it, for scripts that the person has not accepted.
    Scratch,
    /// One with it and with a network of its own, for applications that listen on ports. They reach each
    /// other there, and nothing else reaches them.
    Apart,
}

/// What tasks of an instance want from the loop.
#[derive(Debug)]
pub enum Ask {
    /// From now on sandboxes of that kind look like this; nothing if there is none any more.
    SetMounts(Place, Box<Option<Mounts>>),
    /// End the sandboxes of that kind with all that is in them, and say when they are gone.
    EndSandboxes(Place, oneshot::Sender<()>),
    AcquireWorker(Place, oneshot::Sender<Result<WorkerHandle, String>>),
    /// A worker of an instance said something.
    Spoken(WorkerId, Spoken),
    /// Send a signal to all that a worker runs.
    Signal(WorkerId, Signal),
    /// Kill all that a worker runs; it is the so-manieth time.
    Kill(WorkerId, u32),
    /// Nobody wants that worker any more; what it runs is killed, unless it has said that nothing is left.
    Release(WorkerId, bool),
    /// Fetch a file from the server.
    Fetch(String, oneshot::Sender<Result<File, String>>),
    /// How much its processes have used.
    Measure(oneshot::Sender<Load>),
    /// Something happened that the server must hear of, in that generation.
    Answer(u64, Event),
    /// Something that it may hear.
    Say(ToServer),
}
