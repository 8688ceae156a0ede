//! Who has sent which file: nobody else may name it in a job or a script.

use std::collections::{HashMap, HashSet};

use atelier_domain::{Timestamp, UserId};
use sqlx::Row as _;

use super::sql::Sql;
use super::{Result, Store};

/// So many hashes are asked for at once.
const AT_ONCE: usize = 200;

impl Store {
    /// Notes that somebody has sent files of these hashes.
    pub async fn note_uploads(&self, user: &UserId, hashes: &[String], now: Timestamp) -> Result<()> {
        let _in_line = self.write_lock.lock().await;
        let mut tx = self.writer.begin().await?;
        for hash in hashes {
            sqlx::query("insert into uploads (hash, user_id, since) values ($1, $2, $3) on conflict do nothing")
                .bind(hash.as_str())
                .bind(user.as_str())
                .bind(now.0)
                .execute(&mut *tx)
                .await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Which of these somebody has sent.
    pub async fn uploads_of(&self, user: &UserId, hashes: &[String]) -> Result<HashSet<String>> {
        let mut sent = HashSet::new();
        for some in hashes.chunks(AT_ONCE) {
            let mut sql = Sql::new("select hash from uploads where user_id = ");
            sql.bind(user.as_str()).push(" and hash in ").bind_list(some.iter().map(String::as_str));
            sent.extend(sql.rows(&self.reader).await?.iter().map(|row| row.get::<String, _>(0)));
        }
        Ok(sent)
    }

    /// Some of the hashes that were sent before that time, in their order, after that one.
    pub async fn uploads_before(&self, before: Timestamp, after: &str) -> Result<Vec<String>> {
        let mut sql = Sql::new("select distinct hash from uploads where since < ");
        sql.bind(before.0).push(" and hash > ").bind(after).push(" order by hash limit ").bind(AT_ONCE as i64);
        Ok(sql.rows(&self.reader).await?.iter().map(|row| row.get(0)).collect())
    }

    /// Forgets who sent files that are no longer there, unless somebody has sent them again since.
    pub async fn forget_uploads(&self, hashes: &[String], before: Timestamp) -> Result<()> {
        let _in_line = self.write_lock.lock().await;
        for hash in hashes {
            sqlx::query("delete from uploads where hash = $1 and since < $2")
                .bind(hash.as_str())
                .bind(before.0)
                .execute(&self.writer)
                .await?;
        }
        Ok(())
    }

    /// Once, for jobs of older versions: who submitted a job has sent its files.
    pub async fn know_uploads(&self, now: Timestamp) -> Result<()> {
        let is_known: i64 =
            sqlx::query_scalar("select uploads_known from installation").fetch_one(&self.writer).await?;
        if is_known != 0 {
            return Ok(());
        }
        let mut by_person: HashMap<UserId, Vec<String>> = HashMap::new();
        for (owner, hash) in self.blobs_and_owners().await? {
            by_person.entry(owner).or_default().push(hash);
        }
        for (person, hashes) in by_person {
            self.note_uploads(&person, &hashes, now).await?;
        }
        let _in_line = self.write_lock.lock().await;
        sqlx::query("update installation set uploads_known = 1").execute(&self.writer).await?;
        Ok(())
    }
}
