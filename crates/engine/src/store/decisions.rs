//! Reading what was decided and why. It is written by the engine's batches alone.

use atelier_domain::WorkspaceId;
use atelier_domain::compute::{ClusterId, InstanceId, JobId, NodeId, ScheduleId};
use atelier_domain::time::Timestamp;
use atelier_domain::world::About;
use sqlx::any::AnyRow;

use super::sql::{Columns as _, Order, Page, Record, Sql, record};
use super::{Result, Store};

/// One decision as it was written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionEntry {
    /// The revision it belongs to.
    pub revision: i64,
    /// Its place in that revision.
    pub ordinal: i64,
    pub at: Timestamp,
    pub about: About,
    /// The code of its reason.
    pub code: String,
    /// The reason in words.
    pub sentence: String,
}

/// Which decisions.
#[derive(Clone, Debug, Default)]
pub struct DecisionFilter {
    /// About these; nothing named means nothing found.
    pub about: Vec<About>,
    /// Only before this one.
    pub before: Option<(i64, i64)>,
    /// How many at most.
    pub limit: i64,
}

impl Store {
    /// Decisions about some things of a workspace, newest first.
    pub async fn decisions(&self, workspace: &WorkspaceId, filter: &DecisionFilter) -> Result<Vec<DecisionEntry>> {
        if filter.about.is_empty() {
            return Ok(Vec::new());
        }
        let abouts = vec!["(about_kind = ? and about_id = ?)"; filter.about.len()].join(" or ");
        let sql = Sql::of::<DecisionEntry>("decisions").eq("workspace_id", workspace).and(&format!("({abouts})"));
        let sql = filter.about.iter().fold(sql, |sql, about| {
            let (kind, id) = about_key(*about);
            sql.bind(kind).bind(id)
        });
        sql.page(Page {
            by: ["revision", "ordinal"],
            order: Order::Descending,
            before: filter.before.map(|(revision, ordinal)| [revision.into(), ordinal.into()]),
            after: None,
            limit: filter.limit,
        })
        .all(&self.reader)
        .await
    }
}

impl Record for DecisionEntry {
    const COLUMNS: &'static [&'static str] =
        &["revision", "ordinal", "at", "about_kind", "about_id", "code", "sentence"];

    fn read(row: &AnyRow) -> Result<Self> {
        let (kind, id): (String, u64) = (row.read("about_kind")?, row.read("about_id")?);
        Ok(Self {
            revision: row.read("revision")?,
            ordinal: row.read("ordinal")?,
            at: row.read("at")?,
            about: match kind.as_str() {
                "instance" => About::Instance(InstanceId(id)),
                "cluster" => About::Cluster(ClusterId(id)),
                "node" => About::Node(NodeId(id)),
                "job" => About::Job(JobId(id)),
                "schedule" => About::Schedule(ScheduleId(id)),
                "budget" => About::Budget,
                _ => About::Engine,
            },
            code: row.read("code")?,
            sentence: row.read("sentence")?,
        })
    }
}

/// Why an instance stopped, or that it has a node again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerChange {
    pub instance: InstanceId,
    pub at: Timestamp,
    /// The code of its reason: `by-schedule`, `as-postponed`, `idle`, `by-person`, or `node-ready` for a
    /// start.
    pub code: String,
}

record!(PowerChange { instance: "about_id", at: "at", code: "code" });

/// The most changes that are looked at.
const MOST_CHANGES: i64 = 50_000;

impl Store {
    /// When instances of a workspace stopped and why, and when they had a node again, the oldest first: as
    /// far back as decisions are kept.
    pub async fn power_changes(&self, workspace: &WorkspaceId, until: Timestamp) -> Result<Vec<PowerChange>> {
        let mut changes: Vec<PowerChange> = Sql::of::<PowerChange>("decisions")
            .eq("workspace_id", workspace)
            .and("about_kind = 'instance'")
            .and("code in ('by-schedule', 'as-postponed', 'idle', 'by-person', 'node-ready')")
            .and("at < ?")
            .bind(until)
            .push(" order by revision desc, ordinal desc")
            .limit(MOST_CHANGES)
            .all(&self.reader)
            .await?;
        changes.reverse();
        Ok(changes)
    }
}

/// How rows name what a decision is about.
pub(super) const fn about_key(about: About) -> (&'static str, u64) {
    match about {
        About::Engine => ("engine", 0),
        About::Instance(id) => ("instance", id.0),
        About::Cluster(id) => ("cluster", id.0),
        About::Node(id) => ("node", id.0),
        About::Job(id) => ("job", id.0),
        About::Schedule(id) => ("schedule", id.0),
        About::Budget => ("budget", 0),
    }
}
