//! Writing a batch, and what was answered before.

use std::collections::HashMap;

use atelier_domain::WorkspaceId;
use atelier_domain::time::{Now, Timestamp};
use sqlx::Row as _;

use super::many::{Cell, Many, bind, in_list, run};
use super::trace::{Trace, json};
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
        // In a transaction, so that its end is heard: a statement alone is made durable only after its row was
        // read, and on a full disk it then is not, without a word.
        let mut tx = self.writer.begin().await?;
        let text = "update installation set epoch = epoch + 1, engine = $2 where epoch = $1 or $1 < 0 or engine = $2 \
                    returning epoch";
        let query = sqlx::query_scalar(text).bind(only.unwrap_or(-1)).bind(engine);
        let taken = query.fetch_optional(&mut *tx).await?;
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
        let cells: Vec<Cell> = ids.iter().map(|id| Cell::from(*id)).collect();
        let mut answered = Answered::new();
        for some in cells.chunks(1_024) {
            let look = "select workspace_id, id, digest, answer from commands where id in ";
            let text = in_list(look, self.kind(), some.len());
            for row in self.reader.rows(bind(sqlx::query(&text), some)).await? {
                answered.insert((row.get(0), row.get(1)), Known { digest: row.get(2), answer: row.get(3) });
            }
        }
        Ok(answered)
    }
}

/// What commands were answered, by workspace and id.
pub(crate) type Answered = HashMap<(String, String), Known>;

impl Store {
    /// Starts a batch, if nobody took a newer epoch, and looks up which of these commands were answered
    /// before. The epoch is asked for with the first statement, so an engine that was replaced finds out
    /// before it does anything.
    pub(crate) async fn begin_batch(
        &self,
        now: Timestamp,
        epoch: i64,
        ids: &[&str],
    ) -> Result<Option<(WriteTx<'_>, Answered)>> {
        let take = "update installation set revision = revision + 1 where epoch = ";
        let look = "select workspace_id, id, digest, answer from commands where id in ";
        let mut tx = self.begin_unnumbered(now).await?;
        let mut revision: Option<i64> = None;
        let mut answered = Answered::new();
        let mut cells: Vec<Cell> = Vec::with_capacity(ids.len() + 1);
        if self.kind() == Kind::Postgres || ids.is_empty() {
            let text = format!("{take}$1 returning revision");
            revision = sqlx::query_scalar(&text).bind(epoch).fetch_optional(&mut *tx.tx).await?;
        } else {
            cells.push(epoch.into());
        }
        cells.extend(ids.iter().map(|id| Cell::from(*id)));
        // Filled up with the last one, so that there are few different texts.
        let full = ids.len().next_power_of_two() - ids.len();
        if let Some(last) = ids.last() {
            cells.extend((0..full).map(|_| Cell::from(*last)));
            let text = match self.kind() {
                Kind::Sqlite => format!("{take}? returning revision;{}", in_list(look, self.kind(), ids.len() + full)),
                Kind::Postgres => in_list(look, self.kind(), ids.len() + full),
            };
            for row in bind(sqlx::query(&text), &cells).fetch_all(&mut *tx.tx).await? {
                if row.len() == 1 {
                    revision = Some(row.get(0));
                } else {
                    answered.insert((row.get(0), row.get(1)), Known { digest: row.get(2), answer: row.get(3) });
                }
            }
        }
        Ok(revision.map(|revision| {
            tx.revision = revision;
            (tx, answered)
        }))
    }
}

impl WriteTx<'_> {
    /// Whether there is such a workspace.
    pub(crate) async fn has_workspace(&mut self, id: &WorkspaceId) -> Result<bool> {
        let text = "select cast(1 as bigint) from workspaces where id = $1";
        let found = sqlx::query(text).bind(id.as_str()).fetch_optional(&mut *self.tx).await?;
        Ok(found.is_some())
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
        let mut answered =
            Many::new("insert into commands (workspace_id, id, mono, revision, digest, answer) values", 6, "");
        let mut payloads = Many::new("insert into job_payloads (job_id, name, tags, body, keep_in) values", 5, "");
        for command in commands {
            if let Some((job, payload)) = command.payload {
                let tags = json(&payload.tags);
                payloads.push([
                    job.into(),
                    payload.name.as_str().into(),
                    tags.into(),
                    payload.body.as_str().into(),
                    payload.keep_in.as_str().into(),
                ]);
            }
            answered.push([
                command.workspace.into(),
                command.id.into(),
                now.mono.0.into(),
                revision.into(),
                command.digest.into(),
                command.answer.into(),
            ]);
        }
        let mut batches = Many::new(
            "insert into batches (revision, epoch, wall, mono, boot, uptime, is_load, inputs, outcome) values",
            9,
            "",
        );
        batches.push([
            revision.into(),
            batch.epoch.into(),
            now.wall.0.into(),
            now.mono.0.into(),
            batch.boot.into(),
            batch.uptime.into(),
            i64::from(batch.is_load).into(),
            batch.inputs.into(),
            trace.hash.as_str().into(),
        ]);
        let mut snapshots = Many::new("insert into snapshots (revision, wall, mono, records) values", 4, "");
        if let Some(records) = snapshot {
            snapshots.push([revision.into(), now.wall.0.into(), now.mono.0.into(), records.into()]);
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
