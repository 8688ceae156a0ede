//! What a node has and what a job takes of it.

use serde::{Deserialize, Serialize};

use crate::text::Problem;

/// Cores, memory and GPUs. Cores are counted in thousandths, so that half a core is a size too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Resources {
    /// Thousandths of a core.
    pub cores: u64,
    /// Memory in MiB.
    pub memory: u64,
    pub gpus: u64,
}

/// The most cores, in thousandths, that one node or one job may name.
pub const MAX_CORES: u64 = 4_096_000;
/// The most memory in MiB that one node or one job may name: 64 TiB.
pub const MAX_MEMORY: u64 = 64 * 1024 * 1024;
/// The most GPUs that one node or one job may name.
pub const MAX_GPUS: u64 = 256;

impl Resources {
    /// How many jobs a machine of this shape runs at once as an instance: one for each whole core, and one at
    /// least.
    pub const fn slots(self) -> u64 {
        let whole = self.cores / 1_000;
        if whole == 0 { 1 } else { whole }
    }

    /// What one of them gets if it asks for nothing: its part of cores and memory. GPUs are asked for.
    #[must_use]
    pub const fn slot(self) -> Self {
        Self { cores: self.cores / self.slots(), memory: self.memory / self.slots(), gpus: 0 }
    }

    pub const NONE: Self = Self { cores: 0, memory: 0, gpus: 0 };

    /// So many whole cores, GiB and GPUs.
    pub const fn new(cores: u64, gibibytes: u64, gpus: u64) -> Self {
        Self { cores: cores * 1_000, memory: gibibytes * 1024, gpus }
    }

    /// Refuses what no machine has, field by field.
    pub fn check(self) -> Result<Self, Problem> {
        if self.cores == 0 || self.cores > MAX_CORES {
            let message = format!("Cores are between 0.001 and {}; this is {}.", MAX_CORES / 1_000, Cores(self.cores));
            return Err(Problem::new("cores", message));
        }
        if self.memory == 0 || self.memory > MAX_MEMORY {
            let message = format!("Memory is between 1 MiB and 64 TiB; this is {}.", Memory(self.memory));
            return Err(Problem::new("memory", message));
        }
        if self.gpus > MAX_GPUS {
            return Err(Problem::new(
                "gpus",
                format!("There are at most {MAX_GPUS} GPUs; this asks for {}.", self.gpus),
            ));
        }
        Ok(self)
    }

    /// Whether all of this is left in `free`.
    pub const fn fits(self, free: Self) -> bool {
        self.cores <= free.cores && self.memory <= free.memory && self.gpus <= free.gpus
    }

    /// The sum; stays at the end of numbers.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            cores: self.cores.saturating_add(other.cores),
            memory: self.memory.saturating_add(other.memory),
            gpus: self.gpus.saturating_add(other.gpus),
        }
    }

    /// What is left; never less than nothing.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self {
            cores: self.cores.saturating_sub(other.cores),
            memory: self.memory.saturating_sub(other.memory),
            gpus: self.gpus.saturating_sub(other.gpus),
        }
    }

    /// So many times as much.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self {
            cores: self.cores.saturating_mul(count),
            memory: self.memory.saturating_mul(count),
            gpus: self.gpus.saturating_mul(count),
        }
    }

    /// How many such jobs a node of this shape holds at once.
    pub fn holds(self, job: Self) -> u64 {
        let ratio = |have: u64, want: u64| have.checked_div(want).unwrap_or(u64::MAX);
        ratio(self.cores, job.cores).min(ratio(self.memory, job.memory)).min(ratio(self.gpus, job.gpus))
    }
}

impl std::fmt::Display for Resources {
    /// `4 cores, 16 GiB`, and GPUs where there are any.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}, {}", Cores(self.cores), Memory(self.memory))?;
        match self.gpus {
            0 => Ok(()),
            1 => out.write_str(", 1 GPU"),
            many => write!(out, ", {many} GPUs"),
        }
    }
}

/// Thousandths of a core, as people say them: `1 core`, `0.5 cores`.
pub struct Cores(pub u64);

impl std::fmt::Display for Cores {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, rest) = (self.0 / 1_000, self.0 % 1_000);
        match (whole, rest) {
            (1, 0) => out.write_str("1 core"),
            (whole, 0) => write!(out, "{whole} cores"),
            (whole, rest) => write!(out, "{whole}.{} cores", format!("{rest:03}").trim_end_matches('0')),
        }
    }
}

/// MiB, as people say them: `512 MiB`, `16 GiB`, `1.5 GiB`.
pub struct Memory(pub u64);

impl std::fmt::Display for Memory {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tenths = |unit: u64| (u128::from(self.0) * 10 / u128::from(unit)) as u64;
        match self.0 {
            mib if mib < 1024 => write!(out, "{mib} MiB"),
            mib if mib % 1024 == 0 => write!(out, "{} GiB", mib / 1024),
            _ => write!(out, "{}.{} GiB", tenths(1024) / 10, tenths(1024) % 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_read_as_people_say_them() {
        assert_eq!(Resources::new(4, 16, 0).to_string(), "4 cores, 16 GiB");
        assert_eq!(Resources::new(1, 1, 1).to_string(), "1 core, 1 GiB, 1 GPU");
        assert_eq!(Resources { cores: 1_500, memory: 1536, gpus: 2 }.to_string(), "1.5 cores, 1.5 GiB, 2 GPUs");
        assert_eq!(Resources { cores: 250, memory: 512, gpus: 0 }.to_string(), "0.25 cores, 512 MiB");
    }

    #[test]
    fn absurd_amounts_are_refused_with_field_value_and_limits() {
        let problem = |resources: Resources| resources.check().expect_err("absurd");
        assert_eq!(problem(Resources::NONE).field, "cores");
        let huge = problem(Resources::new(5_000, 1, 0));
        assert_eq!(huge.message, "Cores are between 0.001 and 4096; this is 5000 cores.");
        assert_eq!(problem(Resources::new(1, 0, 0)).field, "memory");
        assert_eq!(problem(Resources::new(1, 65_537, 0)).field, "memory");
        assert_eq!(problem(Resources::new(1, 1, 257)).field, "gpus");
        assert!(Resources { cores: u64::MAX, memory: u64::MAX, gpus: u64::MAX }.check().is_err());
    }

    #[test]
    fn a_node_holds_as_many_jobs_as_its_scarcest_part_allows() {
        let node = Resources::new(8, 16, 2);
        assert_eq!(node.holds(Resources::new(1, 1, 0)), 8);
        assert_eq!(node.holds(Resources::new(1, 4, 0)), 4);
        assert_eq!(node.holds(Resources::new(1, 1, 1)), 2);
        assert_eq!(node.holds(Resources::new(9, 1, 0)), 0);
    }
}
