//! A part of a job, as the agent holds it.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use atelier_domain::world::{AllocationKey, Exit};
use atelier_protocol::Start;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::AbortHandle;

use super::Happening;
use crate::log::Log;
use crate::sandbox::{SandboxId, WorkerId};

/// How far a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Waits for room on the node.
    Queued,
    /// Waits for its files.
    Fetching,
    /// Waits for a worker.
    Waiting(SandboxId),
    /// Its worker has it already, and still runs another part. It has no room of its own yet.
    Next(WorkerId),
    /// Its worker puts so many of its files in place.
    Filling(WorkerId, usize),
    /// Its process runs, or is just about to.
    Running(WorkerId),
    /// Nothing of it runs.
    Over,
}

/// A part that is being ended.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// From then on its processes are killed.
    pub kill_at: Instant,
    /// When that is tried next.
    pub next: Instant,
    /// How often it was tried.
    pub rounds: u32,
    /// Whether it ran too long.
    pub is_timeout: bool,
    /// Its processes are asked to end once the notice lies in its folder, or then.
    pub asked_by: Option<Instant>,
}

/// Why a part is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Told,
    /// Its node is taken back: it goes on elsewhere.
    Preempted,
    /// It ran too long.
    TooLong,
}

/// A part of a job, until the server has heard that it is off.
#[derive(Debug)]
pub struct Held {
    pub start: Box<Start>,
    /// How far it is.
    pub stage: Stage,
    pub log: Log,
    /// Where that comes from.
    pub pipe: Option<Pipe>,
    /// Whether it waits for its turn to send.
    pub is_in_line: bool,
    /// The room it has: which GPUs.
    pub gpus: Option<Vec<u64>>,
    /// When its output is looked after in any case: a job can stop its worker before that says that it runs.
    pub watch_at: Option<Instant>,
    /// When it has run too long.
    pub too_long_at: Option<Instant>,
    /// Whether and how it is being ended.
    pub ending: Option<Ending>,
    /// Whether the server has asked for it back while it was next: it goes back if it does not begin.
    pub is_wanted_back: bool,
    /// How it ended, once it has.
    pub exit: Option<Exit>,
    /// Whether that was said before all output was sent.
    pub is_exit_said: bool,
    /// Whether that it is off is in the outbox.
    pub is_off: bool,
}

impl Held {
    /// A part that just came.
    pub const fn new(start: Box<Start>, log: Log) -> Self {
        Self {
            start,
            stage: Stage::Queued,
            log,
            pipe: None,
            is_in_line: false,
            gpus: None,
            watch_at: None,
            too_long_at: None,
            ending: None,
            is_wanted_back: false,
            exit: None,
            is_exit_said: false,
            is_off: false,
        }
    }
}

/// The reading end of a job's output.
#[derive(Debug)]
pub enum Pipe {
    /// Nobody watches it yet: most jobs are over before that is worth it.
    Still(OwnedFd),
    /// The loop is told when there is something to read.
    Watched {
        pipe: Arc<Receiver>,
        /// Everything was read; watch again.
        resume: Arc<Notify>,
        _task: Watcher,
    },
}

/// A task that ends with whoever wanted it.
#[derive(Debug)]
pub struct Watcher(AbortHandle);

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Pipe {
    pub fn watch(self, part: AllocationKey, inbox: UnboundedSender<Happening>) -> std::io::Result<Self> {
        let Self::Still(pipe) = self else { return Ok(self) };
        // A larger pipe means fewer turns for those who print a lot. Where it is not allowed, the usual size
        // does.
        let _ = rustix::pipe::fcntl_setpipe_size(&pipe, 256 << 10);
        let pipe = Arc::new(Receiver::from_owned_fd(pipe)?);
        let resume = Arc::new(Notify::new());
        let (watched, resumed) = (Arc::clone(&pipe), Arc::clone(&resume));
        let task = tokio::spawn(async move {
            while watched.readable().await.is_ok() {
                if inbox.send(Happening::Readable(part)).is_err() {
                    return;
                }
                resumed.notified().await;
            }
        });
        Ok(Self::Watched { pipe, resume, _task: Watcher(task.abort_handle()) })
    }

    /// Reads what there is; `None` if there is nothing now.
    pub fn read(&self, buffer: &mut [u8]) -> std::io::Result<Option<usize>> {
        let read = match self {
            Self::Still(pipe) => rustix::io::retry_on_intr(|| rustix::io::read(pipe, &mut *buffer)).map_err(Into::into),
            Self::Watched { pipe, .. } => pipe.try_read(buffer),
        };
        match read {
            Ok(count) => Ok(Some(count)),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All was read; tell when there is more.
    pub fn resume(&self) {
        if let Self::Watched { resume, .. } = self {
            resume.notify_one();
        }
    }
}
