//! Parts that were here: what comes late about them changes nothing.

use std::collections::{HashSet, VecDeque};

use atelier_domain::world::AllocationKey;

/// So many are remembered.
const MOST: usize = 4_096;

/// The last parts that the server knows to be off.
#[derive(Debug, Default)]
pub struct Recent {
    known: HashSet<AllocationKey>,
    order: VecDeque<AllocationKey>,
}

impl Recent {
    /// One more; the oldest is forgotten for it.
    pub fn add(&mut self, part: AllocationKey) {
        if self.known.insert(part) {
            self.order.push_back(part);
        }
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// Whether it was here.
    pub fn has(&self, part: AllocationKey) -> bool {
        self.known.contains(&part)
    }
}

#[cfg(test)]
mod tests {
    use atelier_domain::compute::{JobId, NodeId};

    use super::*;

    #[test]
    fn the_oldest_is_forgotten() {
        let part = |job: u64| AllocationKey { job: JobId(job), attempt: 1, node: NodeId(1) };
        let mut recent = Recent::default();
        for job in (0..=MOST as u64).chain([5, 6]) {
            recent.add(part(job));
        }
        assert!(!recent.has(part(0)) && recent.has(part(1)) && recent.has(part(MOST as u64)));
    }
}
