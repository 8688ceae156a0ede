//! How the base environment does.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use atelier_domain::Timestamp;
use serde::{Deserialize, Serialize};

use super::failure::Failure;
use super::recipe::{Kind, Python};

/// How many of the last lines are shown.
pub(super) const LINES: usize = 20;

/// An environment that is complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Built {
    pub hash: String,
    /// Where it is. Filled in by who finds it there.
    #[serde(skip)]
    pub path: PathBuf,
    /// What is in it, by name, with versions.
    pub packages: Vec<(String, String)>,
    /// The Python it stands on.
    pub python: Python,
    /// How long that took, in milliseconds.
    pub built_in_ms: u64,
    /// When it was done.
    pub built_at: Timestamp,
    /// What it takes of the disk, in bytes.
    pub size: u64,
    /// For what it was built.
    #[serde(default)]
    pub kind: Kind,
    /// Whether notebooks can run with it.
    #[serde(default)]
    pub has_kernel: bool,
}

impl Built {
    /// How long that took.
    pub const fn built_in(&self) -> Duration {
        Duration::from_millis(self.built_in_ms)
    }
}

/// The parts of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Another server on this machine builds something in the same place.
    Elsewhere,
    /// An empty environment.
    Making,
    /// Which packages, in which versions.
    Resolving,
    Downloading,
    Installing,
    Checking,
}

impl Phase {
    /// All that follow each other in a build.
    pub const ALL: [Self; 5] = [Self::Making, Self::Resolving, Self::Downloading, Self::Installing, Self::Checking];

    pub const fn key(self) -> &'static str {
        match self {
            Self::Elsewhere => "elsewhere",
            Self::Making => "making",
            Self::Resolving => "resolving",
            Self::Downloading => "downloading",
            Self::Installing => "installing",
            Self::Checking => "checking",
        }
    }

    /// What is being done, after "is" or "while".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Elsewhere => "waiting for another build in the same place",
            Self::Making => "making an empty environment",
            Self::Resolving => "finding out which packages are needed",
            Self::Downloading => "downloading packages",
            Self::Installing => "installing packages",
            Self::Checking => "compiling and trying it",
        }
    }
}

/// How the environment that is wanted does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseStatus {
    /// None is there and none is built: that is switched off.
    Off,
    /// Nothing has begun yet.
    Waiting,
    /// It is being built.
    Building {
        /// At what it is.
        phase: Phase,
        /// How many packages are known to be needed.
        packages: usize,
        since: Timestamp,
        /// The last lines that were printed.
        lines: Vec<String>,
    },
    Ready(Arc<Built>),
    /// It could not be built.
    Failed {
        /// What happened, what to do, the last lines.
        failure: Failure,
        /// When it is tried again.
        next_try: Timestamp,
    },
}

impl BaseStatus {
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Waiting => "waiting",
            Self::Building { .. } => "building",
            Self::Ready(_) => "ready",
            Self::Failed { .. } => "failed",
        }
    }
}
