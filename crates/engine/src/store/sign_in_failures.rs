//! Failed sign-ins, counted by subject (`account:…`, `address:…`).

use atelier_domain::Timestamp;
use atelier_domain::throttle::{Count, Limit};

use super::sql::{Sql, like_pattern, record};
use super::{Result, Store, WriteTx};

impl Store {
    /// The failures counted under a subject.
    pub async fn failures(&self, subject: &str) -> Result<Count> {
        Ok(counted(subject).first(&self.reader).await?.unwrap_or_default())
    }

    /// Counts one more failure under each subject, in one transaction, and gives the new counts. Two failures
    /// at the same moment are both counted, since there is one writer.
    pub async fn add_failure(&self, subjects: &[(String, Limit)], now: Timestamp) -> Result<Vec<Count>> {
        let _in_line = self.write_lock.lock().await;
        let mut tx = self.writer.begin().await?;
        let mut counts = Vec::with_capacity(subjects.len());
        for (subject, limit) in subjects {
            // A write first: it takes the lock, so that what is read next stays true until the commit.
            let sql = Sql::insert("sign_in_failures").set("subject", subject.as_str());
            let sql = sql.set("failures", 0).set("since", 0);
            sql.or_update("subject", &["failures = sign_in_failures.failures"]).run(&mut tx).await?;
            let known = counted(subject).first(&mut tx).await?.unwrap_or_default();
            let next = limit.after_failure(known, now);
            let sql = Sql::update("sign_in_failures").set("failures", next.failures).set("since", next.since);
            sql.eq("subject", subject.as_str()).run(&mut tx).await?;
            counts.push(next);
        }
        tx.commit().await?;
        Ok(counts)
    }

    /// Forgets the failures under a subject, after a success.
    pub async fn clear_failures(&self, subject: &str) -> Result<()> {
        self.write(Sql::delete("sign_in_failures").eq("subject", subject)).await?;
        Ok(())
    }

    /// Whether somebody has signed in to that account from there.
    pub async fn has_signed_in_from(&self, email: &str, address: &str) -> Result<bool> {
        let sql = Sql::count_of("sign_in_addresses").eq("email", email).eq("address", address);
        Ok(sql.count(&self.reader).await? > 0)
    }

    /// Notes that somebody has signed in to that account from there.
    pub async fn note_address(&self, email: &str, address: &str, now: Timestamp) -> Result<()> {
        let sql = Sql::insert("sign_in_addresses").set("email", email).set("address", address).set("since", now);
        self.write(sql.or_update("email, address", &["since"])).await?;
        Ok(())
    }

    /// Forgets addresses from which nobody has signed in since then.
    pub async fn drop_old_addresses(&self, before: Timestamp) -> Result<()> {
        self.write(Sql::delete("sign_in_addresses").and("since < ?").bind(before)).await?;
        Ok(())
    }

    /// Drops counts that began before `before`.
    pub async fn drop_old_failures(&self, before: Timestamp) -> Result<()> {
        self.write(Sql::delete("sign_in_failures").and("since < ?").bind(before)).await?;
        Ok(())
    }
}

impl WriteTx<'_> {
    /// Forgets the failures of an account, wherever they came from.
    pub async fn forget_failures(&mut self, email: &str) -> Result<()> {
        let mut from_anywhere = like_pattern(&format!("account:{email}|"));
        from_anywhere.remove(0); // the pattern starts with the subject
        let sql = Sql::delete("sign_in_failures").and("(subject = ? or subject like ? escape '\\')");
        sql.bind(format!("account:{email}")).bind(from_anywhere).run(&mut self.tx).await?;
        Ok(())
    }
}

record!(Count { failures: "failures", since: "since" });

fn counted(subject: &str) -> Sql {
    Sql::of::<Count>("sign_in_failures").eq("subject", subject)
}
