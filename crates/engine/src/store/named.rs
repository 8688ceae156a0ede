//! Which uploaded files are named: by jobs, over or not, and by the scripts of instances.

use std::collections::HashSet;

use atelier_domain::UserId;
use atelier_domain::compute::JobId;
use serde_json::Value;

use super::sql::{AT_ONCE, Columns as _, Order, Page, Sql};
use super::{Result, Store};

impl Store {
    /// The hashes of all files that jobs after that one name, and the last job that was looked at: what a job
    /// names never changes.
    pub async fn blobs_of_jobs(&self, after: JobId) -> Result<(HashSet<String>, JobId)> {
        let newest = Sql::select("max(job_id)", "job_payloads").value::<Option<JobId>>(&self.reader).await?;
        let newest = newest.flatten().unwrap_or_default();
        let (mut named, mut at) = (HashSet::new(), after);
        loop {
            // Most jobs name no file, and those are not even sent here.
            let sql = Sql::select("job_id, body", "job_payloads").and("body like '%\"blob\":%'");
            let sql = sql.and("job_id <= ?").bind(newest).page(Page {
                by: ["job_id"],
                order: Order::Ascending,
                before: None,
                after: Some([at.into()]),
                limit: AT_ONCE as i64,
            });
            let rows = sql.rows(&self.reader).await?;
            for row in &rows {
                gather(&row.json("a job’s payload", "body")?, &mut named);
                at = row.read("job_id")?;
            }
            if rows.is_empty() {
                return Ok((named, newest.max(after)));
            }
        }
    }

    /// Who owns the jobs that name files, with the hash of each.
    pub(super) async fn blobs_and_owners(&self) -> Result<HashSet<(UserId, String)>> {
        let (mut found, mut at) = (HashSet::new(), JobId(0));
        loop {
            let sql = Sql::new(
                "select p.body, p.job_id, coalesce((select j.owner_id from jobs j where j.id = p.job_id), (select \
                 r.owner_id from job_ranges r where r.payload_id = p.job_id order by r.first_id limit 1), '') as \
                 owner_id from job_payloads p where p.job_id > ? and p.body like '%\"blob\":%' order by p.job_id",
            );
            let rows = sql.bind(at).limit(AT_ONCE as i64).rows(&self.reader).await?;
            let Some(last) = rows.last() else { return Ok(found) };
            at = last.read("job_id")?;
            for row in &rows {
                // Only what is named as a file: a text that looks like a hash gives nobody a right.
                let Ok(task) = row.json::<atelier_protocol::Task>("a job’s payload", "body") else { continue };
                let owner: UserId = row.read("owner_id")?;
                found.extend(task.files.into_iter().map(|file| (owner.clone(), file.blob)));
            }
        }
    }

    /// The hashes of all files that instances name now.
    pub async fn blobs_of_instances(&self) -> Result<HashSet<String>> {
        let mut named = HashSet::new();
        for row in Sql::select("body", "instances").rows(&self.reader).await? {
            gather(&row.json("an instance", "body")?, &mut named);
        }
        Ok(named)
    }
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
