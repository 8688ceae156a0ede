//! Who has sent which file: nobody else may name it in a job or a script.

use std::collections::{HashMap, HashSet};

use atelier_domain::{Timestamp, UserId};

use super::sql::{AT_ONCE, Sql};
use super::{Result, Store};

impl Store {
    /// Notes that somebody has sent files of these hashes.
    pub async fn note_uploads(&self, user: &UserId, hashes: &[String], now: Timestamp) -> Result<()> {
        let note = |hash: &String| {
            let sql = Sql::insert("uploads").set("hash", hash.as_str()).set("user_id", user).set("since", now);
            sql.push(" on conflict do nothing")
        };
        self.write_all(hashes.iter().map(note).collect()).await
    }

    /// Which of these somebody has sent.
    pub async fn uploads_of(&self, user: &UserId, hashes: &[String]) -> Result<HashSet<String>> {
        let mut sent = HashSet::new();
        for some in hashes.chunks(AT_ONCE) {
            let sql = Sql::select("hash", "uploads").eq("user_id", user);
            sent.extend(sql.within("hash", some.iter().map(String::as_str)).values::<String>(&self.reader).await?);
        }
        Ok(sent)
    }

    /// Some of the hashes that were sent before that time, in their order, after that one.
    pub async fn uploads_before(&self, before: Timestamp, after: &str) -> Result<Vec<String>> {
        let sql = Sql::select("distinct hash", "uploads").and("since < ?").bind(before).and("hash > ?").bind(after);
        sql.push(" order by hash").limit(AT_ONCE as i64).values(&self.reader).await
    }

    /// Forgets who sent files that are no longer there, unless somebody has sent them again since.
    pub async fn forget_uploads(&self, hashes: &[String], before: Timestamp) -> Result<()> {
        let forget = |hash: &String| Sql::delete("uploads").eq("hash", hash.as_str()).and("since < ?").bind(before);
        self.write_all(hashes.iter().map(forget).collect()).await
    }

    /// Once, for jobs of older versions: who submitted a job has sent its files.
    pub async fn know_uploads(&self, now: Timestamp) -> Result<()> {
        if Sql::select("uploads_known", "installation").value::<bool>(&self.reader).await? == Some(true) {
            return Ok(());
        }
        let mut by_person: HashMap<UserId, Vec<String>> = HashMap::new();
        for (owner, hash) in self.blobs_and_owners().await? {
            by_person.entry(owner).or_default().push(hash);
        }
        for (person, hashes) in by_person {
            self.note_uploads(&person, &hashes, now).await?;
        }
        self.write(Sql::update("installation").set("uploads_known", true)).await?;
        Ok(())
    }
}
