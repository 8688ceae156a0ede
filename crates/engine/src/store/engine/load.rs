//! Reading the World back.

use atelier_domain::compute::JobId;
use atelier_domain::compute::job::Job;
use atelier_domain::time::{Mono, Timestamp};
use atelier_domain::world::Record;
use serde::de::DeserializeOwned;

use crate::store::sql::{Columns as _, Order, Page, Sql, record};
use crate::store::{Result, Store};

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

record!(Previous { wall: "wall", mono: "mono", boot: "boot", uptime: "uptime" });

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
        self.each("engine_records", "an engine record", |record| records.push(record)).await?;
        self.each("instances", "an instance", |it| records.push(Record::Instance(it))).await?;
        self.each("clusters", "a cluster", |it| records.push(Record::Cluster(it))).await?;
        self.each("nodes order by id", "a node", |it| records.push(Record::Node(it))).await?;
        self.each_job(|job| records.push(Record::Job(job))).await?;
        self.each("schedules", "a schedule", |it| records.push(Record::Schedule(it))).await?;
        let previous =
            Sql::of::<Previous>("batches").push(" order by revision desc limit 1").first(&self.reader).await?;
        let snapshots = Sql::select("wall", "snapshots").push(" order by revision desc limit 1");
        let snapshot_at = snapshots.value(&self.reader).await?;
        Ok(Loaded { records, previous, snapshot_at })
    }

    /// Reads the jobs that are not over, a part at a time: a statement that takes too long is ended by the
    /// database.
    async fn each_job(&self, mut take: impl FnMut(Box<Job>)) -> Result<()> {
        let mut last = JobId(0);
        loop {
            let page =
                Page { by: ["id"], order: Order::Ascending, before: None, after: Some([last.into()]), limit: PAGE };
            let mut count = 0;
            let sql = Sql::select("body", "jobs").and("ended_at = 0").page(page);
            self.each_of(sql, "a job", |job: Box<Job>| {
                last = job.id;
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
    async fn each<T: DeserializeOwned>(&self, from: &str, what: &'static str, take: impl FnMut(T)) -> Result<()> {
        self.each_of(Sql::select("body", from), what, take).await
    }

    async fn each_of<T: DeserializeOwned>(&self, sql: Sql, what: &'static str, mut take: impl FnMut(T)) -> Result<()> {
        let mut unreadable = Ok(());
        sql.each(&self.reader, |row| match row.json(what, "body") {
            Ok(value) => take(value),
            Err(error) => unreadable = Err(error),
        })
        .await?;
        unreadable
    }
}
