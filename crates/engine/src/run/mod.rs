//! The loop: one task that owns the World.
//!
//! 1. Drain the inbox (orders, reports, what has become due) into a batch. What comes in while the batch
//!    before is being written makes the next one, so the busier it is the more goes into one commit.
//! 2. [`World::step`](atelier_domain::world::World::step) it, and write all that follows in one transaction,
//!    which begins by asking whether our epoch is still the newest.
//! 3. Only then answer, hand out the effects, tell live pages.
//!
//! Whatever goes wrong between 1 and 3 – a failed statement, a commit of which nobody knows how it ended, a
//! panic in a rule – has one remedy: the World is thrown away and loaded from the store, and callers are told
//! to ask again with the same id.

mod catalogue;
mod disk;
mod event;
mod handle;
mod over;
mod status;
mod time;
mod turn;

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::Arc;
use std::time::Duration;

use atelier_domain::time::Span;
use atelier_domain::world::World;
pub use catalogue::Catalogue;
pub use disk::{DiskOptions, FreeSpace, make_room};
pub use handle::{CommandId, EngineHandle, NewOrder, OrderError, Payload};
pub use over::JobOver;
pub use status::{Phase, Status, Turn};
pub use time::{Clock, MachineClock};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use self::disk::Disk;
use self::over::Waiters;
use self::time::EngineTime;
use self::turn::Loop;
use crate::hands::Hands;
use crate::store::{self, Keep, Store};

/// What may be set about the loop.
#[derive(Clone, Debug)]
pub struct Options {
    /// Messages that may wait; whoever comes then waits at the door.
    pub inbox: usize,
    /// Inputs in one batch.
    pub batch: usize,
    /// How long things are kept.
    pub keep: Keep,
    /// How often old things are looked for.
    pub prune_every: Duration,
    /// How often all records are kept at once, to begin a replay with.
    pub snapshot_every: Span,
    /// A World with more records is not kept at once.
    pub snapshot_most: usize,
    /// Watching the disk of an embedded database.
    pub disk: DiskOptions,
    /// The lock of the data directory, if it was taken before the store was opened.
    pub lock: Option<DataLock>,
    /// What becomes of commits, for tests.
    pub commits: Option<CommitFault>,
}

/// Holds the lock file of a data directory. The system gives it back when the process ends, however it ends.
#[derive(Clone, Debug)]
pub struct DataLock {
    _file: Arc<File>,
}

impl DataLock {
    /// Takes the lock, before anything there is touched: a second server must not even bring the database up
    /// to date.
    pub fn take(folder: &std::path::Path) -> Result<Self, StartError> {
        let path = folder.join("engine.lock");
        let cannot = |error| StartError::Lock(path.display().to_string(), error);
        let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(&path).map_err(cannot)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: Arc::new(file) }),
            Err(std::fs::TryLockError::WouldBlock) => Err(StartError::Locked(folder.display().to_string())),
            Err(std::fs::TryLockError::Error(error)) => Err(cannot(error)),
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            inbox: 4_096,
            batch: 1_024,
            keep: Keep::default(),
            prune_every: Duration::from_secs(60),
            snapshot_every: Span::hours(24),
            snapshot_most: 50_000,
            disk: DiskOptions::default(),
            lock: None,
            commits: None,
        }
    }
}

/// Makes commits fail, for tests: asked before each one.
#[derive(Clone)]
pub struct CommitFault(pub Arc<dyn Fn() -> Commit + Send + Sync>);

impl std::fmt::Debug for CommitFault {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("CommitFault")
    }
}

/// What becomes of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// As it should be.
    Works,
    /// It never happens.
    Fails,
    /// It happens, and its answer gets lost.
    IsUncertain,
}

/// Why the loop cannot be started. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another server works on the same data.
    #[error(
        "another Atelier server works on the data in {0}: it holds the file engine.lock there. Stop it first, or \
         choose another directory with --data"
    )]
    Locked(String),
    /// The lock file cannot be made.
    #[error("the file {0} cannot be made: {1}")]
    Lock(String, std::io::Error),
    #[error("the engine's records could not be loaded: {0}")]
    Store(#[from] store::Error),
}

/// The engine. See the module's page.
#[derive(Debug)]
pub struct Engine;

impl Engine {
    /// Takes the lock and the next epoch, loads the World and starts the loop.
    pub async fn start(
        store: Arc<Store>,
        hands: impl Hands,
        clock: impl Clock,
        options: Options,
    ) -> Result<(EngineHandle, JoinHandle<()>), StartError> {
        let lock = match (&options.lock, store.folder()) {
            (Some(lock), _) => Some(lock.clone()),
            (None, Some(folder)) => Some(DataLock::take(folder)?),
            (None, None) => None,
        };
        let engine = format!("{:032x}", rand::random::<u128>());
        let epoch = store.take_epoch(&engine, None).await?.unwrap_or_default();
        let loaded = store.load_engine().await?;
        let time = EngineTime::going_on(Arc::new(clock), loaded.previous.as_ref());
        let now = time.now();
        let world = World::load(loaded.records, now);
        let disk = match store.folder() {
            Some(folder) => Some(Disk::watch(folder, options.disk.clone()).await),
            None => None,
        };
        let (sender, inbox) = mpsc::channel(options.inbox.max(1));
        let (stop, stopping) = watch::channel(false);
        let status = watch::Sender::new(Status::starting(epoch, &world));
        let catalogue = watch::Sender::new(Arc::new(Catalogue::of(&world)));
        let waiters = Waiters::default();
        let handle =
            EngineHandle::new(sender, Arc::new(stop), status.subscribe(), catalogue.subscribe(), waiters.clone());
        let it = Loop {
            store,
            hands: Box::new(hands),
            time,
            options,
            inbox,
            stopping,
            status,
            catalogue,
            waiters,
            world,
            engine,
            epoch,
            last_wall: now.wall,
            disk,
            _lock: lock,
            wake: None,
            wake_wall: None,
            acted: loaded.previous.as_ref().map(|previous| previous.mono),
            loaded: Some(now),
            snapshot_at: loaded.snapshot_at,
            prune_at: Duration::ZERO,
            careful: 0,
            workspaces: HashSet::new(),
        };
        Ok((handle, tokio::spawn(it.run())))
    }
}
