//! Changes: one transaction, one revision, its history, and then the news.

use std::collections::BTreeSet;

use atelier_domain::history::{Actor, Event, Subject, Topic};
use atelier_domain::{Timestamp, WorkspaceId};
use sqlx::{Any, Transaction};
use tokio::sync::MutexGuard;

use super::sql::Sql;
use super::{Result, Store};

/// Who makes a change, from which request, and why.
#[derive(Clone, Debug)]
pub struct Author {
    pub actor: Actor,
    /// The id of the request, if there is one.
    pub request: String,
    /// The reason that was given.
    pub why: Option<String>,
}

/// A change in the making. Dropped without [`WriteTx::commit`], nothing happened.
pub struct WriteTx<'store> {
    pub(super) tx: Transaction<'static, Any>,
    store: &'store Store,
    _in_line: MutexGuard<'store, ()>,
    pub(super) revision: i64,
    ordinal: i64,
    pub(super) topics: BTreeSet<Topic>,
    now: Timestamp,
}

impl Store {
    /// Starts a change. Takes the next revision at once, which on PostgreSQL holds every other writer back.
    pub async fn begin(&self, now: Timestamp) -> Result<WriteTx<'_>> {
        let in_line = self.write_lock.lock().await;
        let mut tx = self.writer.begin().await?;
        let revision: i64 = sqlx::query_scalar("update installation set revision = revision + 1 returning revision")
            .fetch_one(&mut *tx)
            .await?;
        Ok(WriteTx { tx, store: self, _in_line: in_line, revision, ordinal: 0, topics: BTreeSet::new(), now })
    }

    /// Runs a statement that takes no revision, since nobody waits for it. Says how many rows it changed.
    pub(super) async fn write(&self, sql: Sql) -> Result<u64> {
        let _in_line = self.write_lock.lock().await;
        sql.run(&mut *self.writer.acquire().await?).await
    }

    /// The same for several, in one transaction.
    pub(super) async fn write_all(&self, statements: Vec<Sql>) -> Result<()> {
        if statements.is_empty() {
            return Ok(());
        }
        let _in_line = self.write_lock.lock().await;
        let mut tx = self.writer.begin().await?;
        for sql in statements {
            sql.run(&mut tx).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Starts a change whose first statement, yet to come, takes the next revision.
    pub(super) async fn begin_unnumbered(&self, now: Timestamp) -> Result<WriteTx<'_>> {
        let in_line = self.write_lock.lock().await;
        let tx = self.writer.begin().await?;
        Ok(WriteTx { tx, store: self, _in_line: in_line, revision: 0, ordinal: 0, topics: BTreeSet::new(), now })
    }
}

impl WriteTx<'_> {
    /// The time for which this change is made.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Which database it is made in.
    pub(super) const fn kind(&self) -> super::Kind {
        self.store.kind
    }

    /// The revision that this change will be.
    pub(crate) const fn revision(&self) -> i64 {
        self.revision
    }

    /// Adds an event to the history, in this transaction.
    pub async fn record(
        &mut self,
        workspace: &WorkspaceId,
        author: &Author,
        subject: Option<&Subject>,
        event: &Event,
    ) -> Result<()> {
        let sentence = event.sentence(subject);
        let why = author.why.clone().unwrap_or_default();
        let actor_name = author.actor.name();
        let search_key = format!("{actor_name} {sentence} {why}").to_lowercase();
        let actor_id = match &author.actor {
            Actor::Person { id, .. } => id.as_str(),
            Actor::Console | Actor::System => "",
        };
        let json = serde_json::to_string(event)
            .map_err(|error| super::Error::Unreadable { what: "an event", value: error.to_string() })?;
        Sql::insert("history")
            .set("revision", self.revision)
            .set("ordinal", self.ordinal)
            .set("workspace_id", workspace)
            .set("at", self.now)
            .set("actor_id", actor_id)
            .set("actor_name", actor_name)
            .set("subject_id", subject.map_or("", |subject| subject.id.as_str()))
            .set("kind", event.key())
            .set("event", json)
            .set("sentence", sentence)
            .set("search_key", search_key)
            .set("why", why)
            .set("request", author.request.as_str())
            .set("instance", event.instance().unwrap_or_default())
            .run(&mut self.tx)
            .await?;
        self.ordinal += 1;
        self.topics.extend(event.topics());
        Ok(())
    }

    /// Makes the change durable and tells live pages. Only after this may a caller be answered.
    pub async fn commit(self) -> Result<i64> {
        self.tx.commit().await?;
        self.store.live.publish(self.revision, self.topics);
        Ok(self.revision)
    }
}
