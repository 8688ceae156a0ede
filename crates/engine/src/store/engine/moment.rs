//! One batch of the past taken once more: the World before it, what came in, and what was decided.

use atelier_domain::time::{Now, Timestamp};
use atelier_domain::world::{Decision, Input, Record, World};

use super::replay::{PastBatch, ReplayError};
use crate::store::Store;
use crate::store::sql::{Columns as _, Sql};

/// Which batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one of this revision.
    Revision(i64),
    /// The last one up to then.
    At(Timestamp),
}

/// A batch of the past.
#[derive(Debug)]
pub struct Moment {
    pub revision: i64,
    pub now: Now,
    /// The World just before.
    pub before: World,
    /// The World just after.
    pub after: World,
    pub inputs: Vec<Input>,
    /// What was decided, worked out once more.
    pub decisions: Vec<Decision>,
    /// The snapshot that the replay began with: its revision, and when it was taken.
    pub from: (i64, Timestamp),
    /// How many batches were worked out before it.
    pub batches: u64,
    /// The first batch that went another way than it did then, if any did.
    pub differs_at: Option<i64>,
}

impl Store {
    /// Works out a batch of the past once more, beginning with the last snapshot before it.
    pub async fn replay_moment(&self, which: Which) -> Result<Moment, ReplayError> {
        let target = self.batch_of(which).await?;
        let sql = replayable("revision, wall, records").and("revision <= ?").bind(target);
        let Some(row) = sql.push(" order by revision desc limit 1").row(&self.reader).await? else {
            return Err(self.reaches_back(target).await?);
        };
        let (start, taken): (i64, Timestamp) = (row.read("revision")?, row.read("wall")?);
        let mut world = World::load(row.json::<Vec<Record>>("a snapshot", "records")?, Now::default());
        let (mut from, mut batches, mut differs_at) = (start, 0, None);
        loop {
            let some = PastBatch::some(self, from, target).await?;
            if some.is_empty() {
                return Err(self.reaches_back(target).await?);
            }
            for batch in some {
                batch.prepare(&mut world);
                let before = (batch.revision == target).then(|| world.clone());
                let (outcome, is_same) = batch.step(&mut world);
                if !is_same {
                    differs_at.get_or_insert(batch.revision);
                }
                if let Some(before) = before {
                    return Ok(Moment {
                        revision: batch.revision,
                        now: batch.now,
                        before,
                        after: world,
                        inputs: batch.inputs,
                        decisions: outcome.decisions,
                        from: (start, taken),
                        batches,
                        differs_at,
                    });
                }
                batches += 1;
                from = batch.revision + 1;
            }
        }
    }

    async fn batch_of(&self, which: Which) -> Result<i64, ReplayError> {
        let sql = Sql::select("max(revision)", "batches");
        let (sql, revision) = match which {
            Which::Revision(revision) => (sql.eq("revision", revision), revision),
            Which::At(at) => (sql.and("wall <= ?").bind(at), 0),
        };
        match sql.value::<Option<i64>>(&self.reader).await?.flatten() {
            Some(found) => Ok(found),
            None => Err(self.reaches_back(revision).await?),
        }
    }

    /// From when on something can be replayed.
    async fn reaches_back(&self, revision: i64) -> Result<ReplayError, ReplayError> {
        let sql = replayable("revision, wall").push(" order by revision limit 1");
        Ok(match sql.row(&self.reader).await? {
            Some(row) if revision < row.read("revision")? => ReplayError::TooOld { since: row.read("wall")? },
            Some(_) => ReplayError::NoSuchBatch,
            None => ReplayError::NoSnapshot,
        })
    }

    /// The decisions of one batch as they were written down: the code of each reason, and its sentence.
    pub async fn decisions_of(&self, revision: i64) -> crate::store::Result<Vec<(String, String)>> {
        let sql = Sql::select("code, sentence", "decisions").eq("revision", revision).push(" order by ordinal");
        let rows = sql.rows(&self.reader).await?;
        rows.iter().map(|row| Ok((row.read("code")?, row.read("sentence")?))).collect()
    }

    /// The revisions of all batches that decided something, the oldest first.
    pub async fn deciding_batches(&self) -> crate::store::Result<Vec<i64>> {
        let sql = Sql::select("distinct d.revision", "decisions d join batches b on b.revision = d.revision");
        sql.push(" order by d.revision").values(&self.reader).await
    }
}

/// Snapshots whose own batch is kept too.
fn replayable(columns: &str) -> Sql {
    Sql::select(columns, "snapshots").and("revision in (select revision from batches)")
}
