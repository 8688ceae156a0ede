//! What an agent says about its node.

use atelier_domain::compute::{JobId, Resources};
use atelier_domain::world::AllocationKey;
use serde::{Deserialize, Serialize};

/// By what a node's share of the machine is enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limits {
    /// Control groups, version 2.
    CgroupV2,
    /// Control groups, version 1.
    CgroupV1,
    /// Limits of single processes: memory only, and only roughly.
    Rlimits,
    #[default]
    None,
}

impl Limits {
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::CgroupV2 => "Cores and memory are enforced by control groups (version 2).",
            Self::CgroupV1 => "Cores and memory are enforced by control groups (version 1).",
            Self::Rlimits => {
                "Control groups cannot be used here: memory is limited for each process, cores are not limited."
            }
            Self::None => "Nothing enforces the limits of this node.",
        }
    }
}

/// What does not change while an agent runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The version of the program.
    pub version: String,
    /// The name of the machine.
    pub host: String,
    /// Under which address other nodes find it.
    #[serde(default)]
    pub address: String,
    /// The process, for operators.
    pub pid: u32,
    /// What the node has.
    pub shape: Resources,
    /// By what that is enforced.
    pub limits: Limits,
    /// Whether people run as different users of the system.
    pub has_own_users: bool,
    /// Whether people have a private view of the system.
    pub has_private_view: bool,
    /// What is amiss with the two, for people; empty if nothing is.
    pub warnings: Vec<String>,
    pub gpus: Vec<String>,
    /// Whether it takes tokens for those whose things run on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_tokens: bool,
}

/// One GPU at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    /// Percent of it that was busy.
    pub busy: f32,
    /// Memory in use, in MiB.
    pub memory: u64,
    /// Memory it has, in MiB.
    pub total: u64,
}

/// What a node did since the sample before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Over how many milliseconds.
    pub over: u64,
    /// Thousandths of a core in use.
    pub cores: u64,
    /// Memory in use, in MiB.
    pub memory: u64,
    /// Room left on the disk of its work folder, in MiB.
    pub disk_free: u64,
    /// Room that disk has, in MiB.
    pub disk_total: u64,
    /// Bytes received a second.
    pub received: u64,
    /// Bytes sent a second.
    pub sent: u64,
    /// Its GPUs; empty where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<Gpu>,
    /// The parts of jobs that run there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartSample>,
}

/// What one part of a job did since the sample before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartSample {
    pub part: AllocationKey,
    /// Thousandths of a core in use.
    pub cores: u64,
    /// Memory in use, in MiB.
    pub memory: u64,
    pub processes: u32,
}

impl PartSample {
    pub const fn job(&self) -> JobId {
        self.part.job
    }
}
