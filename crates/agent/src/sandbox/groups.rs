//! The control groups of a node's parts: made once, used again.

use atelier_confine::{NodeGroup, PartGroup, Share};
use atelier_domain::compute::Resources;

/// The most processes and threads of a node. A second line of defence, behind memory.
pub const PROCESSES: u64 = 16_384;
/// The most processes and threads of one job.
const PART_PROCESSES: u64 = 4_096;

/// The groups of parts that nobody uses.
#[derive(Debug)]
pub struct Groups {
    node: Option<NodeGroup>,
    free: Vec<PartGroup>,
    /// With processes in them that were killed and have not ended.
    lingering: Vec<PartGroup>,
    made: u64,
}

impl Groups {
    /// Of that node, where there are control groups.
    pub const fn new(node: Option<NodeGroup>) -> Self {
        Self { node, free: Vec::new(), lingering: Vec::new(), made: 0 }
    }

    /// One that nobody uses; nothing where there are no control groups.
    pub fn take(&mut self) -> std::io::Result<Option<PartGroup>> {
        let Some(node) = &self.node else { return Ok(None) };
        if let Some(group) = self.free.pop() {
            return Ok(Some(group));
        }
        let group = node.part(&format!("part-{}", self.made))?;
        self.made += 1;
        Ok(Some(group))
    }

    /// Gives one back. While something is left in it, it is not used again.
    pub fn give(&mut self, mut group: PartGroup) {
        if group.kill() {
            self.free.push(group);
        } else {
            self.lingering.push(group);
        }
    }

    /// Looks again at those that were not empty.
    pub fn tick(&mut self) {
        for group in std::mem::take(&mut self.lingering) {
            self.give(group);
        }
    }

    pub const fn node(&self) -> Option<&NodeGroup> {
        self.node.as_ref()
    }
}

/// What a part of that shape gets.
pub const fn share(shape: Resources) -> Share {
    Share { cores: shape.cores, memory: shape.memory, processes: PART_PROCESSES }
}
