//! Hands: whoever carries out what the engine wants done.

use std::sync::Arc;

use atelier_domain::compute::JobId;
use atelier_domain::world::Effect;

/// Carries out effects. Told only of what is durable, at least once, maybe again after a restart; every
/// effect has ids that fence what is old. Must not wait: whatever takes time is done elsewhere and reported
/// when it is done.
pub trait Hands: Send + Sync + 'static {
    /// Does these things, in this order where they concern the same node.
    fn act(&self, effects: Vec<Effect>);

    /// What a job runs that was submitted just now and starts with the next effects, so that nobody has to
    /// read it back: an [`atelier_protocol::Task`] as JSON. For an array, the job is its first.
    fn submitted(&self, _job: JobId, _task: &str) {}
}

impl<T: Hands> Hands for Arc<T> {
    fn act(&self, effects: Vec<Effect>) {
        (**self).act(effects);
    }

    fn submitted(&self, job: JobId, task: &str) {
        (**self).submitted(job, task);
    }
}
