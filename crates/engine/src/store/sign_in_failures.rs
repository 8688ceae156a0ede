//! Failed sign-ins, counted by subject (`account:…`, `address:…`).

use atelier_domain::Timestamp;
use atelier_domain::throttle::{Count, Limit};
use sqlx::{Any, Executor, Row as _};

use super::{Result, Store, WriteTx};

impl Store {
    /// The failures counted under a subject.
    pub async fn failures(&self, subject: &str) -> Result<Count> {
        count(&self.reader, subject).await
    }

    /// Counts one more failure under each subject, in one transaction, and gives the new counts. Two failures at the same
    /// moment are both counted, since there is one writer.
    pub async fn add_failure(&self, subjects: &[(String, Limit)], now: Timestamp) -> Result<Vec<Count>> {
        let _in_line = self.write_lock.lock().await;
        let mut tx = self.writer.begin().await?;
        let mut counts = Vec::with_capacity(subjects.len());
        for (subject, limit) in subjects {
            let next = limit.after_failure(count(&mut *tx, subject).await?, now);
            sqlx::query(
                "insert into sign_in_failures (subject, failures, since) values ($1, $2, $3) \
                 on conflict (subject) do update set failures = excluded.failures, since = excluded.since",
            )
            .bind(subject.as_str())
            .bind(i64::from(next.failures))
            .bind(next.since.0)
            .execute(&mut *tx)
            .await?;
            counts.push(next);
        }
        tx.commit().await?;
        Ok(counts)
    }

    /// Forgets the failures under a subject, after a success.
    pub async fn clear_failures(&self, subject: &str) -> Result<()> {
        let _in_line = self.write_lock.lock().await;
        sqlx::query("delete from sign_in_failures where subject = $1").bind(subject).execute(&self.writer).await?;
        Ok(())
    }

    /// Drops counts that began before `before`.
    pub async fn drop_old_failures(&self, before: Timestamp) -> Result<()> {
        let _in_line = self.write_lock.lock().await;
        sqlx::query("delete from sign_in_failures where since < $1").bind(before.0).execute(&self.writer).await?;
        Ok(())
    }
}

impl WriteTx<'_> {
    /// Forgets the failures under a subject, in this transaction.
    pub async fn forget_failures(&mut self, subject: &str) -> Result<()> {
        sqlx::query("delete from sign_in_failures where subject = $1").bind(subject).execute(&mut *self.tx).await?;
        Ok(())
    }
}

async fn count<'e>(executor: impl Executor<'e, Database = Any>, subject: &str) -> Result<Count> {
    let row = sqlx::query("select failures, since from sign_in_failures where subject = $1")
        .bind(subject.to_owned())
        .fetch_optional(executor)
        .await?;
    Ok(row.map_or_else(Count::default, |row| Count {
        failures: u32::try_from(row.get::<i64, _>(0)).unwrap_or(u32::MAX),
        since: Timestamp(row.get(1)),
    }))
}
