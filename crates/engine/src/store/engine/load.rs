//! Reading the World back.

use atelier_domain::time::{Mono, Timestamp};
use atelier_domain::world::Record;
use serde::de::DeserializeOwned;
use sqlx::Row as _;

use crate::store::{Error, Result, Store};

/// What the store knows of the engine's last batch: where its clocks go on from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Previous {
    /// The wall clock then.
    pub wall: Timestamp,
    /// The clock that only goes forward.
    pub mono: Mono,
    /// Which run of the machine.
    pub boot: String,
    /// How long the machine had run, in milliseconds.
    pub uptime: i64,
}

/// Everything that is alive.
#[derive(Debug)]
pub struct Loaded {
    /// The records of the World.
    pub records: Vec<Record>,
    /// The last batch, if there was one.
    pub previous: Option<Previous>,
    /// When the last snapshot was taken.
    pub snapshot_at: Option<Timestamp>,
}

impl Store {
    /// Reads everything that is alive.
    pub async fn load_engine(&self) -> Result<Loaded> {
        let mut records = Vec::new();
        self.each("select body from engine_records", "an engine record", |record| records.push(record)).await?;
        self.each("select body from instances", "an instance", |it| records.push(Record::Instance(it))).await?;
        self.each("select body from clusters", "a cluster", |it| records.push(Record::Cluster(it))).await?;
        self.each("select body from nodes order by id", "a node", |it| records.push(Record::Node(it))).await?;
        let jobs = "select body from jobs where ended_at = 0 order by id";
        self.each(jobs, "a job", |it| records.push(Record::Job(it))).await?;
        self.each("select body from schedules", "a schedule", |it| records.push(Record::Schedule(it))).await?;
        let last = "select wall, mono, boot, uptime from batches order by revision desc limit 1";
        let previous = self.reader.row(sqlx::query(last)).await?.map(|row| Previous {
            wall: Timestamp(row.get(0)),
            mono: Mono(u64::try_from(row.get::<i64, _>(1)).unwrap_or_default()),
            boot: row.get(2),
            uptime: row.get(3),
        });
        let last = "select wall from snapshots order by revision desc limit 1";
        let snapshot_at = self.reader.row(sqlx::query(last)).await?.map(|row| Timestamp(row.get(0)));
        Ok(Loaded { records, previous, snapshot_at })
    }

    /// Reads one JSON text after another.
    async fn each<T: DeserializeOwned>(
        &self,
        text: &'static str,
        what: &'static str,
        mut take: impl FnMut(T),
    ) -> Result<()> {
        let mut unreadable = None;
        self.reader
            .each(sqlx::query(text), |row| {
                let body: &str = row.get(0);
                match serde_json::from_str(body) {
                    Ok(value) => take(value),
                    Err(error) => drop(unreadable.get_or_insert_with(|| {
                        let start: String = body.chars().take(80).collect();
                        format!("{start}… ({error})")
                    })),
                }
            })
            .await?;
        unreadable.map_or(Ok(()), |value| Err(Error::Unreadable { what, value }))
    }
}
