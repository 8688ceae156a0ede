//! Reading the World back.

use atelier_domain::compute::job::Job;
use atelier_domain::time::{Mono, Timestamp};
use atelier_domain::world::Record;
use serde::de::DeserializeOwned;
use sqlx::any::AnyArguments;
use sqlx::query::Query;
use sqlx::{Any, Row as _};

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

/// Jobs that are read with one statement.
const PAGE: i64 = 20_000;

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
        self.each_job(|job| records.push(Record::Job(job))).await?;
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

    /// Reads the jobs that are not over, a part at a time: a statement that takes too long is ended by the
    /// database.
    async fn each_job(&self, mut take: impl FnMut(Box<Job>)) -> Result<()> {
        let text = "select body from jobs where ended_at = 0 and id > $1 order by id limit $2";
        let mut last = 0;
        loop {
            let (after, mut count) = (last, 0);
            let query = sqlx::query(text).bind(after).bind(PAGE);
            self.each_of(query, "a job", |job: Box<Job>| {
                last = i64::try_from(job.id.0).unwrap_or(i64::MAX);
                count += 1;
                take(job);
            })
            .await?;
            if count < PAGE {
                return Ok(());
            }
        }
    }

    /// Reads one JSON text after another.
    async fn each<T: DeserializeOwned>(
        &self,
        text: &'static str,
        what: &'static str,
        take: impl FnMut(T),
    ) -> Result<()> {
        self.each_of(sqlx::query(text), what, take).await
    }

    async fn each_of<'q, T: DeserializeOwned>(
        &self,
        query: Query<'q, Any, AnyArguments<'q>>,
        what: &'static str,
        mut take: impl FnMut(T),
    ) -> Result<()> {
        let mut unreadable = None;
        self.reader
            .each(query, |row| {
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
