//! Reading jobs: one, a page of them, and what they run. They are written by the engine's loop alone.

use std::collections::{BTreeMap, HashMap};

use atelier_domain::compute::JobId;
use atelier_domain::compute::job::{Job, JobState, Target, Verdict};
use atelier_domain::compute::tags::Tags;
use atelier_domain::world::Charge;
use atelier_domain::{Timestamp, UserId, WorkspaceId};
use atelier_protocol::Task;
use sqlx::any::AnyRow;

use super::ledger::{sums, sums_by};
use super::sql::{AT_ONCE, Columns as _, Order, Page, Record, Sql, from_json, record};
use super::{Result, Store};

/// Where jobs are, those with a row each and those of arrays that share rows, and what they run. A job that
/// gets a row of its own between two looks may be found by both, or by neither.
const JOBS: &str = "jobs j left join job_payloads p on p.job_id = j.payload_id";
const RANGES: &str = "job_ranges j left join job_payloads p on p.job_id = j.payload_id";

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
        let mut found = self.jobs_by_id(&[id]).await?;
        if found.is_empty() {
            // It may have been made between the two looks.
            found = self.jobs_by_id(&[id]).await?;
        }
        Ok(found.remove(&id).filter(|row| row.job.workspace == *workspace))
    }

    /// Jobs of a workspace, the newest first; those [`JobFilter::after`] a job the oldest first.
    pub async fn jobs(&self, workspace: &WorkspaceId, filter: &JobFilter) -> Result<Vec<JobRow>> {
        let sql = restrict(Sql::of::<JobRow>(JOBS), workspace, filter).page(page(filter, "j.id"));
        let mut rows: Vec<JobRow> = sql.all(&self.reader).await?;
        rows.extend(self.page_of_ranges(workspace, filter).await?);
        rows.sort_by_key(|row| row.job.id);
        rows.dedup_by_key(|row| row.job.id);
        if filter.after.is_none() {
            rows.reverse();
        }
        rows.truncate(usize::try_from(filter.limit).unwrap_or_default());
        Ok(rows)
    }

    /// Jobs without rows of their own that belong on a page.
    async fn page_of_ranges(&self, workspace: &WorkspaceId, filter: &JobFilter) -> Result<Vec<JobRow>> {
        // The page may begin in the middle of a range.
        let sql = restrict(Sql::of::<(Bounds, JobRow)>(RANGES), workspace, filter)
            .and_if("j.first_id < ?", filter.before)
            .and_if("j.last_id > ?", filter.after)
            .page(Page { before: None, after: None, ..page(filter, "j.first_id") });
        let most = usize::try_from(filter.limit).unwrap_or_default();
        let mut rows = Vec::new();
        for range in sql.all::<Range>(&self.reader).await? {
            let Bounds { first, last } = range.0;
            let from = filter.after.map_or(first, |after| first.max(after.0.saturating_add(1)));
            let to = filter.before.map_or(last, |before| last.min(before.0.saturating_sub(1)));
            let ids: Box<dyn Iterator<Item = u64>> =
                if filter.after.is_some() { Box::new(from..=to) } else { Box::new((from..=to).rev()) };
            rows.extend(ids.take(most.saturating_sub(rows.len())).filter_map(|id| in_range(&range, JobId(id))));
        }
        Ok(rows)
    }

    /// Those of these jobs that have no rows of their own.
    async fn jobs_in_ranges(&self, ids: &[JobId]) -> Result<HashMap<JobId, JobRow>> {
        let mut found = HashMap::new();
        let (Some(least), Some(most)) = (ids.iter().min(), ids.iter().max()) else { return Ok(found) };
        let sql = Sql::of::<Range>(RANGES).and("j.last_id >= ?").bind(*least).and("j.first_id <= ?").bind(*most);
        let ranges: Vec<Range> = sql.all(&self.reader).await?;
        for id in ids {
            found.extend(ranges.iter().find_map(|range| in_range(range, *id)).map(|row| (*id, row)));
        }
        Ok(found)
    }

    /// The same with a line for each array in place of one for each of its jobs.
    pub async fn job_lines(&self, workspace: &WorkspaceId, filter: &JobFilter) -> Result<Vec<JobLine>> {
        let mut firsts: BTreeMap<i64, JobId> = BTreeMap::new();
        for (from, id) in [(JOBS, "j.id"), (RANGES, "j.first_id")] {
            let sql = Sql::select(&format!("j.payload_id as payload, min({id}) as first"), from);
            let sql = restrict(sql, workspace, filter).page_of_groups(page(filter, "j.payload_id"));
            for row in sql.rows(&self.reader).await? {
                let first = row.read("first")?;
                let known = firsts.entry(row.read("payload")?).or_insert(first);
                *known = first.min(*known);
            }
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
        // Only what is asked for is joined: counting all jobs must not look at what they run.
        let is_joined = !filter.part.trim().is_empty() || !filter.tag.trim().is_empty();
        let [jobs, ranges] = if is_joined { [JOBS, RANGES] } else { ["jobs j", "job_ranges j"] };
        let mut counts = BTreeMap::new();
        for (from, count) in [(jobs, "count(*)"), (ranges, "sum(j.last_id - j.first_id + 1)")] {
            let sql = Sql::select(&format!("j.state as state, cast({count} as bigint) as jobs"), from);
            for row in restrict(sql, workspace, filter).push(" group by j.state").rows(&self.reader).await? {
                add(&mut counts, &row)?;
            }
        }
        Ok(counts)
    }

    /// What jobs run; those that are not known are left out. Jobs of an array run the same.
    pub async fn job_tasks(&self, ids: &[JobId]) -> Result<HashMap<JobId, Task>> {
        let bodies = self.payloads_of(ids, "body").await?;
        bodies.into_iter().map(|(id, body)| Ok((id, from_json("a job’s payload", &body)?))).collect()
    }

    /// The names of jobs; those that are not known are left out.
    pub async fn job_names(&self, ids: &[JobId]) -> Result<HashMap<JobId, String>> {
        self.payloads_of(ids, "name").await
    }

    /// A column of what jobs run; those that are not known are left out.
    pub(super) async fn payloads_of(&self, ids: &[JobId], column: &str) -> Result<HashMap<JobId, String>> {
        let mut found = HashMap::with_capacity(ids.len());
        for ids in ids.chunks(AT_ONCE) {
            let from = "jobs j join job_payloads p on p.job_id = j.payload_id";
            let sql = Sql::select(&format!("j.id as id, p.{column} as payload"), from);
            for row in sql.within("j.id", ids.iter().copied()).rows(&self.reader).await? {
                found.insert(row.read("id")?, row.read("payload")?);
            }
        }
        let missing: Vec<JobId> = ids.iter().copied().filter(|id| !found.contains_key(id)).collect();
        for (id, row) in self.jobs_in_ranges(&missing).await? {
            let sql = Sql::select(column, "job_payloads").eq("job_id", row.job.payload());
            found.extend(sql.value(&self.reader).await?.map(|payload: String| (id, payload)));
        }
        Ok(found)
    }

    /// When jobs were submitted, and when they ended if they have. What is not known is left out.
    pub async fn job_times(&self, ids: &[JobId]) -> Result<HashMap<JobId, (Timestamp, Option<Timestamp>)>> {
        let mut times = HashMap::with_capacity(ids.len());
        for ids in ids.chunks(AT_ONCE) {
            let sql = Sql::select("id, submitted_at, ended_at", "jobs").within("id", ids.iter().copied());
            for row in sql.rows(&self.reader).await? {
                times.insert(row.read("id")?, (row.read("submitted_at")?, row.read("ended_at")?));
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
            let sql = sums_by("job_id").eq("workspace_id", workspace);
            let sql = sql.and("hour >= ?").bind(since.0.div_euclid(3_600_000)).within("job_id", ids.iter().copied());
            let sums: Vec<(JobId, Charge)> = sums(sql.push(" group by job_id"), &self.reader).await?;
            costs.extend(sums.into_iter().map(|(id, charge)| (id, charge.cost)));
        }
        Ok(costs)
    }

    async fn jobs_by_id(&self, ids: &[JobId]) -> Result<HashMap<JobId, JobRow>> {
        let mut found = HashMap::with_capacity(ids.len());
        for ids in ids.chunks(AT_ONCE) {
            let sql = Sql::of::<JobRow>(JOBS).within("j.id", ids.iter().copied());
            found.extend(sql.all(&self.reader).await?.into_iter().map(|row: JobRow| (row.job.id, row)));
        }
        let missing: Vec<JobId> = ids.iter().copied().filter(|id| !found.contains_key(id)).collect();
        found.extend(self.jobs_in_ranges(&missing).await?);
        Ok(found)
    }

    /// How many jobs of arrays are in which state, and how many are not made yet.
    async fn array_counts(&self, arrays: &[JobId]) -> Result<HashMap<JobId, (BTreeMap<JobState, u64>, u64)>> {
        let mut counts: HashMap<JobId, (BTreeMap<JobState, u64>, u64)> = HashMap::new();
        for arrays in arrays.chunks(AT_ONCE) {
            for (from, jobs, unmade) in [
                ("jobs", "count(*)", "0"),
                (
                    "job_ranges",
                    "sum(last_id - first_id + 1)",
                    "sum(case when ended_at = 0 then last_id - first_id + 1 else 0 end)",
                ),
            ] {
                let columns =
                    format!("payload_id, state, cast({jobs} as bigint) as jobs, cast({unmade} as bigint) as unmade");
                let sql = Sql::select(&columns, from).within("payload_id", arrays.iter().copied());
                for row in sql.push(" group by payload_id, state").rows(&self.reader).await? {
                    let (states, all_unmade) = counts.entry(row.read("payload_id")?).or_default();
                    add(states, &row)?;
                    *all_unmade += row.read::<u64>("unmade")?;
                }
            }
        }
        Ok(counts)
    }
}

/// Jobs of an array that share a row: where they begin and end, and the first of them.
type Range = (Bounds, JobRow);

struct Bounds {
    first: u64,
    last: u64,
}

record!(Bounds { first: "j.first_id", last: "j.last_id" });

fn in_range((bounds, first): &Range, id: JobId) -> Option<JobRow> {
    let ahead = id.0.checked_sub(bounds.first).filter(|_| id.0 <= bounds.last)?;
    let job = first.job.ahead_in_array(u32::try_from(ahead).ok()?);
    Some(JobRow { job, ..first.clone() })
}

fn restrict(sql: Sql, workspace: &WorkspaceId, filter: &JobFilter) -> Sql {
    let mut sql = sql.eq("j.workspace_id", workspace);
    if !filter.states.is_empty() {
        sql = sql.within("j.state", filter.states.iter().map(|state| state.key()));
    }
    if let Some(target) = &filter.target {
        let (kind, id) = target_key(target);
        sql = sql.eq("j.target_kind", kind).eq("j.target_id", id);
    }
    if filter.is_serverless {
        sql = sql.and("j.target_kind = 'serverless'");
    }
    sql.and_if("j.owner_id = ?", filter.owner.as_ref())
        .and_if("j.payload_id = ?", filter.array)
        .like(&["lower(p.name)"], &filter.part)
        .like(&["lower(p.tags)"], &tag_text(&filter.tag).unwrap_or_default())
}

/// Where a job runs, as rows say it.
pub(super) fn target_key(target: &Target) -> (&'static str, String) {
    match target {
        Target::Cluster(id) => ("cluster", id.0.to_string()),
        Target::Instance(id) => ("instance", id.0.to_string()),
        Target::Serverless(size) => ("serverless", size.to_string()),
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

fn page<'a>(filter: &JobFilter, column: &'a str) -> Page<'a, 1> {
    Page {
        by: [column],
        order: if filter.after.is_some() { Order::Ascending } else { Order::Descending },
        before: filter.before.map(|id| [id.into()]),
        after: filter.after.map(|id| [id.into()]),
        limit: filter.limit,
    }
}

impl Record for JobRow {
    const COLUMNS: &'static [&'static str] = &["j.body", "j.ended_at", "j.verdict", "p.name", "p.tags"];

    fn read(row: &AnyRow) -> Result<Self> {
        let job: Job = row.json("a job", "j.body")?;
        let verdict: Option<String> = row.read("j.verdict")?;
        let verdict: Option<Verdict> = verdict.map(|verdict| from_json("a job’s verdict", &verdict)).transpose()?;
        let tags: Option<String> = row.read("p.tags")?;
        Ok(Self {
            state: verdict.as_ref().map_or_else(|| job.state(), JobState::of),
            ended: row.read("j.ended_at")?,
            verdict,
            name: row.read::<Option<String>>("p.name")?.unwrap_or_default(),
            tags: tags.map(|tags| from_json("a job’s tags", &tags)).transpose()?.unwrap_or_default(),
            job,
        })
    }
}

/// Adds the jobs of a row to those of its state.
fn add(counts: &mut BTreeMap<JobState, u64>, row: &AnyRow) -> Result<()> {
    if let Some(state) = JobState::from_key(&row.read::<String>("state")?) {
        *counts.entry(state).or_default() += row.read::<u64>("jobs")?;
    }
    Ok(())
}
