//! What of the node's share is free, and which GPUs are.

use atelier_domain::compute::Resources;

/// What of a node is free.
#[derive(Debug)]
pub struct Room {
    whole: Resources,
    free: Resources,
    /// All GPUs of the node by their numbers on the machine, the lowest first.
    gpus: Vec<u64>,
    /// Those that nobody uses; the next to be given out last.
    free_gpus: Vec<u64>,
}

impl Room {
    /// All of it, with these GPUs of the machine.
    pub fn new(whole: Resources, mut gpus: Vec<u64>) -> Self {
        gpus.sort_unstable();
        let whole = Resources { gpus: gpus.len() as u64, ..whole };
        Self { whole, free: whole, free_gpus: gpus.iter().rev().copied().collect(), gpus }
    }

    /// Whether it could ever have this.
    pub const fn could_have(&self, shape: Resources) -> bool {
        shape.cores <= self.whole.cores && shape.memory <= self.whole.memory && shape.gpus <= self.whole.gpus
    }

    /// Takes what is asked for, and says which GPUs, by their numbers on the machine; nothing if it is not
    /// free.
    pub fn take(&mut self, shape: Resources) -> Option<Vec<u64>> {
        let free = self.free;
        if shape.cores > free.cores || shape.memory > free.memory || shape.gpus > free.gpus {
            return None;
        }
        self.free.cores -= shape.cores;
        self.free.memory -= shape.memory;
        self.free.gpus -= shape.gpus;
        let left = self.free_gpus.len().saturating_sub(usize::try_from(shape.gpus).unwrap_or(usize::MAX));
        let mut taken = self.free_gpus.split_off(left);
        taken.sort_unstable();
        Some(taken)
    }

    pub fn give(&mut self, shape: Resources, gpus: Vec<u64>) {
        self.free.cores += shape.cores;
        self.free.memory += shape.memory;
        self.free.gpus += shape.gpus;
        self.free_gpus.extend(gpus);
        // The lowest again first.
        self.free_gpus.sort_unstable_by(|one, other| other.cmp(one));
    }

    /// How somebody counts GPUs who sees those of the node and no others: by their places among them.
    pub fn places(&self, gpus: &[u64]) -> Vec<u64> {
        let place = |gpu: &u64| self.gpus.binary_search(gpu).ok().map(|place| place as u64);
        gpus.iter().filter_map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_comes_back() {
        let mut room = Room::new(Resources::new(4, 8, 2), vec![0, 1]);
        let gpus = room.take(Resources::new(3, 1, 1)).unwrap();
        assert_eq!(gpus, [0]);
        assert!(room.take(Resources::new(2, 1, 0)).is_none());
        assert!(!room.could_have(Resources::new(5, 1, 0)));
        room.give(Resources::new(3, 1, 1), gpus);
        assert_eq!(room.take(Resources::new(4, 8, 2)).unwrap().len(), 2);
    }

    #[test]
    fn the_nodes_own_gpus_are_given_out_and_no_others() {
        let mut room = Room::new(Resources::new(8, 8, 3), vec![7, 2, 5]);
        let one = Resources::new(1, 1, 1);
        let first = room.take(one).unwrap();
        let rest = room.take(Resources::new(1, 1, 2)).unwrap();
        assert_eq!((&first[..], &rest[..]), (&[2][..], &[5, 7][..]));
        assert!(room.take(one).is_none());
        assert_eq!(room.places(&rest), [1, 2]);
        room.give(Resources::new(1, 1, 2), rest);
        room.give(one, first);
        assert_eq!(room.take(one).unwrap(), [2]);
        // A driver that named fewer than the shape says has the last word.
        assert!(!Room::new(Resources::new(8, 8, 3), vec![1]).could_have(Resources::new(1, 1, 2)));
    }
}
