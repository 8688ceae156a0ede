//! The connections that only read.
//!
//! sqlx's own pool asks a connection whether it still lives each time it comes back. On SQLite that is a
//! second trip to the connection's thread, as expensive as most statements here; on PostgreSQL a second trip
//! over the network. This one keeps a connection whose statement came to its end and drops every other: one
//! that failed, and one whose caller went away in the middle of it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sqlx::any::{AnyArguments, AnyConnectOptions, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, ConnectOptions as _, Connection as _};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::Kind;
use super::open::{Access, prepare};

/// More would only wait for each other: reading here is a matter of microseconds.
const CONNECTIONS: usize = 4;

/// How long a statement waits for a free connection.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Readers {
    kind: Kind,
    options: AnyConnectOptions,
    turns: Semaphore,
    /// The one used last is used next, since its cache is warm.
    idle: Mutex<Vec<AnyConnection>>,
}

/// A connection in use. Dropped without [`Reading::done`], it is closed.
struct Reading<'a> {
    connection: AnyConnection,
    readers: &'a Readers,
    _turn: SemaphorePermit<'a>,
}

impl Readers {
    /// Makes the first connection; the others come when they are needed.
    pub async fn connect(kind: Kind, options: AnyConnectOptions) -> sqlx::Result<Self> {
        let readers = Self { kind, options, turns: Semaphore::new(CONNECTIONS), idle: Mutex::default() };
        readers.take().await?.done();
        Ok(readers)
    }

    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Runs a statement and gives all rows.
    pub async fn rows<'q>(&self, query: Query<'q, Any, AnyArguments<'q>>) -> sqlx::Result<Vec<AnyRow>> {
        let mut reading = self.take().await?;
        let rows = query.fetch_all(&mut reading.connection).await?;
        reading.done();
        Ok(rows)
    }

    /// Runs a statement and hands out its rows one by one, for those that are too many to hold at once.
    pub async fn each<'q>(
        &self,
        query: Query<'q, Any, AnyArguments<'q>>,
        mut take: impl FnMut(&AnyRow),
    ) -> sqlx::Result<()> {
        use futures_util::TryStreamExt as _;
        let mut reading = self.take().await?;
        let mut rows = query.fetch(&mut reading.connection);
        while let Some(row) = rows.try_next().await? {
            take(&row);
        }
        drop(rows);
        reading.done();
        Ok(())
    }

    /// Runs a statement and gives its first row, if it has one.
    pub async fn row<'q>(&self, query: Query<'q, Any, AnyArguments<'q>>) -> sqlx::Result<Option<AnyRow>> {
        let mut reading = self.take().await?;
        let row = query.fetch_optional(&mut reading.connection).await?;
        reading.done();
        Ok(row)
    }

    /// Closes all connections; from then on statements fail.
    pub async fn close(&self) {
        self.turns.close();
        let idle = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        for connection in idle {
            // Nothing was written, so nothing is lost if it does not say goodbye.
            let _ = connection.close().await;
        }
    }

    async fn take(&self) -> sqlx::Result<Reading<'_>> {
        let turn = tokio::time::timeout(PATIENCE, self.turns.acquire()).await.map_err(|_| sqlx::Error::PoolTimedOut)?;
        let turn = turn.map_err(|_| sqlx::Error::PoolClosed)?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => {
                let mut fresh = self.options.connect().await?;
                prepare(&mut fresh, self.kind, Access::Read).await?;
                fresh
            }
        };
        Ok(Reading { connection, readers: self, _turn: turn })
    }
}

impl Reading<'_> {
    /// Keeps the connection for the next statement.
    fn done(self) {
        if !self.readers.turns.is_closed() {
            self.readers.idle.lock().unwrap_or_else(PoisonError::into_inner).push(self.connection);
        }
    }
}
