//! Hands: whoever carries out what the engine wants done.

use std::sync::Arc;

use atelier_domain::world::Effect;

/// Carries out effects. Told only of what is durable, at least once, maybe again after a restart; every
/// effect has ids that fence what is old. Must not wait: whatever takes time is done elsewhere and reported
/// when it is done.
pub trait Hands: Send + Sync + 'static {
    /// Does these things, in this order where they concern the same node.
    fn act(&self, effects: Vec<Effect>);
}

impl<T: Hands> Hands for Arc<T> {
    fn act(&self, effects: Vec<Effect>) {
        (**self).act(effects);
    }
}
