//! Which uploaded files are named: by jobs, over or not, and by the scripts of instances.

use std::collections::HashSet;

use atelier_domain::UserId;
use atelier_domain::compute::JobId;
use serde_json::Value;
use sqlx::Row as _;

use super::sql::Sql;
use super::{Error, Result, Store};

/// So many jobs are read at once.
const AT_ONCE: i64 = 500;

impl Store {
    /// The hashes of all files that jobs after that one name, and the last job that was looked at: what a job
    /// names never changes.
    pub async fn blobs_of_jobs(&self, after: JobId) -> Result<(HashSet<String>, JobId)> {
        let after = i64::try_from(after.0).unwrap_or(i64::MAX);
        let newest = Sql::new("select cast(coalesce(max(job_id), 0) as bigint) from job_payloads");
        let newest: i64 = newest.rows(&self.reader).await?.first().map_or(0, |row| row.get(0));
        let (mut named, mut at) = (HashSet::new(), after);
        loop {
            let mut sql = Sql::new("select body, job_id from job_payloads where job_id > ");
            // Most jobs name no file, and those are not even sent here.
            sql.bind(at).push(" and job_id <= ").bind(newest).push(" and body like '%\"blob\":%'");
            sql.push(" order by job_id limit ").bind(AT_ONCE);
            let rows = sql.rows(&self.reader).await?;
            for row in &rows {
                gather_from("a job’s payload", row.get(0), &mut named)?;
                at = row.get(1);
            }
            if rows.is_empty() {
                return Ok((named, JobId(u64::try_from(newest.max(after)).unwrap_or_default())));
            }
        }
    }

    /// Who owns the jobs that name files, with the hash of each.
    pub(super) async fn blobs_and_owners(&self) -> Result<HashSet<(UserId, String)>> {
        let (mut found, mut at) = (HashSet::new(), 0_i64);
        loop {
            let mut sql = Sql::new(
                "select p.body, p.job_id, coalesce((select j.owner_id from jobs j where j.id = p.job_id), (select \
                 r.owner_id from job_ranges r where r.payload_id = p.job_id order by r.first_id limit 1), '') from \
                 job_payloads p where p.job_id > ",
            );
            sql.bind(at).push(" and p.body like '%\"blob\":%' order by p.job_id limit ").bind(AT_ONCE);
            let rows = sql.rows(&self.reader).await?;
            let Some(last) = rows.last() else { return Ok(found) };
            at = last.get(1);
            for row in &rows {
                let (body, owner): (String, String) = (row.get(0), row.get(2));
                // Only what is named as a file: a text that looks like a hash gives nobody a right.
                let Ok(task) = serde_json::from_str::<atelier_protocol::Task>(&body) else { continue };
                let owner = UserId::new(owner);
                found.extend(task.files.into_iter().map(|file| (owner.clone(), file.blob)));
            }
        }
    }

    /// The hashes of all files that instances name now.
    pub async fn blobs_of_instances(&self) -> Result<HashSet<String>> {
        let mut named = HashSet::new();
        for row in Sql::new("select body from instances").rows(&self.reader).await? {
            gather_from("an instance", row.get(0), &mut named)?;
        }
        Ok(named)
    }
}

fn gather_from(what: &'static str, body: String, named: &mut HashSet<String>) -> Result<()> {
    let read: Value = serde_json::from_str(&body).map_err(|_| Error::Unreadable { what, value: body })?;
    gather(&read, named);
    Ok(())
}

/// Every text that could be a hash, wherever it stands: what is kept too long does less harm than what is
/// missing.
fn gather(value: &Value, named: &mut HashSet<String>) {
    match value {
        Value::String(text) if text.len() == 64 => _ = named.insert(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| gather(value, named)),
        Value::Object(fields) => fields.values().for_each(|value| gather(value, named)),
        _ => {}
    }
}
