//! Writing a batch, and what was answered before.

use std::collections::HashMap;

use atelier_domain::WorkspaceId;
use atelier_domain::time::{Now, Timestamp};
use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::many::{Many, run};
use super::trace::{Trace, json};
use crate::store::sql::{Columns as _, Record as _, Sql, record};
use crate::store::{Kind, Result, Store, WriteTx};

/// A command that was answered before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// A hash of the order, so that an id is not used for two.
    pub digest: String,
    /// The answer as JSON.
    pub answer: String,
}

/// A command that is answered by this batch.
#[derive(Debug)]
pub(crate) struct CommandRow<'a> {
    pub workspace: &'a str,
    pub id: &'a str,
    pub digest: &'a str,
    pub answer: String,
    /// What the job runs that this command made.
    pub payload: Option<(u64, &'a crate::run::Payload)>,
}

/// A batch as it is kept for a replay.
#[derive(Debug)]
pub(crate) struct BatchRow<'a> {
    pub epoch: i64,
    pub now: Now,
    pub boot: &'a str,
    pub uptime: i64,
    pub is_load: bool,
    pub inputs: String,
}

impl Store {
    /// Takes the next epoch: whoever had one before cannot write any more. With `only`, only if that is the
    /// present one, or if the present one was taken by the same engine and the answer got lost. Waits for a
    /// change that is being committed, so what is read after this is what there is.
    pub(crate) async fn take_epoch(&self, engine: &str, only: Option<i64>) -> Result<Option<i64>> {
        let _in_line = self.write_lock.lock().await;
        // In a transaction, so that its end is heard: a statement alone is made durable only after its row
        // was read, and on a full disk it then is not, without a word.
        let mut tx = self.writer.begin().await?;
        let sql = Sql::new("update installation set epoch = epoch + 1, engine = ?").bind(engine);
        let sql = sql.and("(epoch = ? or ? < 0 or engine = ?)");
        let only = only.unwrap_or(-1);
        let taken = sql.bind(only).bind(only).bind(engine).push(" returning epoch").value(&mut *tx).await?;
        tx.commit().await?;
        Ok(taken)
    }

    /// The mark of the engine that took the newest epoch.
    pub(crate) async fn newest_engine(&self) -> Result<String> {
        let _in_line = self.write_lock.lock().await;
        Ok(sqlx::query_scalar("select engine from installation").fetch_one(&self.writer).await?)
    }

    /// Which of these commands were answered before, without writing anything.
    pub(crate) async fn answered(&self, ids: &[&str]) -> Result<Answered> {
        let mut answered = Answered::new();
        for ids in ids.chunks(1_024) {
            for row in look_up(ids).rows(&self.reader).await? {
                add(&mut answered, &row)?;
            }
        }
        Ok(answered)
    }

    /// Starts a batch, if nobody took a newer epoch, and looks up which of these commands were answered
    /// before. The epoch is asked for with the first statement, so an engine that was replaced finds out
    /// before it does anything.
    pub(crate) async fn begin_batch(
        &self,
        now: Timestamp,
        epoch: i64,
        ids: &[&str],
    ) -> Result<Option<(WriteTx<'_>, Answered)>> {
        let take = Sql::new("update installation set revision = revision + 1");
        let take = take.eq("epoch", epoch).push(" returning revision");
        let mut tx = self.begin_unnumbered(now).await?;
        let (mut revision, mut answered) = (None, Answered::new());
        let rows = match self.kind() {
            // Both with one trip to its thread.
            Kind::Sqlite if !ids.is_empty() => take.then(look_up(ids)).rows(&mut tx.tx).await?,
            _ => {
                revision = take.value(&mut tx.tx).await?;
                if ids.is_empty() { Vec::new() } else { look_up(ids).rows(&mut tx.tx).await? }
            }
        };
        for row in rows {
            if row.len() == 1 {
                revision = Some(row.read("revision")?);
            } else {
                add(&mut answered, &row)?;
            }
        }
        Ok(revision.map(|revision| {
            tx.revision = revision;
            (tx, answered)
        }))
    }
}

/// What commands were answered, by workspace and id.
pub(crate) type Answered = HashMap<(String, String), Known>;

record!(Known { digest: "digest", answer: "answer" });

/// The list is filled up with its last id, so that there are few different texts.
fn look_up(ids: &[&str]) -> Sql {
    let fill = ids.last().into_iter().cycle().take(ids.len().next_power_of_two() - ids.len());
    Sql::select("workspace_id, id, digest, answer", "commands").within("id", ids.iter().chain(fill).copied())
}

fn add(answered: &mut Answered, row: &AnyRow) -> Result<()> {
    answered.insert((row.read("workspace_id")?, row.read("id")?), Known::read(row)?);
    Ok(())
}

impl WriteTx<'_> {
    /// Whether there is such a workspace.
    pub(crate) async fn has_workspace(&mut self, id: &WorkspaceId) -> Result<bool> {
        Ok(Sql::select("1", "workspaces").eq("id", id).row(&mut self.tx).await?.is_some())
    }

    /// Writes all that a batch leaves behind.
    pub(crate) async fn write_batch(
        &mut self,
        trace: &Trace,
        batch: BatchRow<'_>,
        commands: Vec<CommandRow<'_>>,
        snapshot: Option<&str>,
    ) -> Result<()> {
        let (kind, revision, now) = (self.kind(), self.revision, batch.now);
        self.topics.extend(&trace.topics);
        let mut answered = Many::new("commands");
        let mut payloads = Many::new("job_payloads");
        for command in commands {
            if let Some((job, payload)) = command.payload {
                let tags = json(&payload.tags);
                payloads.push([
                    ("job_id", job.into()),
                    ("name", payload.name.as_str().into()),
                    ("tags", tags.into()),
                    ("body", payload.body.as_str().into()),
                    ("keep_in", payload.keep_in.as_str().into()),
                ]);
            }
            answered.push([
                ("workspace_id", command.workspace.into()),
                ("id", command.id.into()),
                ("mono", now.mono.0.into()),
                ("revision", revision.into()),
                ("digest", command.digest.into()),
                ("answer", command.answer.into()),
            ]);
        }
        let mut batches = Many::new("batches");
        batches.push([
            ("revision", revision.into()),
            ("epoch", batch.epoch.into()),
            ("wall", now.wall.0.into()),
            ("mono", now.mono.0.into()),
            ("boot", batch.boot.into()),
            ("uptime", batch.uptime.into()),
            ("is_load", i64::from(batch.is_load).into()),
            ("inputs", batch.inputs.into()),
            ("outcome", trace.hash.as_str().into()),
        ]);
        let mut snapshots = Many::new("snapshots");
        if let Some(records) = snapshot {
            snapshots.push([
                ("revision", revision.into()),
                ("wall", now.wall.0.into()),
                ("mono", now.mono.0.into()),
                ("records", records.into()),
            ]);
        }
        let mut statements = Vec::new();
        trace.statements(kind, &mut statements);
        for table in [&answered, &payloads, &batches, &snapshots] {
            table.statements(kind, &mut statements);
        }
        run(kind, &mut self.tx, &statements).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Missing;

    #[tokio::test]
    async fn an_engine_whose_answer_got_lost_finds_its_own_mark() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open_sqlite(&folder.path().join("atelier.db"), Missing::Make).await.expect("opens");
        let first = store.take_epoch("one", None).await.expect("takes").expect("always");
        // Taken again with the epoch before it: the answer to the first never arrived.
        assert_eq!(store.take_epoch("one", Some(first - 1)).await.expect("takes"), Some(first + 1));
        // Another engine came in between: this one is fenced, whatever it remembers.
        assert_eq!(store.take_epoch("two", None).await.expect("takes"), Some(first + 2));
        assert_eq!(store.take_epoch("one", Some(first + 1)).await.expect("takes"), None);
        store.close().await;
    }
}
