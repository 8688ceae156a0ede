//! How far a database has counted, what it knows, and going on after an older one was taken back.

use std::collections::BTreeMap;
use std::sync::Arc;

use atelier_domain::Timestamp;
use atelier_domain::compute::instance::Instance;
use atelier_domain::compute::{InstanceId, JobId};
use atelier_domain::history::{Actor, Event};
use atelier_domain::marks::{KnownThings, Marks};
use atelier_domain::world::{Record, State};
use serde::Deserialize;
use sqlx::Row as _;

use super::jobs::bind_ids;
use super::sql::Sql;
use super::{Author, Error, Result, Store, json};
use crate::marks::MarksFile;

/// Jobs that are looked up with one statement.
const AT_ONCE: usize = 500;

#[derive(Deserialize)]
struct Attempt {
    attempt: u32,
}

impl Store {
    /// Notes from now on in the data directory what is given out.
    pub fn count_with(&self, marks: Arc<MarksFile>) {
        // Set once, at the start of the server.
        let _ = self.marks.set(marks);
    }

    /// Where it's noted what is given out; nowhere in tests of the store alone.
    pub(crate) fn marks_file(&self) -> Option<&Arc<MarksFile>> {
        self.marks.get()
    }

    /// How far this database has counted.
    pub async fn marks(&self) -> Result<Marks> {
        let number = |value: i64| u64::try_from(value).unwrap_or_default();
        let text = "select revision, epoch, last_uid, (select cast(coalesce(max(uid), 0) as bigint) from local_users) \
                    from installation";
        let row = self.reader.row(sqlx::query(text)).await?;
        let row = row.ok_or(Error::Unreadable { what: "the installation", value: String::new() })?;
        let state = self.state().await?;
        Ok(Marks {
            instances: state.instances,
            clusters: state.clusters,
            nodes: state.nodes,
            jobs: state.jobs,
            schedules: state.schedules,
            users: number(row.get::<i64, _>(2).max(row.get(3))),
            revision: number(row.get(0)),
            epoch: number(row.get(1)),
        })
    }

    async fn state(&self) -> Result<State> {
        let text = "select body from engine_records where kind = 'state'";
        let Some(row) = self.reader.row(sqlx::query(text)).await? else { return Ok(State::default()) };
        let body: String = row.get(0);
        match serde_json::from_str(&body) {
            Ok(Record::State(state)) => Ok(state),
            _ => Err(Error::Unreadable { what: "the engine's counters", value: body }),
        }
    }

    /// What this database knows; of these jobs also their newest attempts.
    pub async fn known_things(&self, jobs: &[JobId]) -> Result<KnownThings> {
        let mut instances = BTreeMap::new();
        for row in self.reader.rows(sqlx::query("select body from instances")).await? {
            let body: String = row.get(0);
            let instance: Instance =
                serde_json::from_str(&body).map_err(|_| Error::Unreadable { what: "an instance", value: body })?;
            instances.insert(InstanceId(instance.id.0), instance.layer);
        }
        let mut attempts = BTreeMap::new();
        for ids in jobs.chunks(AT_ONCE) {
            let mut sql = Sql::new("select id, body from jobs where id in ");
            bind_ids(&mut sql, ids);
            for row in sql.rows(&self.reader).await? {
                let body: String = row.get(1);
                let read: Attempt =
                    serde_json::from_str(&body).map_err(|_| Error::Unreadable { what: "a job", value: body })?;
                attempts.insert(JobId(u64::try_from(row.get::<i64, _>(0)).unwrap_or_default()), read.attempt);
            }
        }
        let people = self.reader.rows(sqlx::query("select id from users")).await?;
        let handles = self.reader.rows(sqlx::query("select handle from local_users")).await?;
        Ok(KnownThings {
            given: self.marks().await?,
            instances,
            attempts,
            people: people.iter().map(|row| row.get(0)).collect(),
            handles: handles.iter().map(|row| row.get(0)).collect(),
        })
    }

    /// Goes on with an older database: everything is numbered above these, and what was handed out before is
    /// worth nothing any more: the tokens that new agents join with, sessions of the portal, and the key that
    /// tokens of instances and jobs are signed with.
    ///
    /// A secret that is kept outside of the database is made anew when `restores` ([`Store::restores`]) isn't
    /// what it was when the secret was made.
    pub async fn take_back(&self, above: &Marks, things: u64, now: Timestamp) -> Result<()> {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let mut state = self.state().await?;
        let marks = self.marks().await?.max(above);
        let workspaces = self.workspaces().await?;
        state.instances = marks.instances;
        state.clusters = marks.clusters;
        state.nodes = marks.nodes;
        state.jobs = marks.jobs;
        state.schedules = marks.schedules;
        let mut tx = self.begin_unnumbered(now).await?;
        tx.revision = number(marks.revision.saturating_add(1));
        sqlx::query(
            "update installation set revision = $1, epoch = $2, last_uid = $3, restores = restores + 1, workload_key \
             = ''",
        )
        .bind(tx.revision)
        .bind(number(marks.epoch))
        .bind(number(marks.users))
        .execute(&mut *tx.tx)
        .await?;
        sqlx::query(
            "insert into engine_records (kind, id, body) values ('state', '', $1) on conflict (kind, id) do update \
             set body = excluded.body",
        )
        .bind(json(&Record::State(state)))
        .execute(&mut *tx.tx)
        .await?;
        for text in [
            "update agents set token_hash = ''",
            "delete from app_sessions",
            "delete from web_sessions",
            // The counters have jumped, which no batch says: a replay begins after it.
            "delete from snapshots",
        ] {
            sqlx::query(text).execute(&mut *tx.tx).await?;
        }
        let author = Author { actor: Actor::Console, request: String::new(), why: None };
        for workspace in workspaces {
            tx.record(&workspace.id, &author, None, &Event::DatabaseRestored { things }).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// How often an older database was taken back.
    pub async fn restores(&self) -> Result<u64> {
        let row = self.reader.row(sqlx::query("select restores from installation")).await?;
        Ok(row.map_or(0, |row| u64::try_from(row.get::<i64, _>(0)).unwrap_or_default()))
    }
}
