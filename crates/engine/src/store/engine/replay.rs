//! Working the batches out again, from the oldest snapshot that is kept: what a bug is hunted with.

use atelier_domain::time::{Mono, Now, Timestamp};
use atelier_domain::world::{Input, Record, World};
use sqlx::Row as _;

use super::trace::Trace;
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

impl From<sqlx::Error> for ReplayError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

impl Store {
    /// Works out all batches that follow the oldest snapshot (or the newest, if `newest`), and compares what
    /// followed from each with what was written then.
    pub async fn replay(&self, newest: bool) -> std::result::Result<Replay, ReplayError> {
        let text = if newest {
            "select revision, records from snapshots order by revision desc limit 1"
        } else {
            "select revision, records from snapshots where revision in (select revision from batches) \
             order by revision limit 1"
        };
        let row = self.reader.row(sqlx::query(text)).await?.ok_or(ReplayError::NoSnapshot)?;
        let (mut from, records): (i64, String) = (row.get(0), row.get(1));
        let records: Vec<Record> = read("a snapshot", &records)?;
        let mut replay = Replay { world: World::load(records, Now::default()), batches: 0, differs_at: None };
        loop {
            let text = "select revision, wall, mono, is_load, inputs, outcome from batches where revision >= $1 \
                        order by revision limit $2";
            let rows = self.reader.rows(sqlx::query(text).bind(from).bind(BITE)).await?;
            for row in &rows {
                let revision: i64 = row.get(0);
                let mono = Mono(u64::try_from(row.get::<i64, _>(2)).unwrap_or_default());
                let now = Now { wall: Timestamp(row.get(1)), mono };
                if row.get::<i64, _>(3) == 1 {
                    replay.world = World::load(replay.world.records(), now);
                }
                let inputs: Vec<Input> = read("a batch", row.get(4))?;
                let outcome = replay.world.step(&inputs, now);
                let hash = Trace::of(&replay.world, &outcome, revision, now).hash;
                if hash != row.get::<&str, _>(5) {
                    replay.differs_at.get_or_insert(revision);
                }
                replay.batches += 1;
                from = revision + 1;
            }
            if rows.len() < BITE.unsigned_abs() as usize {
                return Ok(replay);
            }
        }
    }
}

pub(super) fn read<T: serde::de::DeserializeOwned>(what: &'static str, json: &str) -> Result<T> {
    serde_json::from_str(json).map_err(|error| Error::Unreadable { what, value: error.to_string() })
}
