//! The store: SQLite by default, PostgreSQL when asked for, with the same portable statements.
//!
//! Ground rules:
//! - one write connection, guarded by a lock, and a pool that only reads: SQLite has one writer anyway, and
//!   PostgreSQL gains the same order of events;
//! - what people can see changes only through [`WriteTx`], which takes the next revision first. On PostgreSQL
//!   that row is locked by it until the commit, so changes of two servers never interleave;
//! - one file per noun, rows stay private, domain types go in and out.

mod agents;
mod answers;
mod app_sessions;
mod apps;
mod base_environment;
mod cluster_counts;
mod decisions;
mod engine;
mod files;
mod history;
mod installation;
mod jobs;
mod ledger;
mod migrations;
mod named;
mod named_environments;
mod open;
mod people;
mod readers;
mod restore;
mod sessions;
mod sharing;
mod sign_in_failures;
mod spending;
mod sql;
mod ssh;
mod token_scopes;
mod tokens;
mod uploads;
mod write;

pub use agents::{Admission, LocalUser};
pub use app_sessions::AppSession;
pub use base_environment::BaseEnvironment;
pub use cluster_counts::NodeCounts;
pub use decisions::{DecisionEntry, DecisionFilter, PowerChange};
pub(crate) use engine::{Answered, BatchRow, CommandRow, Trace, json};
pub use engine::{Keep, Known, Loaded, Moment, Previous, Replay, ReplayError, Which};
pub use files::{FileOwner, KeptOutputs};
pub use history::{HistoryEntry, HistoryFilter};
pub use installation::{FirstAccount, Workspace};
pub use jobs::{JobFilter, JobLine, JobRow};
pub use ledger::ledger_name;
pub use named_environments::{BuildRow, EnvironmentVersion, KeptState, NamedEnvironment, NewVersion};
pub use open::{Missing, OpenError};
pub use people::{Account, NewAccount, PeopleFilter, PeopleOrder, Person, SeenAt};
pub use sessions::{WebSession, WebSessionInfo};
pub use sharing::{NewShare, ShareKey, SharedApp};
pub use spending::{SERVERLESS, SpendBy, SpendFilter};
use sqlx::AnyPool;
use sqlx::any::AnyPoolOptions;
pub use ssh::SshKey;
pub use tokens::Token;
use tokio::sync::Mutex;
pub use write::{Author, WriteTx};

use self::readers::Readers;
use crate::live::Live;

/// Which database is behind the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    Postgres,
}

/// What went wrong in the store, for the log; people see a request id.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("database: {0}")]
    Database(#[from] sqlx::Error),
    /// A row holds something that this version cannot read.
    #[error("the row of {what} holds {value:?}, which this version cannot read")]
    Unreadable { what: &'static str, value: String },
    /// Something unique exists already.
    #[error("{0} exists already")]
    Taken(&'static str),
}

impl Error {
    /// Whether the database itself is away, so that the same request may work in a moment.
    pub fn is_away(&self) -> bool {
        let Self::Database(error) = self else { return false };
        match error {
            sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::WorkerCrashed => true,
            // Connections that break (08), a server that starts or stops (57P), one that has no connection
            // left.
            sqlx::Error::Database(error) => error.code().is_some_and(|code| {
                code.len() == 5 && (code.starts_with("08") || code.starts_with("57P") || code == "53300")
            }),
            _ => false,
        }
    }
}

/// The result of a store call.
pub type Result<T> = std::result::Result<T, Error>;

/// A connected store. Cheap to share behind an `Arc`.
#[derive(Debug)]
pub struct Store {
    kind: Kind,
    /// A pool of one, so that a broken connection is replaced; the lock keeps callers in line without a
    /// time-out.
    writer: AnyPool,
    write_lock: Mutex<()>,
    reader: Readers,
    live: Live,
    folder: Option<std::path::PathBuf>,
    marks: std::sync::OnceLock<std::sync::Arc<crate::marks::MarksFile>>,
    /// Which users of the system people get; those of a new installation if nobody says otherwise.
    uids: std::sync::OnceLock<atelier_domain::uids::Uids>,
}

impl Store {
    /// Which database this is.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The directory of the embedded database; none for a server's.
    pub fn folder(&self) -> Option<&std::path::Path> {
        self.folder.as_deref()
    }

    /// The hub that hears of every change.
    pub const fn live(&self) -> &Live {
        &self.live
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<()> {
        sql::Sql::new("select 1").row(&self.reader).await?;
        Ok(())
    }

    /// Lets an embedded database grow to so many pages and no further, as a full disk would. For tests.
    #[doc(hidden)]
    pub async fn limit_pages(&self, pages: u32) -> Result<()> {
        let _in_line = self.write_lock.lock().await;
        sqlx::query(&format!("pragma max_page_count = {pages}")).execute(&self.writer).await?;
        Ok(())
    }

    /// Closes all connections; on SQLite this also folds the write-ahead log back into the file.
    pub async fn close(&self) {
        self.reader.close().await;
        let _waits_for_the_last_write = self.write_lock.lock().await;
        self.writer.close().await;
    }
}

fn pool_options() -> AnyPoolOptions {
    AnyPoolOptions::new().idle_timeout(None).max_lifetime(None).test_before_acquire(false)
}
