//! The engine's own connection to SQLite.
//!
//! SQLite runs in a thread of its own, and a trip there and back takes longer than most statements. sqlx's
//! pool and its transactions make four such trips around a change: begin, commit, its acknowledgement, and a
//! question whether the connection still lives. Here `begin` travels with the first statements of a batch and
//! `commit` with the last, so that a small batch takes two trips.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, ConnectOptions as _, Connection as _, Executor as _};

use crate::store::Kind;
use crate::store::open::{Access, prepare};

/// Used by whoever holds the store's write lock.
#[derive(Debug)]
pub(in crate::store) struct EngineConnection {
    options: AnyConnectOptions,
    idle: Mutex<Option<AnyConnection>>,
}

impl EngineConnection {
    pub const fn new(options: AnyConnectOptions) -> Self {
        Self { options, idle: Mutex::new(None) }
    }

    fn idle(&self) -> Option<AnyConnection> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Takes the connection; makes it if there is none.
    pub async fn take(&self) -> sqlx::Result<Taken<'_>> {
        let connection = match self.idle() {
            Some(connection) => connection,
            None => {
                let mut fresh = self.options.connect().await?;
                prepare(&mut fresh, Kind::Sqlite, Access::Write).await?;
                fresh
            }
        };
        Ok(Taken { connection, home: self })
    }

    /// Closes it; the next to take it makes a new one.
    pub async fn close(&self) {
        if let Some(connection) = self.idle() {
            // Whatever was committed is durable, whether it says goodbye or not.
            let _ = connection.close().await;
        }
    }
}

/// The connection in use. Dropped without [`Taken::done`] it is closed, which rolls back what it has begun.
pub(in crate::store) struct Taken<'store> {
    connection: AnyConnection,
    home: &'store EngineConnection,
}

impl Taken<'_> {
    /// Keeps the connection for the next batch: no transaction is open on it.
    pub fn done(self) {
        *self.home.idle.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.connection);
    }

    /// Takes back what was begun, and keeps the connection.
    pub async fn roll_back(mut self) -> sqlx::Result<()> {
        self.connection.execute("rollback").await?;
        self.done();
        Ok(())
    }
}

impl Deref for Taken<'_> {
    type Target = AnyConnection;

    fn deref(&self) -> &AnyConnection {
        &self.connection
    }
}

impl DerefMut for Taken<'_> {
    fn deref_mut(&mut self) -> &mut AnyConnection {
        &mut self.connection
    }
}
