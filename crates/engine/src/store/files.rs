//! What Files needs beside the disk.

use std::collections::HashMap;

use atelier_domain::compute::JobId;
use atelier_domain::history::{Event, Topic};
use atelier_domain::{Timestamp, UserId, WorkspaceId};

use super::sql::{AT_ONCE, Columns as _, Record as _, Sql, record};
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

record!(FileOwner { id: "l.user_id", name: "u.name", handle: "l.handle", uid: "l.uid" });
record!(KeptOutputs { path: "path", problem: "problem" });

impl Store {
    /// Everybody who has a folder, by the short name.
    pub async fn file_owners(&self) -> Result<Vec<FileOwner>> {
        let sql = Sql::of::<FileOwner>("local_users l join users u on u.id = l.user_id");
        sql.push(" order by l.handle").all(&self.reader).await
    }

    /// How many bytes each person may have in Files.
    pub async fn files_limit(&self, workspace: &WorkspaceId) -> Result<Option<u64>> {
        Sql::select("person_bytes", "file_limits").eq("workspace_id", workspace).value(&self.reader).await
    }

    /// Jobs that are over, whose outputs are wanted in Files and were not looked at yet, with the folder; the
    /// oldest first.
    pub async fn outputs_to_keep(&self, most: u32) -> Result<Vec<(JobRow, String)>> {
        // A cross join, so that SQLite begins with the few payloads that want it, not with all jobs.
        let from = "job_payloads p cross join jobs j left join kept_outputs k on k.job_id = j.id";
        let sql = Sql::select("j.id as id, j.workspace_id as workspace, p.keep_in as folder", from)
            .and("p.keep_in <> '' and j.payload_id = p.job_id and j.ended_at <> 0 and k.job_id is null")
            .push(" order by j.id")
            .limit(most.into());
        let mut found = Vec::new();
        for row in sql.rows(&self.reader).await? {
            if let Some(job) = self.job(&row.read("workspace")?, row.read("id")?).await? {
                found.push((job, row.read("folder")?));
            }
        }
        Ok(found)
    }

    /// The folder of Files in which the outputs of a job are wanted; empty if in none. Jobs of an array have
    /// the same.
    pub async fn keeps_in(&self, job: JobId) -> Result<String> {
        let mut found = self.payloads_of(&[job], "keep_in").await?;
        Ok(found.remove(&job).unwrap_or_default())
    }

    /// Notes what became of the outputs of a job.
    pub async fn note_kept(&self, job: JobId, kept: &KeptOutputs, now: Timestamp) -> Result<()> {
        let mut tx = self.begin(now).await?;
        Sql::insert("kept_outputs")
            .set("job_id", job)
            .set("path", kept.path.as_str())
            .set("problem", kept.problem.as_str())
            .set("at", now)
            .or_update("job_id", &["path", "problem", "at"])
            .run(&mut tx.tx)
            .await?;
        tx.topics.insert(Topic::Jobs);
        tx.commit().await?;
        Ok(())
    }

    /// What became of the outputs of jobs; those of which nothing is noted are left out.
    pub async fn kept_outputs(&self, jobs: &[JobId]) -> Result<HashMap<JobId, KeptOutputs>> {
        let mut kept = HashMap::new();
        for ids in jobs.chunks(AT_ONCE) {
            let sql = Sql::select("job_id, path, problem", "kept_outputs").within("job_id", ids.iter().copied());
            for row in sql.rows(&self.reader).await? {
                kept.insert(row.read("job_id")?, KeptOutputs::read(&row)?);
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
        let sql = match limit {
            Some(limit) => Sql::insert("file_limits")
                .set("workspace_id", workspace)
                .set("person_bytes", limit)
                .or_update("workspace_id", &["person_bytes"]),
            None => Sql::delete("file_limits").eq("workspace_id", workspace),
        };
        sql.run(&mut self.tx).await?;
        self.record(workspace, author, None, event).await
    }
}
