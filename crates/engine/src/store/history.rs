//! Reading the history. It is written by [`super::WriteTx::record`] alone.

use atelier_domain::{Timestamp, UserId, WorkspaceId};

use super::sql::{Order, Page, Sql, record};
use super::{Result, Store};

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// The revision it belongs to.
    pub revision: i64,
    /// Its place in that revision.
    pub ordinal: i64,
    pub at: Timestamp,
    /// Who, if a person.
    pub actor: Option<UserId>,
    pub actor_name: String,
    /// The kind of event.
    pub kind: String,
    /// What was done, without the actor.
    pub sentence: String,
    pub why: Option<String>,
    pub request: Option<String>,
}

/// Which entries.
#[derive(Clone, Debug, Default)]
pub struct HistoryFilter {
    /// Part of a name, a sentence or a reason.
    pub part: String,
    /// Only what this person did or what was done to them.
    pub about: Option<UserId>,
    /// Only what others did to this person.
    pub done_to: Option<UserId>,
    /// Only what happened to the instance of this name since then.
    pub instance: Option<(String, Timestamp)>,
    /// Only before this entry.
    pub before: Option<(i64, i64)>,
    /// How many at most.
    pub limit: i64,
}

record!(HistoryEntry {
    revision: "revision",
    ordinal: "ordinal",
    at: "at",
    actor: "actor_id",
    actor_name: "actor_name",
    kind: "kind",
    sentence: "sentence",
    why: "why",
    request: "request",
});

impl Store {
    /// The history of a workspace, newest first.
    pub async fn history(&self, workspace: &WorkspaceId, filter: &HistoryFilter) -> Result<Vec<HistoryEntry>> {
        let mut sql = Sql::of::<HistoryEntry>("history").eq("workspace_id", workspace);
        if let Some(person) = &filter.about {
            sql = sql.and("(actor_id = ? or subject_id = ?)").bind(person).bind(person);
        }
        if let Some(person) = &filter.done_to {
            sql = sql.eq("subject_id", person).and("actor_id <> ?").bind(person);
        }
        if let Some((instance, since)) = &filter.instance {
            // The index holds no others.
            sql = sql.and("instance <> ''").eq("instance", instance.as_str()).and("at >= ?").bind(*since);
        }
        sql.like(&["search_key"], &filter.part)
            .page(Page {
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
