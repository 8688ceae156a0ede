//! Writing a batch, and what was answered before.

use std::collections::HashMap;

use atelier_domain::time::Now;
use sqlx::Row as _;

use super::many::{Cell, Many, bind, in_list};
use super::trace::Trace;
use crate::store::{Result, Store, WriteTx};

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
    pub payload: Option<(u64, &'a str)>,
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
    pub outcome: &'a str,
}

impl Store {
    /// Takes the next epoch: whoever had one before cannot write any more. With `only`, only if that is the present one.
    /// Waits for a change that is being committed, so what is read after this is what there is.
    pub(crate) async fn take_epoch(&self, only: Option<i64>) -> Result<Option<i64>> {
        let _in_line = self.write_lock.lock().await;
        let epoch =
            sqlx::query_scalar("update installation set epoch = epoch + 1 where epoch = $1 or $1 < 0 returning epoch")
                .bind(only.unwrap_or(-1))
                .fetch_optional(&self.writer)
                .await?;
        Ok(epoch)
    }
}

impl WriteTx<'_> {
    /// Which of these commands were answered before, by workspace and id.
    pub(crate) async fn answered(&mut self, ids: &[(&str, &str)]) -> Result<HashMap<(String, String), Known>> {
        let mut found = HashMap::new();
        let cells: Vec<Cell> = ids.iter().map(|(_, id)| (*id).into()).collect();
        for some in cells.chunks(8_192) {
            let head = "select workspace_id, id, digest, answer from commands where id in ";
            let text = in_list(head, self.kind(), some.len());
            for row in bind(sqlx::query(&text), some).fetch_all(&mut *self.tx).await? {
                found.insert((row.get(0), row.get(1)), Known { digest: row.get(2), answer: row.get(3) });
            }
        }
        Ok(found)
    }

    /// Writes all that a batch leaves behind.
    pub(crate) async fn write_batch(
        &mut self,
        trace: &Trace,
        batch: &BatchRow<'_>,
        commands: Vec<CommandRow<'_>>,
    ) -> Result<()> {
        let kind = self.kind();
        self.topics.extend(&trace.topics);
        trace.write(kind, &mut self.tx).await?;
        let mut answered =
            Many::new("insert into commands (workspace_id, id, at, revision, digest, answer) values", 6, "");
        let mut payloads = Many::new("insert into job_payloads (job_id, body) values", 2, "");
        for command in commands {
            if let Some((job, body)) = command.payload {
                payloads.push([job.into(), body.into()]);
            }
            answered.push([
                command.workspace.into(),
                command.id.into(),
                batch.now.wall.0.into(),
                self.revision.into(),
                command.digest.into(),
                command.answer.into(),
            ]);
        }
        answered.write(kind, &mut self.tx).await?;
        payloads.write(kind, &mut self.tx).await?;
        sqlx::query(
            "insert into batches (revision, epoch, wall, mono, boot, uptime, is_load, inputs, outcome) \
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        )
        .bind(self.revision)
        .bind(batch.epoch)
        .bind(batch.now.wall.0)
        .bind(i64::try_from(batch.now.mono.0).unwrap_or(i64::MAX))
        .bind(batch.boot)
        .bind(batch.uptime)
        .bind(i64::from(batch.is_load))
        .bind(batch.inputs.as_str())
        .bind(batch.outcome)
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    /// Keeps all records as they are before this batch.
    pub(crate) async fn write_snapshot(&mut self, now: Now, records: &str) -> Result<()> {
        sqlx::query("insert into snapshots (revision, wall, mono, records) values ($1, $2, $3, $4)")
            .bind(self.revision)
            .bind(now.wall.0)
            .bind(i64::try_from(now.mono.0).unwrap_or(i64::MAX))
            .bind(records)
            .execute(&mut *self.tx)
            .await?;
        Ok(())
    }
}
