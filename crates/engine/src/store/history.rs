//! Reading the history. It is written by [`super::WriteTx::record`] alone.

use atelier_domain::{Timestamp, UserId, WorkspaceId};
use sqlx::Row as _;

use super::sql::Sql;
use super::{Result, Store, like_pattern};

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

impl Store {
    /// The history of a workspace, newest first.
    pub async fn history(&self, workspace: &WorkspaceId, filter: &HistoryFilter) -> Result<Vec<HistoryEntry>> {
        let mut sql = Sql::new(
            "select revision, ordinal, at, actor_id, actor_name, kind, sentence, why, request from history where \
             workspace_id = ",
        );
        sql.bind(workspace.as_str());
        if let Some(person) = &filter.about {
            sql.push(" and (actor_id = ").bind(person.as_str());
            sql.push(" or subject_id = ").bind(person.as_str()).push(")");
        }
        if let Some(person) = &filter.done_to {
            sql.push(" and subject_id = ").bind(person.as_str());
            sql.push(" and actor_id <> ").bind(person.as_str());
        }
        if let Some((instance, since)) = &filter.instance {
            // The index holds no others.
            sql.push(" and instance <> '' and instance = ").bind(instance.as_str());
            sql.push(" and at >= ").bind(since.0);
        }
        let part = filter.part.trim();
        if !part.is_empty() {
            sql.push(" and search_key like ").bind(like_pattern(part)).push(" escape '\\'");
        }
        if let Some((revision, ordinal)) = filter.before {
            sql.push(" and (revision < ").bind(revision);
            sql.push(" or (revision = ").bind(revision);
            sql.push(" and ordinal < ").bind(ordinal).push("))");
        }
        sql.push(" order by revision desc, ordinal desc limit ").bind(filter.limit);
        let rows = sql.rows(&self.reader).await?;
        let filled = |text: String| (!text.is_empty()).then_some(text);
        Ok(rows
            .iter()
            .map(|row| HistoryEntry {
                revision: row.get(0),
                ordinal: row.get(1),
                at: Timestamp(row.get(2)),
                actor: filled(row.get(3)).map(UserId::new),
                actor_name: row.get(4),
                kind: row.get(5),
                sentence: row.get(6),
                why: filled(row.get(7)),
                request: filled(row.get(8)),
            })
            .collect())
    }
}
