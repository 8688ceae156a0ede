//! One batch of the past taken once more: the World before it, what came in, and what was decided.

use atelier_domain::time::{Mono, Now, Timestamp};
use atelier_domain::world::{Decision, Input, Record, World};
use sqlx::Row as _;

use super::replay::{ReplayError, read};
use super::trace::Trace;
use crate::store::Store;

/// Batches in one bite: their inputs may be large.
const BITE: i64 = 256;

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
        let text = "select s.revision, s.wall, s.records from snapshots s where s.revision <= $1 and s.revision in \
                    (select revision from batches) order by s.revision desc limit 1";
        let Some(row) = self.reader.row(sqlx::query(text).bind(target)).await? else {
            return Err(self.reaches_back(target).await?);
        };
        let (start, taken, records): (i64, i64, String) = (row.get(0), row.get(1), row.get(2));
        let records: Vec<Record> = read("a snapshot", &records)?;
        let mut world = World::load(records, Now::default());
        let (mut from, mut batches, mut differs_at) = (start, 0, None);
        loop {
            let text = "select revision, wall, mono, is_load, inputs, outcome from batches where revision >= $1 and \
                        revision <= $2 order by revision limit $3";
            let rows = self.reader.rows(sqlx::query(text).bind(from).bind(target).bind(BITE)).await?;
            if rows.is_empty() {
                return Err(self.reaches_back(target).await?);
            }
            for row in &rows {
                let revision: i64 = row.get(0);
                let mono = Mono(u64::try_from(row.get::<i64, _>(2)).unwrap_or_default());
                let now = Now { wall: Timestamp(row.get(1)), mono };
                if row.get::<i64, _>(3) == 1 {
                    world = World::load(world.records(), now);
                }
                let inputs: Vec<Input> = read("a batch", row.get(4))?;
                let before = (revision == target).then(|| world.clone());
                let outcome = world.step(&inputs, now);
                if Trace::of(&world, &outcome, revision, now).hash != row.get::<&str, _>(5) {
                    differs_at.get_or_insert(revision);
                }
                if let Some(before) = before {
                    let (decisions, from) = (outcome.decisions, (start, Timestamp(taken)));
                    return Ok(Moment {
                        revision,
                        now,
                        before,
                        after: world,
                        inputs,
                        decisions,
                        from,
                        batches,
                        differs_at,
                    });
                }
                batches += 1;
                from = revision + 1;
            }
        }
    }

    async fn batch_of(&self, which: Which) -> Result<i64, ReplayError> {
        let query = match which {
            Which::Revision(revision) => {
                sqlx::query("select max(revision) from batches where revision = $1").bind(revision)
            }
            Which::At(at) => sqlx::query("select max(revision) from batches where wall <= $1").bind(at.0),
        };
        let found: Option<i64> = self.reader.row(query).await?.and_then(|row| row.get(0));
        match found {
            Some(revision) => Ok(revision),
            None => Err(self.reaches_back(if let Which::Revision(revision) = which { revision } else { 0 }).await?),
        }
    }

    /// From when on something can be replayed.
    async fn reaches_back(&self, revision: i64) -> Result<ReplayError, ReplayError> {
        let text = "select s.revision, s.wall from snapshots s where s.revision in (select revision from batches) \
                    order by s.revision limit 1";
        Ok(match self.reader.row(sqlx::query(text)).await? {
            Some(row) if revision < row.get::<i64, _>(0) => ReplayError::TooOld { since: Timestamp(row.get(1)) },
            Some(_) => ReplayError::NoSuchBatch,
            None => ReplayError::NoSnapshot,
        })
    }

    /// The decisions of one batch as they were written down: the code of each reason, and its sentence.
    pub async fn decisions_of(&self, revision: i64) -> crate::store::Result<Vec<(String, String)>> {
        let query =
            sqlx::query("select code, sentence from decisions where revision = $1 order by ordinal").bind(revision);
        let rows = self.reader.rows(query).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// The revisions of all batches that decided something, the oldest first.
    pub async fn deciding_batches(&self) -> crate::store::Result<Vec<i64>> {
        let text =
            "select distinct d.revision from decisions d join batches b on b.revision = d.revision order by d.revision";
        let rows = self.reader.rows(sqlx::query(text)).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}
