//! Dropping what has been kept long enough, in small bites between batches.

use atelier_domain::time::{Mono, Span};

use crate::store::sql::Sql;
use crate::store::{Result, Store};

/// How long things are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Batches and snapshots, for a replay. The newest of each stays.
    pub batches: Span,
    pub commands: Span,
    pub decisions: Span,
}

impl Default for Keep {
    fn default() -> Self {
        Self { batches: Span::hours(24 * 7), commands: Span::hours(24 * 7), decisions: Span::hours(24 * 90) }
    }
}

/// Small rows that go in one statement: some ten milliseconds.
const BITE: i64 = 2_000;
/// Batches hold all that went into them, up to some megabytes.
const BATCH_BITE: i64 = 50;
/// A snapshot may be tens of megabytes.
const SNAPSHOT_BITE: i64 = 1;

impl Store {
    /// Drops a bite of what is too old. Says whether there may be more.
    ///
    /// Age is measured on the clock that only goes forward: a wall clock that is ahead for a while must not
    /// make the engine forget which commands it has answered.
    pub(crate) async fn prune_engine(&self, keep: Keep, now: Mono) -> Result<bool> {
        // Revisions go with the time, so the oldest of them are looked at without an index of their own,
        // which every batch would have to write.
        let statements = [
            (
                "delete from batches where mono < ? and revision in (select revision from batches where \
                 revision < (select max(revision) from batches) order by revision limit ?)",
                keep.batches,
                BATCH_BITE,
            ),
            (
                "delete from snapshots where mono < ? and revision in (select revision from snapshots where \
                 revision < (select max(revision) from snapshots) order by revision limit ?)",
                keep.batches,
                SNAPSHOT_BITE,
            ),
            (
                "delete from commands where (id, workspace_id) in (select id, workspace_id from commands where mono \
                 < ? order by mono limit ?)",
                keep.commands,
                BITE,
            ),
            (
                "delete from decisions where mono < ? and (revision, ordinal) in (select revision, ordinal from \
                 decisions order by revision, ordinal limit ?)",
                keep.decisions,
                BITE,
            ),
        ];
        let mut has_more = false;
        for (statement, kept, bite) in statements {
            let before = i64::try_from(now.0).unwrap_or(i64::MAX).saturating_sub(kept.as_millis());
            let dropped = self.write(Sql::new(statement).bind(before).bind(bite)).await?;
            has_more |= dropped >= bite.unsigned_abs();
        }
        Ok(has_more)
    }
}
