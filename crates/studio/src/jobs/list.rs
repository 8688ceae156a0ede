//! The list of jobs.

use std::collections::BTreeMap;
use std::sync::Arc;

use atelier_domain::access::Action;
use atelier_domain::compute::JobId;
use atelier_domain::compute::job::{JobState, Target};
use atelier_domain::compute::size::{ComputeName, Tier};
use atelier_domain::compute::tags::Tags;
use atelier_domain::compute::verb::JobVerb;
use atelier_domain::error::AppError;
use atelier_domain::text::search_text;
use atelier_domain::world::{ComputeRef, PoolKey};
use atelier_domain::{Money, Timestamp, UserId};
use atelier_engine::store::{JobFilter, JobLine, JobRow};
use atelier_simulate::forecast::Eta;

use crate::caller::Caller;
use crate::forecast::etas as forecast;
use crate::jobs::view::{Compute, StateTab, charged, offer, standings};
use crate::offer::Offer;
use crate::orders::ask;
use crate::people::names::Names;

const PAGE: usize = 50;

/// What the list shows, as the URL holds it: `?q=&state=&owner=&compute=&tag=&array=&after=&before=`.
#[derive(Clone, Debug, Default)]
pub struct JobsQuery {
    pub q: String,
    pub state: Option<StateTab>,
    pub is_mine: bool,
    /// Only on this cluster, or on `serverless`.
    pub compute: String,
    /// Only with this tag: `name` or `name=value`.
    pub tag: String,
    /// Only those of an array, one line each.
    pub array: Option<JobId>,
    /// The page of newer ones than this.
    pub after: Option<JobId>,
    /// The page of older ones than this.
    pub before: Option<JobId>,
}

/// One page of the list.
#[derive(Clone, Debug)]
pub struct JobsPage {
    pub lines: Vec<JobView>,
    /// How many jobs fit, by state, whatever the tab.
    pub counts: BTreeMap<JobState, u64>,
    /// The cursor for `before` of the next page.
    pub next: Option<JobId>,
    /// The cursor for `after` of the page before.
    pub previous: Option<JobId>,
    /// The clusters there are, by name.
    pub clusters: Vec<String>,
    /// Whether there is no job at all, filter or not.
    pub is_empty_studio: bool,
}

/// An array as a line.
#[derive(Clone, Debug)]
pub struct ArrayView {
    pub first: JobId,
    pub count: u32,
    pub states: BTreeMap<JobState, u64>,
    /// How many of them are not made yet: they wait, and nothing has happened to them.
    pub unmade: u64,
}

/// A line of the list: a job, or an array of them.
#[derive(Clone, Debug)]
pub struct JobView {
    pub id: JobId,
    pub name: String,
    pub state: JobState,
    /// Why it is so, as a sentence; empty if that goes without saying.
    pub reason: String,
    /// When it starts, while it waits.
    pub eta: Option<Eta>,
    pub compute: Compute,
    pub owner: UserId,
    pub owner_name: String,
    pub submitted: Timestamp,
    /// When it began to run, and when that was over.
    pub ran: Option<(Timestamp, Option<Timestamp>)>,
    /// What it has cost so far; none where that is not for the caller to know.
    pub cost: Option<Money>,
    pub currency: String,
    /// What the caller may do to it, or to the first job of the array.
    pub verbs: Offer<JobVerb>,
    pub tags: Tags,
    /// The array, if this is the line of one.
    pub array: Option<ArrayView>,
    pub is_held: bool,
    pub tier: Tier,
    /// Its number in its array, if the array is listed job by job.
    pub index: Option<u32>,
}

/// One page of the list. Needs `job.read`.
pub async fn list_jobs(caller: &Caller, query: &JobsQuery) -> Result<JobsPage, AppError> {
    let actor = caller.authorise(Action::JobRead).await?;
    let workspace = &actor.workspace.id;
    let (clusters, target) = computes(caller, &query.compute).await?;
    let mut filter = JobFilter {
        states: Vec::new(),
        owner: query.is_mine.then(|| actor.person.id.clone()),
        is_serverless: query.compute == "serverless",
        part: search_text(&query.q),
        tag: search_text(&query.tag),
        array: query.array,
        ..JobFilter::default()
    };
    let is_nowhere = !query.compute.is_empty() && !filter.is_serverless && target.is_none();
    filter.target = target;
    if is_nowhere {
        let (lines, counts) = (Vec::new(), BTreeMap::new());
        return Ok(JobsPage { lines, counts, next: None, previous: None, clusters, is_empty_studio: false });
    }
    let counts = caller.checked(caller.store().job_counts(workspace, &filter).await)?;
    filter.states = query.state.map(|tab| tab.states().to_vec()).unwrap_or_default();
    (filter.before, filter.after) = (query.before, query.after);
    filter.limit = PAGE as i64 + 1;
    let mut lines: Vec<JobLine> = match query.array {
        Some(_) => {
            let rows = caller.checked(caller.store().jobs(workspace, &filter).await)?;
            rows.into_iter().map(|row| JobLine { row, array: BTreeMap::new(), unmade: 0 }).collect()
        }
        None => caller.checked(caller.store().job_lines(workspace, &filter).await)?,
    };
    let has_more = lines.len() > PAGE;
    lines.truncate(PAGE);
    if filter.after.is_some() {
        lines.reverse();
    }
    let cursor = |line: &JobLine| if query.array.is_some() { line.row.job.id } else { line.row.job.payload() };
    let has_newer = filter.before.is_some() || (filter.after.is_some() && has_more);
    let has_older = filter.after.is_some() || has_more;
    let previous = lines.first().map(cursor).filter(|_| has_newer);
    let next = lines.last().map(cursor).filter(|_| has_older);
    let is_empty_studio = lines.is_empty() && counts.is_empty() && {
        let all = caller.checked(caller.store().job_counts(workspace, &JobFilter::default()).await)?;
        all.is_empty()
    };
    let lines = views(caller, lines).await?;
    Ok(JobsPage { lines, counts, next, previous, clusters, is_empty_studio })
}

/// The newest jobs, for Home; nothing for who may not see any.
pub async fn recent_jobs(caller: &Caller, limit: usize) -> Result<Arc<Vec<JobView>>, AppError> {
    let actor = caller.actor()?;
    if !actor.person.rights().may_at_all(Action::JobRead) {
        return Ok(Arc::default());
    }
    let workspace = &actor.workspace.id;
    let read = async {
        let filter = JobFilter { limit: i64::try_from(limit).unwrap_or(i64::MAX), ..JobFilter::default() };
        let lines = caller.checked(caller.store().job_lines(workspace, &filter).await)?;
        views(caller, lines).await
    };
    caller.studio.reads().jobs.get(&caller.studio, (workspace.clone(), limit), read).await
}

/// The names of all clusters, and what the named one is.
async fn computes(caller: &Caller, named: &str) -> Result<(Vec<String>, Option<Target>), AppError> {
    let workspace = caller.actor()?.workspace.id.clone();
    let wanted = ComputeName::parse(named).ok();
    ask(caller, move |world| {
        let mut clusters: Vec<String> = world
            .clusters()
            .filter(|cluster| cluster.workspace == workspace)
            .map(|cluster| cluster.name.to_string())
            .collect();
        clusters.sort();
        let target = wanted.and_then(|name| world.compute(&workspace, &name)).map(|found| match found {
            ComputeRef::Cluster(id) => Target::Cluster(id),
            ComputeRef::Instance(id) => Target::Instance(id),
        });
        (clusters, target)
    })
    .await
}

/// Rows with all that a line says about them.
async fn views(caller: &Caller, lines: Vec<JobLine>) -> Result<Vec<JobView>, AppError> {
    if lines.is_empty() {
        return Ok(Vec::new());
    }
    let actor = caller.actor()?;
    let names = Names::of(caller, lines.iter().map(|line| line.row.job.owner.clone())).await?;
    let rows: Vec<&JobRow> = lines.iter().map(|line| &line.row).collect();
    let charged = charged(caller, &rows).await?;
    let mut standings = standings(caller, &rows).await?;
    let waits = |line: &&JobLine| line.array.is_empty() && line.row.ended.is_none() && line.row.job.is_queued();
    let waiting = lines.iter().filter(waits).map(|line| (PoolKey::of_job(&line.row.job), line.row.job.id)).collect();
    let mut etas = forecast::etas(caller, waiting).await;
    let currency = &caller.studio.settings().currency;
    let view = |line: JobLine| {
        let JobLine { row, array, unmade } = line;
        let standing = standings.remove(&row.job.id);
        let why = standing.as_ref().and_then(|standing| standing.why(&row));
        let unsettled = standing.as_ref().filter(|_| array.is_empty()).map_or(Money::ZERO, |it| it.unsettled);
        let verbs = offer(actor, &row);
        let (compute, tier) = standing.map_or_else(
            || (Compute::Gone(String::new()), Tier::Dedicated),
            |standing| (standing.compute, standing.tier),
        );
        let owner_name = names.name(&row.job.owner);
        let place = row.job.array;
        JobView {
            id: row.job.id,
            state: row.state,
            reason: why.map(|why| why.sentence).unwrap_or_default(),
            eta: etas.remove(&row.job.id),
            compute,
            owner_name,
            submitted: row.job.submitted,
            ran: row.job.when.started.map(|started| (started, row.job.when.ending.or(row.ended))),
            cost: charged.get(&row.job.id).map(|cost| cost.plus(unsettled)),
            currency: currency.clone(),
            verbs,
            is_held: row.job.held.is_some(),
            tier,
            index: place.filter(|_| array.is_empty()).map(|place| place.index),
            array: place.filter(|_| !array.is_empty()).map(|place| ArrayView {
                first: place.first,
                count: place.count,
                states: array,
                unmade,
            }),
            owner: row.job.owner,
            name: row.name,
            tags: row.tags,
        }
    };
    Ok(lines.into_iter().map(view).collect())
}
