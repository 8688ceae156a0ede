//! Failed sign-ins, counted by subject (`account:…`, `address:…`).

use atelier_domain::Timestamp;
use atelier_domain::throttle::{Count, Limit};
use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::{Result, Store, WriteTx};

impl Store {
    /// The failures counted under a subject.
    pub async fn failures(&self, subject: &str) -> Result<Count> {
        let row = self.reader.row(sqlx::query(COUNT).bind(subject)).await?;
        Ok(count(row.as_ref()))
    }

    /// Counts one more failure under each subject, in one transaction, and gives the new counts. Two failures
    /// at the same moment are both counted, since there is one writer.
    pub async fn add_failure(&self, subjects: &[(String, Limit)], now: Timestamp) -> Result<Vec<Count>> {
        let _in_line = self.write_lock.lock().await;
        let mut tx = self.writer.begin().await?;
        let mut counts = Vec::with_capacity(subjects.len());
        for (subject, limit) in subjects {
            // A write first: it takes the lock, so that what is read next stays true until the commit.
            sqlx::query(
                "insert into sign_in_failures (subject, failures, since) values ($1, 0, 0) \
                 on conflict (subject) do update set failures = sign_in_failures.failures",
            )
            .bind(subject.as_str())
            .execute(&mut *tx)
            .await?;
            let row = sqlx::query(COUNT).bind(subject.as_str()).fetch_optional(&mut *tx).await?;
            let next = limit.after_failure(count(row.as_ref()), now);
            sqlx::query("update sign_in_failures set failures = $1, since = $2 where subject = $3")
                .bind(i64::from(next.failures))
                .bind(next.since.0)
                .bind(subject.as_str())
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

    /// Whether somebody has signed in to that account from there.
    pub async fn has_signed_in_from(&self, email: &str, address: &str) -> Result<bool> {
        let text = "select 1 from sign_in_addresses where email = $1 and address = $2";
        Ok(self.reader.row(sqlx::query(text).bind(email).bind(address)).await?.is_some())
    }

    /// Notes that somebody has signed in to that account from there.
    pub async fn note_address(&self, email: &str, address: &str, now: Timestamp) -> Result<()> {
        let _in_line = self.write_lock.lock().await;
        sqlx::query(
            "insert into sign_in_addresses (email, address, since) values ($1, $2, $3) \
             on conflict (email, address) do update set since = excluded.since",
        )
        .bind(email)
        .bind(address)
        .bind(now.0)
        .execute(&self.writer)
        .await?;
        Ok(())
    }

    /// Forgets addresses from which nobody has signed in since then.
    pub async fn drop_old_addresses(&self, before: Timestamp) -> Result<()> {
        let _in_line = self.write_lock.lock().await;
        sqlx::query("delete from sign_in_addresses where since < $1").bind(before.0).execute(&self.writer).await?;
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
    /// Forgets the failures of an account, wherever they came from.
    pub async fn forget_failures(&mut self, email: &str) -> Result<()> {
        let mut from_anywhere = super::like_pattern(&format!("account:{email}|"));
        from_anywhere.remove(0); // the pattern starts with the subject
        sqlx::query("delete from sign_in_failures where subject = $1 or subject like $2 escape '\\'")
            .bind(format!("account:{email}"))
            .bind(from_anywhere)
            .execute(&mut *self.tx)
            .await?;
        Ok(())
    }
}

const COUNT: &str = "select failures, since from sign_in_failures where subject = $1";

fn count(row: Option<&AnyRow>) -> Count {
    row.map_or_else(Count::default, |row| Count {
        failures: u32::try_from(row.get::<i64, _>(0)).unwrap_or(u32::MAX),
        since: Timestamp(row.get(1)),
    })
}
