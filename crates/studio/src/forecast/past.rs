//! How long jobs took: the median of those that ended well lately, by name, and by array for those of one
//! array.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use atelier_domain::WorkspaceId;
use atelier_domain::compute::JobId;
use atelier_domain::compute::job::JobState;
use atelier_domain::time::Span;
use atelier_engine::clock;
use atelier_engine::store::{JobFilter, JobRow, Store};

/// How many jobs that have ended are looked at.
const LOOKED_AT: i64 = 2_000;
/// How long what was seen counts.
const FRESH: Duration = Duration::from_secs(15);

#[derive(Default)]
struct Seen {
    by_name: HashMap<String, Span>,
    by_payload: HashMap<JobId, Span>,
}

/// What ended lately in each workspace.
#[derive(Default)]
pub struct Past {
    seen: Mutex<HashMap<WorkspaceId, (Instant, Arc<Seen>)>>,
}

impl Past {
    /// How long these jobs take, by the job under which what they run is kept. What nobody knows is left out.
    pub async fn runs(&self, store: &Store, jobs: &[(WorkspaceId, JobId)]) -> Option<BTreeMap<JobId, Span>> {
        let payloads: BTreeSet<JobId> = jobs.iter().map(|(_, payload)| *payload).collect();
        let names = store.job_names(&payloads.into_iter().collect::<Vec<_>>()).await.map_err(log).ok()?;
        let mut runs = BTreeMap::new();
        let workspaces: BTreeSet<&WorkspaceId> = jobs.iter().map(|(workspace, _)| workspace).collect();
        for workspace in workspaces {
            let seen = self.seen(store, workspace).await?;
            for (_, payload) in jobs.iter().filter(|(own, _)| own == workspace) {
                let by_name = || seen.by_name.get(names.get(payload)?);
                if let Some(run) = seen.by_payload.get(payload).or_else(by_name) {
                    runs.insert(*payload, *run);
                }
            }
        }
        Some(runs)
    }

    /// How long jobs of that name take.
    pub async fn of_name(&self, store: &Store, workspace: &WorkspaceId, name: &str) -> Option<Span> {
        self.seen(store, workspace).await?.by_name.get(name).copied()
    }

    async fn seen(&self, store: &Store, workspace: &WorkspaceId) -> Option<Arc<Seen>> {
        let known = self.seen.lock().unwrap_or_else(PoisonError::into_inner).get(workspace).cloned();
        if let Some((at, seen)) = known
            && clock::instant().saturating_duration_since(at) < FRESH
        {
            return Some(seen);
        }
        let filter = JobFilter { states: vec![JobState::Completed], limit: LOOKED_AT, ..JobFilter::default() };
        let rows = store.jobs(workspace, &filter).await.map_err(log).ok()?;
        let seen = Arc::new(Seen::of(&rows));
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(workspace.clone(), (clock::instant(), Arc::clone(&seen)));
        Some(seen)
    }
}

fn log(error: atelier_engine::store::Error) {
    tracing::error!(%error, "past jobs could not be read for a forecast");
}

impl Seen {
    fn of(rows: &[JobRow]) -> Self {
        let mut by_name: HashMap<&str, Vec<Span>> = HashMap::new();
        let mut by_payload: HashMap<JobId, Vec<Span>> = HashMap::new();
        for row in rows {
            let (Some(started), Some(ended)) = (row.job.when.started, row.job.when.ending.or(row.ended)) else {
                continue;
            };
            let ran = ended.since(started);
            by_name.entry(&row.name).or_default().push(ran);
            if row.job.array.is_some() {
                by_payload.entry(row.job.payload()).or_default().push(ran);
            }
        }
        Self {
            by_name: by_name.into_iter().filter_map(|(name, runs)| Some((name.to_owned(), median(runs)?))).collect(),
            by_payload: by_payload.into_iter().filter_map(|(job, runs)| Some((job, median(runs)?))).collect(),
        }
    }
}

/// The middle one, the longer of the two if there are two.
fn median(mut runs: Vec<Span>) -> Option<Span> {
    runs.sort_unstable();
    // Nothing takes no time at all: what follows would be at the same instant.
    runs.get(runs.len() / 2).map(|run| (*run).max(Span::millis(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let spans = |seconds: &[u32]| seconds.iter().copied().map(Span::seconds).collect::<Vec<_>>();
        for (runs, middle) in [
            (spans(&[]), None),
            (spans(&[5]), Some(Span::seconds(5))),
            (spans(&[9, 1]), Some(Span::seconds(9))),
            (spans(&[60, 1, 2]), Some(Span::seconds(2))),
            (spans(&[0, 0, 0]), Some(Span::millis(1))),
        ] {
            assert_eq!(median(runs), middle);
        }
    }
}
