//! When waiting jobs will start: worked out beside the loop from an excerpt of the World, and kept for a few
//! seconds.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use atelier_domain::WorkspaceId;
use atelier_domain::compute::JobId;
use atelier_domain::compute::job::{Job, JobPhase};
use atelier_domain::compute::size::SizeName;
use atelier_domain::time::Span;
use atelier_domain::world::{Excerpt, PoolKey, Record};
use atelier_engine::clock;
use atelier_simulate::forecast::{self, Eta, Expectations};
use tokio::sync::{Mutex as Turn, Semaphore};

use crate::caller::Caller;
use crate::forecast::past::Past;
use crate::studio::Studio;

const FRESH: Duration = Duration::from_secs(3);
/// How long it counts for who asks about a job that came since.
const FRESH_AT_LEAST: Duration = Duration::from_secs(1);
/// Nobody's page waits longer for a forecast; the next one finds it.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// Jobs and nodes in one excerpt.
pub const MOST: usize = 5_000;
/// Forecasts that nobody has asked for as long as this are dropped.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// Forecasts that were made lately, one for each queue.
pub struct Forecasts {
    kept: Mutex<HashMap<PoolKey, Arc<Turn<Option<Kept>>>>>,
    past: Past,
    launches: Mutex<BTreeMap<SizeName, Span>>,
    /// One at a time: the loop has the other cores.
    pub turn: Semaphore,
}

impl Default for Forecasts {
    fn default() -> Self {
        let (kept, past, launches) = (Mutex::default(), Past::default(), Mutex::default());
        Self { kept, past, launches, turn: Semaphore::new(1) }
    }
}

struct Kept {
    made: Instant,
    etas: Arc<HashMap<JobId, Eta>>,
}

impl Kept {
    fn serves(&self, jobs: &[JobId]) -> bool {
        let age = clock::instant().saturating_duration_since(self.made);
        age < FRESH_AT_LEAST || (age < FRESH && jobs.iter().all(|job| self.etas.contains_key(job)))
    }
}

/// When these jobs start that are not over. What cannot be said in time is left out.
pub async fn etas(caller: &Caller, jobs: Vec<(PoolKey, JobId)>) -> HashMap<JobId, Eta> {
    let mut pools: HashMap<PoolKey, Vec<JobId>> = HashMap::new();
    for (pool, job) in jobs {
        pools.entry(pool).or_default().push(job);
    }
    let mut found = HashMap::new();
    let until = clock::instant() + PATIENCE;
    for (pool, jobs) in pools {
        let (state, wanted) = (caller.studio.clone(), jobs.clone());
        // On its own: who asks next finds what came too late for this page.
        let made = tokio::spawn(async move { of_pool(&state, pool, wanted).await });
        if let Ok(Ok(Some(etas))) = tokio::time::timeout_at(until.into(), made).await {
            found.extend(jobs.iter().filter_map(|job| Some((*job, etas.get(job)?.clone()))));
        }
    }
    found
}

/// When one job starts; nothing if it does not wait, or if that could not be said in time.
pub async fn eta(caller: &Caller, job: &Job) -> Option<Eta> {
    let waits = matches!(job.phase, JobPhase::Queued { .. } | JobPhase::Starting { .. });
    if !waits {
        return None;
    }
    etas(caller, vec![(PoolKey::of_job(job), job.id)]).await.remove(&job.id)
}

async fn of_pool(state: &Studio, pool: PoolKey, jobs: Vec<JobId>) -> Option<Arc<HashMap<JobId, Eta>>> {
    let forecasts = state.forecasts();
    let place = forecasts.place(&pool);
    // Whoever asks meanwhile waits for this one.
    let mut place = place.lock().await;
    if let Some(kept) = place.as_ref().filter(|kept| kept.serves(&jobs)) {
        return Some(Arc::clone(&kept.etas));
    }
    let also = jobs.clone();
    let excerpt = state.engine().ask(move |world| world.excerpt(&pool, &also, MOST)).await.ok()?;
    let known = forecasts.known(state, &excerpt).await?;
    let mut wanted: Vec<JobId> = waiting(&excerpt).collect();
    let there: HashSet<JobId> = wanted.iter().copied().collect();
    wanted.extend(jobs.into_iter().filter(|job| !there.contains(job)));
    let now = clock::now();
    let _one_at_a_time = forecasts.turn.acquire().await.ok()?;
    let worked_out = tokio::task::spawn_blocking(move || {
        let etas = forecast::forecast(excerpt, &known, now, &wanted);
        wanted.into_iter().zip(etas).collect::<HashMap<JobId, Eta>>()
    });
    let etas = Arc::new(worked_out.await.ok()?);
    *place = Some(Kept { made: clock::instant(), etas: Arc::clone(&etas) });
    Some(etas)
}

fn waiting(excerpt: &Excerpt) -> impl Iterator<Item = JobId> {
    let jobs = excerpt.records.iter().filter_map(|record| match record {
        Record::Job(job) => Some(job.as_ref()),
        _ => None,
    });
    let waits = |job: &&Job| matches!(job.phase, JobPhase::Queued { .. } | JobPhase::Starting { .. });
    jobs.filter(waits).map(|job| job.id)
}

impl Forecasts {
    fn place(&self, pool: &PoolKey) -> Arc<Turn<Option<Kept>>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let now = clock::instant();
        kept.retain(|_, place| match place.try_lock() {
            Ok(place) => place.as_ref().is_some_and(|kept| now.saturating_duration_since(kept.made) < FORGOTTEN),
            Err(_) => true,
        });
        Arc::clone(kept.entry(pool.clone()).or_default())
    }

    /// What is known of the jobs and sizes of an excerpt.
    pub async fn known(&self, state: &Studio, excerpt: &Excerpt) -> Option<Expectations> {
        let jobs = excerpt.records.iter().filter_map(|record| match record {
            Record::Job(job) => Some(job.as_ref()),
            _ => None,
        });
        let jobs: Vec<(WorkspaceId, JobId)> = jobs.map(|job| (job.workspace.clone(), job.payload())).collect();
        let runs = self.past.runs(state.store(), &jobs).await?;
        let mut launches = self.launches.lock().unwrap_or_else(PoisonError::into_inner);
        launches.extend(forecast::learn_launches(excerpt));
        Some(Expectations { runs, launches: launches.clone() })
    }

    /// How long a launch of that size takes, as far as anybody has seen one.
    pub fn launch_of(&self, size: &SizeName) -> Span {
        let launches = self.launches.lock().unwrap_or_else(PoisonError::into_inner);
        launches.get(size).copied().unwrap_or(forecast::USUAL_LAUNCH)
    }

    /// How long jobs of that name take.
    pub async fn usual_run(&self, state: &Studio, workspace: &WorkspaceId, name: &str) -> Option<Span> {
        self.past.of_name(state.store(), workspace, name).await
    }
}
