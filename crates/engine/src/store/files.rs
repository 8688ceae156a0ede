//! What Files needs beside the disk.

use std::collections::HashMap;

use atelier_domain::compute::JobId;
use atelier_domain::history::{Event, Topic};
use atelier_domain::{Timestamp, UserId, WorkspaceId};
use sqlx::Row as _;

use super::sql::Sql;
use super::{Author, JobRow, Result, Store, WriteTx};

/// Somebody who has a folder in Files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileOwner {
    pub id: UserId,
    pub name: String,
    /// The name of their folder.
    pub handle: String,
    /// Their user on the server's own machine.
    pub uid: u32,
}

/// What became of the outputs of a job that were wanted in Files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptOutputs {
    /// The folder that holds them; empty if there are none.
    pub path: String,
    /// Why they are not there; empty if all is well.
    pub problem: String,
}

impl Store {
    /// Everybody who has a folder, by the short name.
    pub async fn file_owners(&self) -> Result<Vec<FileOwner>> {
        let sql = Sql::new(
            "select l.user_id, u.name, l.handle, l.uid from local_users l join users u on u.id = l.user_id order by \
             l.handle",
        );
        let rows = sql.rows(&self.reader).await?;
        let read = |row: &sqlx::any::AnyRow| FileOwner {
            id: UserId::new(row.get::<String, _>(0)),
            name: row.get(1),
            handle: row.get(2),
            uid: u32::try_from(row.get::<i64, _>(3)).unwrap_or(u32::MAX),
        };
        Ok(rows.iter().map(read).collect())
    }

    /// How many bytes each person may have in Files.
    pub async fn files_limit(&self, workspace: &WorkspaceId) -> Result<Option<u64>> {
        let query =
            sqlx::query("select person_bytes from file_limits where workspace_id = $1").bind(workspace.as_str());
        let row = self.reader.row(query).await?;
        Ok(row.map(|row| u64::try_from(row.get::<i64, _>(0)).unwrap_or_default()))
    }

    /// Jobs that are over, whose outputs are wanted in Files and were not looked at yet, with the folder; the
    /// oldest first.
    pub async fn outputs_to_keep(&self, most: u32) -> Result<Vec<(JobRow, String)>> {
        let mut sql = Sql::new(
            // A cross join, so that SQLite begins with the few payloads that want it, not with all jobs.
            "select j.id, j.workspace_id, p.keep_in from job_payloads p cross join jobs j \
             left join kept_outputs k on k.job_id = j.id \
             where p.keep_in <> '' and j.payload_id = p.job_id and j.ended_at <> 0 and k.job_id is null \
             order by j.id limit ",
        );
        sql.bind(i64::from(most));
        let mut found = Vec::new();
        for row in sql.rows(&self.reader).await? {
            let (id, workspace, folder): (i64, String, String) = (row.get(0), row.get(1), row.get(2));
            let job = JobId(u64::try_from(id).unwrap_or_default());
            if let Some(job) = self.job(&WorkspaceId::new(workspace), job).await? {
                found.push((job, folder));
            }
        }
        Ok(found)
    }

    /// The folder of Files in which the outputs of a job are wanted; empty if in none. Jobs of an array have
    /// the same.
    pub async fn keeps_in(&self, job: JobId) -> Result<String> {
        let number = |job: JobId| i64::try_from(job.0).unwrap_or(i64::MAX);
        let mut sql =
            Sql::new("select p.keep_in from jobs j join job_payloads p on p.job_id = j.payload_id where j.id = ");
        sql.bind(number(job));
        if let Some(row) = sql.rows(&self.reader).await?.first() {
            return Ok(row.get(0));
        }
        let Some(array) = self.arrays_of(&[job]).await?.remove(&job) else { return Ok(String::new()) };
        let mut sql = Sql::new("select keep_in from job_payloads where job_id = ");
        sql.bind(number(array));
        Ok(sql.rows(&self.reader).await?.first().map(|row| row.get(0)).unwrap_or_default())
    }

    /// Notes what became of the outputs of a job.
    pub async fn note_kept(&self, job: JobId, kept: &KeptOutputs, now: Timestamp) -> Result<()> {
        let mut tx = self.begin(now).await?;
        sqlx::query(
            "insert into kept_outputs (job_id, path, problem, at) values ($1, $2, $3, $4) \
             on conflict (job_id) do update set path = excluded.path, problem = excluded.problem, at = excluded.at",
        )
        .bind(i64::try_from(job.0).unwrap_or(i64::MAX))
        .bind(kept.path.as_str())
        .bind(kept.problem.as_str())
        .bind(now.0)
        .execute(&mut *tx.tx)
        .await?;
        tx.topics.insert(Topic::Jobs);
        tx.commit().await?;
        Ok(())
    }

    /// What became of the outputs of jobs; those of which nothing is noted are left out.
    pub async fn kept_outputs(&self, jobs: &[JobId]) -> Result<HashMap<JobId, KeptOutputs>> {
        let mut kept = HashMap::new();
        for ids in jobs.chunks(500) {
            let mut sql = Sql::new("select job_id, path, problem from kept_outputs where job_id in (");
            for (index, id) in ids.iter().enumerate() {
                sql.push(if index > 0 { ", " } else { "" }).bind(i64::try_from(id.0).unwrap_or(i64::MAX));
            }
            sql.push(")");
            for row in sql.rows(&self.reader).await? {
                let id = JobId(u64::try_from(row.get::<i64, _>(0)).unwrap_or_default());
                kept.insert(id, KeptOutputs { path: row.get(1), problem: row.get(2) });
            }
        }
        Ok(kept)
    }
}

impl WriteTx<'_> {
    /// Sets how many bytes each person may have in Files.
    pub async fn set_files_limit(
        &mut self,
        workspace: &WorkspaceId,
        author: &Author,
        limit: Option<u64>,
        event: &Event,
    ) -> Result<()> {
        match limit {
            Some(limit) => {
                sqlx::query(
                    "insert into file_limits (workspace_id, person_bytes) values ($1, $2) \
                     on conflict (workspace_id) do update set person_bytes = excluded.person_bytes",
                )
                .bind(workspace.as_str())
                .bind(i64::try_from(limit).unwrap_or(i64::MAX))
                .execute(&mut *self.tx)
                .await?;
            }
            None => {
                let gone = sqlx::query("delete from file_limits where workspace_id = $1").bind(workspace.as_str());
                gone.execute(&mut *self.tx).await?;
            }
        }
        self.record(workspace, author, None, event).await
    }
}
