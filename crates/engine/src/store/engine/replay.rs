//! Working the batches out again, from the oldest snapshot that is kept: what a bug is hunted with.

use atelier_domain::time::{Now, Timestamp};
use atelier_domain::world::{Input, Outcome, Record, World};
use sqlx::any::AnyRow;

use super::trace::Trace;
use crate::store::sql::{self, Columns as _, Sql};
use crate::store::{Error, Result, Store};

/// Batches in one bite: their inputs may be large.
const BITE: i64 = 256;

/// What a replay came to.
#[derive(Debug)]
pub struct Replay {
    /// The World after the last batch.
    pub world: World,
    /// How many batches were worked out.
    pub batches: u64,
    /// The revision of the first batch that went another way, if any did.
    pub differs_at: Option<i64>,
}

/// Why there is nothing to replay.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// Nothing to begin with.
    #[error("no snapshot is kept, so there is nothing to begin a replay with")]
    NoSnapshot,
    /// What is asked for is older than all that is kept.
    #[error("that is older than the log, which can be replayed from {since:?} on")]
    TooOld {
        /// From then on it can be replayed.
        since: Timestamp,
    },
    /// There was no such batch.
    #[error("nothing was decided there: no batch of the log has that number")]
    NoSuchBatch,
    #[error(transparent)]
    Store(#[from] Error),
}

/// A batch as it was written down.
pub(super) struct PastBatch {
    pub revision: i64,
    pub now: Now,
    pub inputs: Vec<Input>,
    is_load: bool,
    outcome: String,
}

impl sql::Record for PastBatch {
    const COLUMNS: &'static [&'static str] = &["revision", "wall", "mono", "is_load", "inputs", "outcome"];

    fn read(row: &AnyRow) -> Result<Self> {
        Ok(Self {
            revision: row.read("revision")?,
            now: Now { wall: row.read("wall")?, mono: row.read("mono")? },
            inputs: row.json("a batch", "inputs")?,
            is_load: row.read("is_load")?,
            outcome: row.read("outcome")?,
        })
    }
}

impl PastBatch {
    /// The next few from a revision on.
    pub async fn some(store: &Store, from: i64, to: i64) -> Result<Vec<Self>> {
        let sql = Sql::of::<Self>("batches").and("revision >= ?").bind(from).and("revision <= ?").bind(to);
        sql.push(" order by revision").limit(BITE).all(&store.reader).await
    }

    /// The World that it is worked out in.
    pub fn prepare(&self, world: &mut World) {
        if self.is_load {
            *world = World::load(world.records(), self.now);
        }
    }

    /// Works it out, and says whether that went as it did then.
    pub fn step(&self, world: &mut World) -> (Outcome, bool) {
        let outcome = world.step(&self.inputs, self.now);
        let is_same = Trace::of(world, &outcome, self.revision, self.now).hash == self.outcome;
        (outcome, is_same)
    }
}

impl Store {
    /// Works out all batches that follow the oldest snapshot (or the newest, if `newest`), and compares what
    /// followed from each with what was written then.
    pub async fn replay(&self, newest: bool) -> std::result::Result<Replay, ReplayError> {
        let sql = Sql::select("revision, records", "snapshots");
        let sql = if newest {
            sql.push(" order by revision desc limit 1")
        } else {
            sql.and("revision in (select revision from batches)").push(" order by revision limit 1")
        };
        let row = sql.row(&self.reader).await?.ok_or(ReplayError::NoSnapshot)?;
        let (mut from, records): (i64, Vec<Record>) = (row.read("revision")?, row.json("a snapshot", "records")?);
        let mut replay = Replay { world: World::load(records, Now::default()), batches: 0, differs_at: None };
        loop {
            let batches = PastBatch::some(self, from, i64::MAX).await?;
            for batch in &batches {
                batch.prepare(&mut replay.world);
                if !batch.step(&mut replay.world).1 {
                    replay.differs_at.get_or_insert(batch.revision);
                }
                replay.batches += 1;
                from = batch.revision + 1;
            }
            if batches.len() < BITE.unsigned_abs() as usize {
                return Ok(replay);
            }
        }
    }
}
