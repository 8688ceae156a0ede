//! How the node is doing: processors, memory, disk, network, GPUs.

mod gpu;

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use atelier_confine::{NodeGroup, Usage};
use atelier_domain::world::AllocationKey;
use atelier_protocol::{PartSample, Sample};

pub use self::gpu::Gpus;
use crate::processes;
use crate::sandbox::Worker;

/// Nanoseconds in one tick of `/proc`'s clock, which has a hundred a second on every Linux that matters.
const TICK: u64 = 10_000_000;

/// Takes samples, and remembers the one before.
#[derive(Debug)]
pub struct Sampler {
    folder: PathBuf,
    gpus: Gpus,
    before: Option<Instant>,
    cpu: u64,
    received: u64,
    sent: u64,
    parts: HashMap<AllocationKey, u64>,
}

impl Sampler {
    /// Of the node with that folder.
    pub fn new(folder: PathBuf, gpus: Gpus) -> Self {
        Self { folder, gpus, before: None, cpu: 0, received: 0, sent: 0, parts: HashMap::new() }
    }

    /// What the node did since the sample before.
    pub fn sample<'a>(
        &mut self,
        node: Option<&NodeGroup>,
        workers: impl Iterator<Item = (AllocationKey, &'a Worker)>,
        now: Instant,
    ) -> Sample {
        let is_first = self.before.is_none();
        let over = self.before.map_or(0, |before| u64::try_from(now.duration_since(before).as_millis()).unwrap_or(0));
        self.before = Some(now);
        let whole = node.map_or_else(own_usage, NodeGroup::usage);
        let (received, sent) = network();
        let cores = |cpu: u64, before: u64| if is_first { 0 } else { cpu.saturating_sub(before) / over.max(1) / 1_000 };
        let a_second =
            |bytes: u64, before: u64| if is_first { 0 } else { bytes.saturating_sub(before) * 1_000 / over.max(1) };
        let mut parts = Vec::new();
        let mut seen = HashMap::new();
        for (part, worker) in workers {
            let usage = match &worker.group {
                // The worker itself is not the job.
                Some(group) => {
                    let usage = group.usage();
                    Usage { processes: usage.processes.saturating_sub(1), ..usage }
                }
                None => usage_of(&worker.processes()),
            };
            // Groups are used again, so the first sample of a part only says where to count from.
            let before = self.parts.get(&part).copied().unwrap_or(usage.cpu);
            seen.insert(part, usage.cpu);
            parts.push(PartSample {
                part,
                cores: cores(usage.cpu, before),
                memory: usage.memory >> 20,
                processes: u32::try_from(usage.processes).unwrap_or(u32::MAX),
            });
        }
        let disk = rustix::fs::statvfs(&self.folder).ok();
        let mebibytes = |blocks: u64, size: u64| blocks.saturating_mul(size) >> 20;
        let sample = Sample {
            over,
            cores: cores(whole.cpu, self.cpu),
            memory: whole.memory >> 20,
            disk_free: disk.as_ref().map_or(0, |disk| mebibytes(disk.f_bavail, disk.f_frsize)),
            disk_total: disk.as_ref().map_or(0, |disk| mebibytes(disk.f_blocks, disk.f_frsize)),
            received: a_second(received, self.received),
            sent: a_second(sent, self.sent),
            gpus: self.gpus.sample(),
            parts,
        };
        self.parts = seen;
        (self.cpu, self.received, self.sent) = (whole.cpu, received, sent);
        sample
    }
}

/// The agent and all below it, where there is no control group that counts.
fn own_usage() -> Usage {
    let own = std::process::id();
    let mut pids = processes::descendants(own);
    pids.push(own);
    usage_of(&pids)
}

/// What these processes have used; what those before them used is not known.
fn usage_of(pids: &[u32]) -> Usage {
    let mut usage = Usage { processes: pids.len() as u64, ..Usage::default() };
    for pid in pids {
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        let Some((_, rest)) = stat.rsplit_once(')') else { continue };
        let words: Vec<u64> = rest.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect();
        if let [user, system] = words[11..13] {
            usage.cpu += (user + system) * TICK;
        }
        usage.memory += words.get(21).unwrap_or(&0) * rustix::param::page_size() as u64;
    }
    usage
}

/// Bytes that all interfaces but the machine's own have received and sent.
fn network() -> (u64, u64) {
    let text = fs::read_to_string("/proc/net/dev").unwrap_or_default();
    let mut total = (0, 0);
    for line in text.lines().skip(2) {
        let Some((name, numbers)) = line.split_once(':') else { continue };
        if name.trim() == "lo" {
            continue;
        }
        let numbers: Vec<u64> = numbers.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect();
        total.0 += numbers.first().unwrap_or(&0);
        total.1 += numbers.get(8).unwrap_or(&0);
    }
    total
}
