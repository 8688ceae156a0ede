//! Who waits for a job to be over. Told by the loop as soon as that is durable, at the cost of one look for
//! each ended job.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use atelier_domain::compute::JobId;
use atelier_domain::world::{EndedJob, EndedRest};
use tokio::sync::oneshot;

type Waiting = HashMap<JobId, Vec<oneshot::Sender<Arc<EndedJob>>>>;

#[derive(Clone, Debug, Default)]
pub(super) struct Waiters {
    waiting: Arc<Mutex<Waiting>>,
}

impl Waiters {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits from now on.
    pub fn wait(&self, job: JobId) -> JobOver {
        let (told, hears) = oneshot::channel();
        self.lock().entry(job).or_default().push(told);
        JobOver { job, hears: Some(hears), waiters: self.clone() }
    }

    /// These are over, durably.
    pub fn tell(&self, ended: Vec<EndedJob>, rests: &[EndedRest]) {
        if ended.is_empty() && rests.is_empty() {
            return;
        }
        let mut waiting = self.lock();
        if waiting.is_empty() {
            return;
        }
        // Those of an array that were over before they were made: few wait for one of them, if any.
        let awaited = |rest: &EndedRest| -> Vec<EndedJob> {
            let jobs = waiting.keys().filter_map(|id| rest.job(*id));
            jobs.map(|job| EndedJob { job, verdict: rest.verdict.clone(), at: rest.at }).collect()
        };
        let never_made: Vec<EndedJob> = rests.iter().flat_map(awaited).collect();
        let ended = ended.into_iter().chain(never_made);
        for ended in ended {
            let Some(who) = waiting.remove(&ended.job.id) else { continue };
            let ended = Arc::new(ended);
            for one in who {
                // Whoever waited may have gone.
                let _ = one.send(Arc::clone(&ended));
            }
        }
    }

    /// Some of them may be over without our knowing: all look for themselves.
    pub fn look_again(&self) {
        self.lock().clear();
    }
}

/// Waits for one job. Made **before** looking whether it is over already, so that nothing falls between the
/// two.
#[derive(Debug)]
pub struct JobOver {
    job: JobId,
    /// None once it has heard.
    hears: Option<oneshot::Receiver<Arc<EndedJob>>>,
    waiters: Waiters,
}

impl JobOver {
    /// The job as it ended, as soon as that is durable. Nothing if the engine has lost count (it has loaded
    /// its records anew or has stopped): then wait anew, and look again.
    pub async fn ended(&mut self) -> Option<Arc<EndedJob>> {
        let heard = self.hears.as_mut()?.await.ok();
        self.hears = None;
        heard
    }
}

impl Drop for JobOver {
    fn drop(&mut self) {
        let Some(mut hears) = self.hears.take() else { return };
        hears.close();
        let mut waiting = self.waiters.lock();
        if let Some(who) = waiting.get_mut(&self.job) {
            who.retain(|one| !one.is_closed());
            if who.is_empty() {
                waiting.remove(&self.job);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_goes_away_leaves_nothing_behind_and_who_stays_may_have_to_look_again() {
        let waiters = Waiters::default();
        let (first, mut second) = (waiters.wait(JobId(1)), waiters.wait(JobId(1)));
        drop(first);
        assert_eq!(waiters.lock().get(&JobId(1)).map(Vec::len), Some(1));
        waiters.look_again();
        assert_eq!(second.ended().await, None);
        drop(second);
        drop(waiters.wait(JobId(2)));
        assert!(waiters.lock().is_empty());
    }
}
