//! What the loop says of itself.

use std::time::Duration;

use atelier_domain::time::Timestamp;
use atelier_domain::world::World;

/// What the loop does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It has not made its first batch yet.
    Starting,
    Running,
    /// Something went wrong; it loads the World again.
    Recovering {
        /// What went wrong, for the log and for operators.
        why: String,
    },
    /// A newer engine has taken over.
    Fenced,
    /// It was told to stop.
    Stopped,
}

impl Phase {
    /// The name for machines.
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Recovering { .. } => "recovering",
            Self::Fenced => "fenced",
            Self::Stopped => "stopped",
        }
    }

    /// Why it does not work, for people; nothing while it does.
    pub fn complaint(&self) -> Option<&'static str> {
        match self {
            Self::Running => None,
            Self::Starting => Some("the engine is starting"),
            Self::Recovering { .. } => Some("the engine loads its records again after a failure; the log says why"),
            Self::Fenced => Some("another server has taken over; this one only shows pages"),
            Self::Stopped => Some("the engine has stopped"),
        }
    }
}

/// Names a World: the one after so many batches since it was last loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    epoch: i64,
    reloads: u64,
    batches: u64,
}

/// The state of the loop after its last batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub phase: Phase,
    pub epoch: i64,
    /// The revision of its last batch.
    pub revision: i64,
    /// Batches since the start.
    pub batches: u64,
    /// Inputs since the start.
    pub inputs: u64,
    /// How often the World was loaded again.
    pub reloads: u64,
    /// When the last batch was durable.
    pub committed_at: Option<Timestamp>,
    /// How many things there are, by kind.
    pub counts: [(&'static str, usize); 6],
    /// Whether somebody paused all acting.
    pub is_paused: bool,
    /// Whether the disk is full, so that only what frees something is taken.
    pub is_disk_low: bool,
    /// How long the first input of the last batch waited until it was answered.
    pub lag: Duration,
}

impl Status {
    pub(super) fn starting(epoch: i64, world: &World) -> Self {
        Self {
            phase: Phase::Starting,
            epoch,
            revision: 0,
            batches: 0,
            inputs: 0,
            reloads: 0,
            committed_at: None,
            counts: world.counts(),
            is_paused: world.state().pause.is_some(),
            is_disk_low: false,
            lag: Duration::ZERO,
        }
    }

    pub(super) fn turn(&self) -> Option<Turn> {
        let Self { epoch, reloads, batches, .. } = *self;
        (self.phase == Phase::Running).then_some(Turn { epoch, reloads, batches })
    }

    /// Tells the metrics; to be called when somebody is about to look at them.
    pub fn measure(&self) {
        for (what, count) in self.counts {
            metrics::gauge!("atelier_engine_things", "kind" => what).set(count as f64);
        }
        metrics::gauge!("atelier_engine_epoch").set(self.epoch as f64);
        metrics::gauge!("atelier_engine_revision").set(self.revision as f64);
        metrics::gauge!("atelier_engine_running").set(f64::from(self.phase == Phase::Running));
        metrics::gauge!("atelier_engine_paused").set(f64::from(self.is_paused));
        metrics::gauge!("atelier_engine_disk_low").set(f64::from(self.is_disk_low));
    }
}
