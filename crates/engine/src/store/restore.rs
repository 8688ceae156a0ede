//! How far a database has counted, what it knows, and going on after an older one was taken back.

use std::collections::BTreeMap;
use std::sync::Arc;

use atelier_domain::Timestamp;
use atelier_domain::compute::JobId;
use atelier_domain::compute::instance::Instance;
use atelier_domain::history::{Actor, Event};
use atelier_domain::marks::{KnownThings, Marks};
use atelier_domain::world::{Record, State};
use serde::Deserialize;

use super::sql::{AT_ONCE, Columns as _, Sql, from_json};
use super::{Author, Error, Result, Store, json};
use crate::marks::MarksFile;

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
        let row = Sql::select("revision, epoch, last_uid", "installation").row(&self.reader).await?;
        let row = row.ok_or(Error::Unreadable { what: "the installation", value: String::new() })?;
        let used = Sql::select("max(uid)", "local_users").value::<Option<u64>>(&self.reader).await?.flatten();
        let state = self.state().await?;
        Ok(Marks {
            instances: state.instances,
            clusters: state.clusters,
            nodes: state.nodes,
            jobs: state.jobs,
            schedules: state.schedules,
            users: row.read::<u64>("last_uid")?.max(used.unwrap_or_default()),
            revision: row.read("revision")?,
            epoch: row.read("epoch")?,
        })
    }

    async fn state(&self) -> Result<State> {
        let body: Option<String> =
            Sql::select("body", "engine_records").eq("kind", "state").value(&self.reader).await?;
        match body.map(|body| from_json("the engine's counters", &body)).transpose()? {
            Some(Record::State(state)) => Ok(state),
            _ => Ok(State::default()),
        }
    }

    /// What this database knows; of these jobs also their newest attempts.
    pub async fn known_things(&self, jobs: &[JobId]) -> Result<KnownThings> {
        let mut instances = BTreeMap::new();
        for row in Sql::select("body", "instances").rows(&self.reader).await? {
            let instance: Instance = row.json("an instance", "body")?;
            instances.insert(instance.id, instance.layer);
        }
        let mut attempts = BTreeMap::new();
        for ids in jobs.chunks(AT_ONCE) {
            let sql = Sql::select("id, body", "jobs").within("id", ids.iter().copied());
            for row in sql.rows(&self.reader).await? {
                let read: Attempt = row.json("a job", "body")?;
                attempts.insert(row.read("id")?, read.attempt);
            }
        }
        let people: Vec<String> = Sql::select("id", "users").values(&self.reader).await?;
        let handles: Vec<String> = Sql::select("handle", "local_users").values(&self.reader).await?;
        Ok(KnownThings {
            given: self.marks().await?,
            instances,
            attempts,
            people: people.into_iter().collect(),
            handles: handles.into_iter().collect(),
        })
    }

    /// Goes on with an older database: everything is numbered above these, and what was handed out before is
    /// worth nothing any more: the tokens that new agents join with, and sessions of the portal. The key that
    /// tokens of instances and jobs are signed with is a file, which the server makes anew before this.
    pub async fn take_back(&self, above: &Marks, things: u64, now: Timestamp) -> Result<()> {
        let marks = self.marks().await?.max(above);
        let Marks { instances, clusters, nodes, jobs, schedules, .. } = marks;
        let state = State { instances, clusters, nodes, jobs, schedules, ..self.state().await? };
        let workspaces = self.workspaces().await?;
        let restores = self.restores().await?.saturating_add(1);
        let mut tx = self.begin_unnumbered(now).await?;
        tx.revision = i64::try_from(marks.revision.saturating_add(1)).unwrap_or(i64::MAX);
        for sql in [
            Sql::update("installation")
                .set("revision", tx.revision)
                .set("epoch", marks.epoch)
                .set("last_uid", marks.users)
                .set("restores", restores),
            Sql::insert("engine_records")
                .set("kind", "state")
                .set("id", "")
                .set("body", json(&Record::State(state)))
                .or_update("kind, id", &["body"]),
            Sql::update("agents").set("token_hash", ""),
            Sql::delete("app_sessions"),
            Sql::delete("web_sessions"),
            // The counters have jumped, which no batch says: a replay begins after it.
            Sql::delete("snapshots"),
        ] {
            sql.run(&mut tx.tx).await?;
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
        Ok(Sql::select("restores", "installation").value(&self.reader).await?.unwrap_or_default())
    }
}
