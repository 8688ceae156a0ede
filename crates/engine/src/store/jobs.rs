//! Reading jobs: one, a page of them, and what they run. They are written by the engine's loop alone.

use std::collections::{BTreeMap, HashMap};

use atelier_domain::compute::JobId;
use atelier_domain::compute::job::{Job, JobState, Target, Verdict};
use atelier_domain::compute::tags::Tags;
use atelier_domain::{Timestamp, UserId, WorkspaceId};
use atelier_protocol::Task;
use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::sql::Sql;
use super::{Error, Result, Store, like_pattern};

/// How many ids one statement names at most.
const AT_ONCE: usize = 500;

const COLUMNS: &str = "j.body, j.ended_at, j.verdict, p.name, p.tags";
const FROM: &str = " from jobs j left join job_payloads p on p.job_id = j.payload_id where ";
/// The same of jobs that have no rows of their own.
const FROM_RANGES: &str = " from job_ranges j left join job_payloads p on p.job_id = j.payload_id where ";

/// A job, over or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRow {
    /// Its record, as it is or as it was when it was over.
    pub job: Job,
    pub state: JobState,
    /// When it was over.
    pub ended: Option<Timestamp>,
    pub verdict: Option<Verdict>,
    /// What people call it.
    pub name: String,
    /// What people note about it.
    pub tags: Tags,
}

/// One line of a list: a job, or an array of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobLine {
    /// The job; the first of an array that fits.
    pub row: JobRow,
    /// How many jobs of the array are in which state, those included that do not fit; empty for a job by
    /// itself.
    pub array: BTreeMap<JobState, u64>,
    /// How many of them are not made yet: they wait, and nothing has happened to them.
    pub unmade: u64,
}

/// Which jobs.
#[derive(Clone, Debug, Default)]
pub struct JobFilter {
    /// In one of these states; in any if none is named.
    pub states: Vec<JobState>,
    pub owner: Option<UserId>,
    pub target: Option<Target>,
    /// On any serverless compute.
    pub is_serverless: bool,
    /// Part of the name.
    pub part: String,
    /// A tag: its name, or `name=value`.
    pub tag: String,
    /// Of this array, by the first job of it.
    pub array: Option<JobId>,
    /// Only those before this one: the page of older ones.
    pub before: Option<JobId>,
    /// Only those after this one, the oldest of them first: the page of newer ones.
    pub after: Option<JobId>,
    /// How many at most.
    pub limit: i64,
}

impl Store {
    /// A job of a workspace.
    pub async fn job(&self, workspace: &WorkspaceId, id: JobId) -> Result<Option<JobRow>> {
        let mut sql = Sql::new(format!("select {COLUMNS}{FROM}j.id = "));
        sql.bind(number(id)).push(" and j.workspace_id = ").bind(workspace.as_str());
        if let Some(row) = sql.rows(&self.reader).await?.first() {
            return job_row(row).map(Some);
        }
        let found = self.jobs_in_ranges(&[id]).await?.remove(&id);
        if let Some(row) = found {
            return Ok(Some(row).filter(|row| row.job.workspace == *workspace));
        }
        // It may have been made between the two looks.
        let mut again = self.jobs_by_id(&[id]).await?;
        Ok(again.remove(&id).filter(|row| row.job.workspace == *workspace))
    }

    /// Jobs of a workspace, the newest first; those [`JobFilter::after`] a job the oldest first.
    pub async fn jobs(&self, workspace: &WorkspaceId, filter: &JobFilter) -> Result<Vec<JobRow>> {
        let mut sql = Sql::new(format!("select {COLUMNS}{FROM}"));
        restrict(&mut sql, workspace, filter);
        page(&mut sql, filter, "j.id");
        sql.push(&format!(" order by j.id {} limit ", direction(filter))).bind(filter.limit);
        let mut rows: Vec<JobRow> = sql.rows(&self.reader).await?.iter().map(job_row).collect::<Result<_>>()?;
        rows.extend(self.page_of_ranges(workspace, filter).await?);
        rows.sort_by_key(|row| row.job.id);
        // One that was made between the two looks is in both.
        rows.dedup_by_key(|row| row.job.id);
        if filter.after.is_none() {
            rows.reverse();
        }
        rows.truncate(usize::try_from(filter.limit).unwrap_or_default());
        Ok(rows)
    }

    /// Jobs without rows of their own that belong on a page.
    async fn page_of_ranges(&self, workspace: &WorkspaceId, filter: &JobFilter) -> Result<Vec<JobRow>> {
        let mut sql = Sql::new(format!("select {COLUMNS}, j.first_id, j.last_id{FROM_RANGES}"));
        restrict(&mut sql, workspace, filter);
        if let Some(before) = filter.before {
            sql.push(" and j.first_id < ").bind(number(before));
        }
        if let Some(after) = filter.after {
            sql.push(" and j.last_id > ").bind(number(after));
        }
        sql.push(&format!(" order by j.first_id {} limit ", direction(filter))).bind(filter.limit);
        let most = usize::try_from(filter.limit).unwrap_or_default();
        let mut rows = Vec::new();
        for range in sql.rows(&self.reader).await? {
            let range = Range::read(&range)?;
            let from = filter.after.map_or(range.first, |after| range.first.max(after.0.saturating_add(1)));
            let to = filter.before.map_or(range.last, |before| range.last.min(before.0.saturating_sub(1)));
            let ids: Box<dyn Iterator<Item = u64>> =
                if filter.after.is_some() { Box::new(from..=to) } else { Box::new((from..=to).rev()) };
            rows.extend(ids.take(most.saturating_sub(rows.len())).filter_map(|id| range.row(JobId(id))));
        }
        Ok(rows)
    }

    /// Those of these jobs that have no rows of their own.
    async fn jobs_in_ranges(&self, ids: &[JobId]) -> Result<HashMap<JobId, JobRow>> {
        let mut found = HashMap::new();
        let (Some(least), Some(most)) = (ids.iter().min(), ids.iter().max()) else { return Ok(found) };
        let mut sql = Sql::new(format!("select {COLUMNS}, j.first_id, j.last_id{FROM_RANGES}j.last_id >= "));
        sql.bind(number(*least)).push(" and j.first_id <= ").bind(number(*most));
        let ranges = sql.rows(&self.reader).await?.iter().map(Range::read).collect::<Result<Vec<_>>>()?;
        for id in ids {
            found.extend(ranges.iter().find_map(|range| range.row(*id)).map(|row| (*id, row)));
        }
        Ok(found)
    }

    /// The first jobs of the arrays of those of these jobs that have no rows of their own: under them is kept
    /// what they run.
    pub(super) async fn arrays_of(&self, ids: &[JobId]) -> Result<HashMap<JobId, JobId>> {
        let rows = self.jobs_in_ranges(ids).await?;
        Ok(rows.into_iter().map(|(id, row)| (id, row.job.payload())).collect())
    }

    /// The same with a line for each array in place of one for each of its jobs.
    pub async fn job_lines(&self, workspace: &WorkspaceId, filter: &JobFilter) -> Result<Vec<JobLine>> {
        let mut sql = Sql::new(format!("select j.payload_id, min(j.id){FROM}"));
        restrict(&mut sql, workspace, filter);
        page(&mut sql, filter, "j.payload_id");
        sql.push(" group by j.payload_id");
        sql.push(&format!(" order by j.payload_id {} limit ", direction(filter))).bind(filter.limit);
        let mut firsts: BTreeMap<i64, JobId> = BTreeMap::new();
        for row in sql.rows(&self.reader).await? {
            firsts.insert(row.get(0), id(row.get(1)));
        }
        let mut sql = Sql::new(format!("select j.payload_id, min(j.first_id){FROM_RANGES}"));
        restrict(&mut sql, workspace, filter);
        page(&mut sql, filter, "j.payload_id");
        sql.push(" group by j.payload_id");
        sql.push(&format!(" order by j.payload_id {} limit ", direction(filter))).bind(filter.limit);
        for row in sql.rows(&self.reader).await? {
            let first = id(row.get(1));
            firsts.entry(row.get(0)).and_modify(|known| *known = first.min(*known)).or_insert(first);
        }
        let mut ids: Vec<JobId> = firsts.into_values().collect();
        if filter.after.is_none() {
            ids.reverse();
        }
        ids.truncate(usize::try_from(filter.limit).unwrap_or_default());
        let mut rows = self.jobs_by_id(&ids).await?;
        let arrays: Vec<JobId> = rows.values().filter_map(|row| row.job.array.map(|place| place.first)).collect();
        let mut counts = self.array_counts(&arrays).await?;
        let lines = ids.iter().filter_map(|id| rows.remove(id)).map(|row| {
            let (array, unmade) = row.job.array.and_then(|place| counts.remove(&place.first)).unwrap_or_default();
            JobLine { row, array, unmade }
        });
        Ok(lines.collect())
    }

    /// How many jobs fit in each state, wherever the page starts.
    pub async fn job_counts(&self, workspace: &WorkspaceId, filter: &JobFilter) -> Result<BTreeMap<JobState, u64>> {
        let mut sql = Sql::new("select j.state, cast(count(*) as bigint)");
        // Only what is asked for is joined: counting all jobs must not look at what they run.
        let is_joined = !filter.part.trim().is_empty() || !filter.tag.trim().is_empty();
        sql.push(if is_joined { FROM } else { " from jobs j where " });
        restrict(&mut sql, workspace, filter);
        sql.push(" group by j.state");
        let mut counts = BTreeMap::new();
        for row in sql.rows(&self.reader).await? {
            add(&mut counts, row.get(0), row.get(1));
        }
        let mut sql = Sql::new("select j.state, cast(sum(j.last_id - j.first_id + 1) as bigint)");
        sql.push(if is_joined { FROM_RANGES } else { " from job_ranges j where " });
        restrict(&mut sql, workspace, filter);
        sql.push(" group by j.state");
        for row in sql.rows(&self.reader).await? {
            add(&mut counts, row.get(0), row.get(1));
        }
        Ok(counts)
    }

    /// What jobs run; those that are not known are left out. Jobs of an array run the same.
    pub async fn job_tasks(&self, ids: &[JobId]) -> Result<HashMap<JobId, Task>> {
        let mut tasks = HashMap::with_capacity(ids.len());
        for ids in ids.chunks(AT_ONCE) {
            let mut sql = Sql::new(
                "select j.id, p.body from jobs j join job_payloads p on p.job_id = j.payload_id where j.id in ",
            );
            bind_ids(&mut sql, ids);
            for row in sql.rows(&self.reader).await? {
                tasks.insert(id(row.get(0)), read("a job’s payload", row.get(1))?);
            }
        }
        let missing: Vec<JobId> = ids.iter().copied().filter(|id| !tasks.contains_key(id)).collect();
        for (job, array) in self.arrays_of(&missing).await? {
            let mut sql = Sql::new("select body from job_payloads where job_id = ");
            sql.bind(number(array));
            if let Some(row) = sql.rows(&self.reader).await?.first() {
                tasks.insert(job, read("a job’s payload", row.get(0))?);
            }
        }
        Ok(tasks)
    }

    /// When jobs were submitted, and when they ended if they have. What is not known is left out.
    pub async fn job_times(&self, ids: &[JobId]) -> Result<HashMap<JobId, (Timestamp, Option<Timestamp>)>> {
        let mut times = HashMap::with_capacity(ids.len());
        for ids in ids.chunks(AT_ONCE) {
            let mut sql = Sql::new("select id, submitted_at, ended_at from jobs where id in ");
            bind_ids(&mut sql, ids);
            for row in sql.rows(&self.reader).await? {
                let ended: i64 = row.get(2);
                times.insert(id(row.get(0)), (Timestamp(row.get(1)), (ended > 0).then_some(Timestamp(ended))));
            }
        }
        Ok(times)
    }

    /// What jobs have cost so far, in billionths of the currency, as far as it is settled; none of the hours
    /// before that of `since` are looked at. What cost nothing is left out.
    pub async fn job_costs(
        &self,
        workspace: &WorkspaceId,
        ids: &[JobId],
        since: Timestamp,
    ) -> Result<HashMap<JobId, u64>> {
        let mut costs = HashMap::with_capacity(ids.len());
        for ids in ids.chunks(AT_ONCE) {
            let mut sql = Sql::new("select job_id, cast(sum(cost) as bigint) from ledger where workspace_id = ");
            sql.bind(workspace.as_str()).push(" and hour >= ").bind(since.0.div_euclid(3_600_000));
            sql.push(" and job_id in ");
            bind_ids(&mut sql, ids);
            sql.push(" group by job_id");
            for row in sql.rows(&self.reader).await? {
                costs.insert(id(row.get(0)), u64::try_from(row.get::<i64, _>(1)).unwrap_or_default());
            }
        }
        Ok(costs)
    }

    async fn jobs_by_id(&self, ids: &[JobId]) -> Result<HashMap<JobId, JobRow>> {
        let mut found = HashMap::with_capacity(ids.len());
        for ids in ids.chunks(AT_ONCE) {
            let mut sql = Sql::new(format!("select {COLUMNS}{FROM}j.id in "));
            bind_ids(&mut sql, ids);
            for row in sql.rows(&self.reader).await? {
                let row = job_row(&row)?;
                found.insert(row.job.id, row);
            }
        }
        let missing: Vec<JobId> = ids.iter().copied().filter(|id| !found.contains_key(id)).collect();
        found.extend(self.jobs_in_ranges(&missing).await?);
        Ok(found)
    }

    /// How many jobs of arrays are in which state, and how many are not made yet.
    async fn array_counts(&self, arrays: &[JobId]) -> Result<HashMap<JobId, (BTreeMap<JobState, u64>, u64)>> {
        let mut counts: HashMap<JobId, (BTreeMap<JobState, u64>, u64)> = HashMap::new();
        for arrays in arrays.chunks(AT_ONCE) {
            let mut sql = Sql::new("select payload_id, state, cast(count(*) as bigint) from jobs where payload_id in ");
            bind_ids(&mut sql, arrays);
            sql.push(" group by payload_id, state");
            for row in sql.rows(&self.reader).await? {
                add(&mut counts.entry(id(row.get(0))).or_default().0, row.get(1), row.get(2));
            }
            let mut sql = Sql::new(
                "select payload_id, state, cast(sum(last_id - first_id + 1) as bigint), \
                 cast(sum(case when ended_at = 0 then last_id - first_id + 1 else 0 end) as bigint) \
                 from job_ranges where payload_id in ",
            );
            bind_ids(&mut sql, arrays);
            sql.push(" group by payload_id, state");
            for row in sql.rows(&self.reader).await? {
                let (states, unmade) = counts.entry(id(row.get(0))).or_default();
                add(states, row.get(1), row.get(2));
                *unmade += u64::try_from(row.get::<i64, _>(3)).unwrap_or_default();
            }
        }
        Ok(counts)
    }
}

/// Jobs of an array that share a row.
struct Range {
    first: u64,
    last: u64,
    /// The first of them.
    row: JobRow,
}

impl Range {
    /// Reads [`COLUMNS`], the first and the last id.
    fn read(row: &AnyRow) -> Result<Self> {
        let (first, last) = (id(row.get(5)).0, id(row.get(6)).0);
        Ok(Self { first, last, row: job_row(row)? })
    }

    fn row(&self, id: JobId) -> Option<JobRow> {
        let ahead = id.0.checked_sub(self.first).filter(|_| id.0 <= self.last)?;
        let job = self.row.job.ahead_in_array(u32::try_from(ahead).ok()?);
        Some(JobRow { job, ..self.row.clone() })
    }
}

fn restrict(sql: &mut Sql, workspace: &WorkspaceId, filter: &JobFilter) {
    sql.push("j.workspace_id = ").bind(workspace.as_str());
    if !filter.states.is_empty() {
        sql.push(" and j.state in ").bind_list(filter.states.iter().map(|state| state.key()));
    }
    if let Some(owner) = &filter.owner {
        sql.push(" and j.owner_id = ").bind(owner.as_str());
    }
    if let Some(target) = &filter.target {
        let (kind, id) = match target {
            Target::Cluster(id) => ("cluster", id.0.to_string()),
            Target::Instance(id) => ("instance", id.0.to_string()),
            Target::Serverless(size) => ("serverless", size.to_string()),
        };
        sql.push(" and j.target_kind = ").bind(kind).push(" and j.target_id = ").bind(id);
    }
    if filter.is_serverless {
        sql.push(" and j.target_kind = 'serverless'");
    }
    if let Some(first) = filter.array {
        sql.push(" and j.payload_id = ").bind(number(first));
    }
    let part = filter.part.trim();
    if !part.is_empty() {
        sql.push(" and lower(p.name) like ").bind(like_pattern(part)).push(" escape '\\'");
    }
    if let Some(text) = tag_text(&filter.tag) {
        sql.push(" and lower(p.tags) like ").bind(like_pattern(&text)).push(" escape '\\'");
    }
}

/// A tag as it stands in the JSON of all tags. A quotation mark within another one is escaped there, so this
/// finds names and values alone.
fn tag_text(tag: &str) -> Option<String> {
    let (name, value) = match tag.trim().split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim())),
        None => (tag.trim(), None),
    };
    if name.is_empty() {
        return None;
    }
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let value = value.map(quoted).unwrap_or_default();
    Some(format!("{}:{value}", quoted(name)))
}

fn page(sql: &mut Sql, filter: &JobFilter, column: &str) {
    if let Some(before) = filter.before {
        sql.push(&format!(" and {column} < ")).bind(number(before));
    }
    if let Some(after) = filter.after {
        sql.push(&format!(" and {column} > ")).bind(number(after));
    }
}

const fn direction(filter: &JobFilter) -> &'static str {
    if filter.after.is_some() { "asc" } else { "desc" }
}

pub(super) fn bind_ids(sql: &mut Sql, ids: &[JobId]) {
    sql.push("(");
    for (index, id) in ids.iter().enumerate() {
        if index > 0 {
            sql.push(", ");
        }
        sql.bind(number(*id));
    }
    sql.push(")");
}

/// Reads [`COLUMNS`].
fn job_row(row: &AnyRow) -> Result<JobRow> {
    let job: Job = read("a job", row.get(0))?;
    let (ended, verdict): (i64, String) = (row.get(1), row.get(2));
    let verdict: Option<Verdict> = if verdict.is_empty() { None } else { Some(read("a job’s verdict", verdict)?) };
    let (name, tags): (Option<String>, Option<String>) = (row.get(3), row.get(4));
    Ok(JobRow {
        state: verdict.as_ref().map_or_else(|| job.state(), JobState::of),
        ended: (ended > 0).then_some(Timestamp(ended)),
        verdict,
        name: name.unwrap_or_default(),
        tags: tags.map(|tags| read("a job’s tags", tags)).transpose()?.unwrap_or_default(),
        job,
    })
}

fn read<T: serde::de::DeserializeOwned>(what: &'static str, value: String) -> Result<T> {
    serde_json::from_str(&value).map_err(|_| Error::Unreadable { what, value })
}

fn add(counts: &mut BTreeMap<JobState, u64>, state: String, count: i64) {
    if let Some(state) = JobState::ALL.into_iter().find(|known| known.key() == state) {
        *counts.entry(state).or_default() += u64::try_from(count).unwrap_or_default();
    }
}

/// Ids are counted up from 1, so they never reach the end of the store's numbers; whoever types more finds
/// nothing.
fn number(id: JobId) -> i64 {
    i64::try_from(id.0).unwrap_or(i64::MAX)
}

fn id(number: i64) -> JobId {
    JobId(u64::try_from(number).unwrap_or_default())
}
