//! Reading what was decided and why. It is written by the engine's batches alone.

use atelier_domain::WorkspaceId;
use atelier_domain::compute::{ClusterId, InstanceId, JobId, NodeId};
use atelier_domain::time::Timestamp;
use atelier_domain::world::About;
use sqlx::Row as _;

use super::sql::Sql;
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
        let mut sql = Sql::new(
            "select revision, ordinal, at, about_kind, about_id, code, sentence from decisions where workspace_id = ",
        );
        sql.bind(workspace.as_str()).push(" and (");
        for (index, about) in filter.about.iter().enumerate() {
            let (kind, id) = key(*about);
            sql.push(if index > 0 { " or (about_kind = " } else { "(about_kind = " }).bind(kind);
            sql.push(" and about_id = ").bind(id).push(")");
        }
        sql.push(")");
        if let Some((revision, ordinal)) = filter.before {
            sql.push(" and (revision < ").bind(revision);
            sql.push(" or (revision = ").bind(revision);
            sql.push(" and ordinal < ").bind(ordinal).push("))");
        }
        sql.push(" order by revision desc, ordinal desc limit ").bind(filter.limit);
        let rows = sql.rows(&self.reader).await?;
        Ok(rows
            .iter()
            .map(|row| DecisionEntry {
                revision: row.get(0),
                ordinal: row.get(1),
                at: Timestamp(row.get(2)),
                about: about(row.get(3), row.get(4)),
                code: row.get(5),
                sentence: row.get(6),
            })
            .collect())
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

/// The most changes that are looked at.
const MOST_CHANGES: i64 = 50_000;

impl Store {
    /// When instances of a workspace stopped and why, and when they had a node again, the oldest first: as
    /// far back as decisions are kept.
    pub async fn power_changes(&self, workspace: &WorkspaceId, until: Timestamp) -> Result<Vec<PowerChange>> {
        let mut sql = Sql::new("select about_id, at, code from decisions where workspace_id = ");
        sql.bind(workspace.as_str());
        sql.push(
            " and about_kind = 'instance' and code in ('by-schedule', 'as-postponed', 'idle', 'by-person', \
             'node-ready')",
        );
        sql.push(" and at < ").bind(until.0);
        sql.push(" order by revision desc, ordinal desc limit ").bind(MOST_CHANGES);
        let rows = sql.rows(&self.reader).await?;
        let change = |row: &sqlx::any::AnyRow| PowerChange {
            instance: InstanceId(u64::try_from(row.get::<i64, _>(0)).unwrap_or_default()),
            at: Timestamp(row.get(1)),
            code: row.get(2),
        };
        Ok(rows.iter().rev().map(change).collect())
    }
}

fn key(about: About) -> (&'static str, i64) {
    let (kind, id) = match about {
        About::Engine => ("engine", 0),
        About::Instance(id) => ("instance", id.0),
        About::Cluster(id) => ("cluster", id.0),
        About::Node(id) => ("node", id.0),
        About::Job(id) => ("job", id.0),
        About::Schedule(id) => ("schedule", id.0),
        About::Budget => ("budget", 0),
    };
    (kind, i64::try_from(id).unwrap_or(i64::MAX))
}

fn about(kind: String, id: i64) -> About {
    let id = u64::try_from(id).unwrap_or_default();
    match kind.as_str() {
        "instance" => About::Instance(InstanceId(id)),
        "cluster" => About::Cluster(ClusterId(id)),
        "node" => About::Node(NodeId(id)),
        "job" => About::Job(JobId(id)),
        "schedule" => About::Schedule(atelier_domain::compute::ScheduleId(id)),
        "budget" => About::Budget,
        _ => About::Engine,
    }
}
