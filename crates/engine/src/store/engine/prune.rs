//! Dropping what has been kept long enough, in small bites between batches.

use atelier_domain::time::{Span, Timestamp};

use crate::store::{Result, Store};

/// How long things are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Batches and snapshots, for a replay. The newest of each stays.
    pub batches: Span,
    /// Answers to commands.
    pub commands: Span,
    /// Decisions.
    pub decisions: Span,
}

impl Default for Keep {
    fn default() -> Self {
        Self { batches: Span::hours(24 * 7), commands: Span::hours(24 * 7), decisions: Span::hours(24 * 90) }
    }
}

/// Rows that go in one statement: some ten milliseconds.
const BITE: i64 = 2_000;

impl Store {
    /// Drops a bite of what is too old. Says whether there may be more.
    pub(crate) async fn prune_engine(&self, keep: Keep, now: Timestamp) -> Result<bool> {
        // Revisions go with the time, so the oldest of them are looked at without an index of their own, which every batch
        // would have to write.
        let statements = [
            (
                "delete from batches where wall < $1 and revision in (select revision from batches where \
                 revision < (select max(revision) from batches) order by revision limit $2)",
                keep.batches,
            ),
            (
                "delete from snapshots where wall < $1 and revision in (select revision from snapshots where \
                 revision < (select max(revision) from snapshots) order by revision limit $2)",
                keep.batches,
            ),
            (
                "delete from commands where (id, workspace_id) in (select id, workspace_id from commands where at < $1 \
                 order by at limit $2)",
                keep.commands,
            ),
            (
                "delete from decisions where at < $1 and (revision, ordinal) in (select revision, ordinal from decisions \
                 order by revision, ordinal limit $2)",
                keep.decisions,
            ),
        ];
        let mut has_more = false;
        for (statement, kept) in statements {
            let _in_line = self.write_lock.lock().await;
            let before = now.0.saturating_sub(kept.as_millis());
            let done = sqlx::query(statement).bind(before).bind(BITE).execute(&self.writer).await?;
            has_more |= done.rows_affected() >= BITE.unsigned_abs();
        }
        Ok(has_more)
    }
}
