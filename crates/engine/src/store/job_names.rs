//! What people call jobs.

use std::collections::HashMap;

use atelier_domain::compute::JobId;
use sqlx::Row as _;

use super::sql::Sql;
use super::{Result, Store};

/// How many ids one statement names at most.
const AT_ONCE: usize = 500;

impl Store {
    /// The names of jobs; those that are not known are left out.
    pub async fn job_names(&self, ids: &[JobId]) -> Result<HashMap<JobId, String>> {
        let mut names = HashMap::with_capacity(ids.len());
        for ids in ids.chunks(AT_ONCE) {
            let mut sql = Sql::new(
                "select j.id, p.name from jobs j join job_payloads p on p.job_id = j.payload_id where j.id in (",
            );
            for (index, id) in ids.iter().enumerate() {
                sql.push(if index > 0 { ", " } else { "" }).bind(i64::try_from(id.0).unwrap_or(i64::MAX));
            }
            sql.push(")");
            for row in sql.rows(&self.reader).await? {
                names.insert(JobId(u64::try_from(row.get::<i64, _>(0)).unwrap_or_default()), row.get(1));
            }
        }
        let missing: Vec<JobId> = ids.iter().copied().filter(|id| !names.contains_key(id)).collect();
        for (job, array) in self.arrays_of(&missing).await? {
            let mut sql = Sql::new("select name from job_payloads where job_id = ");
            sql.bind(i64::try_from(array.0).unwrap_or(i64::MAX));
            if let Some(row) = sql.rows(&self.reader).await?.first() {
                names.insert(job, row.get(0));
            }
        }
        Ok(names)
    }
}
