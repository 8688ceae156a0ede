//! Processor time, which says more than a rate on a machine where others are at work.

use std::path::Path;

use super::report::Report;
use super::report::Wanted::Context;
use super::running::Running;
use crate::failure::{Failure, Result};

/// How much was spent at some moment.
#[derive(Debug)]
pub struct Spent {
    server: f64,
    node: Option<f64>,
}

impl Spent {
    pub fn so_far(server: &Running, folder: &Path) -> Result<Self> {
        Ok(Self { server: server.processor_seconds()?, node: node_seconds(folder)? })
    }

    /// Adds what each of so many jobs has taken since.
    pub fn report(&self, server: &Running, folder: &Path, jobs: u64, report: &mut Report) -> Result<()> {
        let now = Self::so_far(server, folder)?;
        let each = |seconds: f64| seconds * 1_000.0 / jobs as f64;
        report.add("… the server's processor time for each", Context, each(now.server - self.server), "ms");
        if let (Some(before), Some(now)) = (self.node, now.node) {
            report.add("… the node's processor time for each, with the job itself", Context, each(now - before), "ms");
        }
        Ok(())
    }
}

/// The processor time of all nodes with all that ran on them, in seconds; nothing where no control group
/// counts it.
fn node_seconds(folder: &Path) -> Result<Option<f64>> {
    let read = |file: String| std::fs::read_to_string(file).ok();
    let mut total = None;
    for pid in agents(folder)? {
        let Some(groups) = read(format!("/proc/{pid}/cgroup")) else { continue };
        for line in groups.lines() {
            let mut words = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(group)) = (words.next(), words.next()) else { continue };
            let seconds = if controllers.split(',').any(|controller| controller == "cpuacct") {
                let usage = read(format!("/sys/fs/cgroup/{controllers}{group}/cpuacct.usage"));
                usage.and_then(|text| text.trim().parse::<f64>().ok()).map(|nanoseconds| nanoseconds / 1e9)
            } else {
                // In version 2 the agent is in a group below the node's.
                let node = group.trim_end_matches("/agent");
                let stat = read(format!("/sys/fs/cgroup{node}/cpu.stat")).unwrap_or_default();
                let usage = stat.lines().find_map(|line| line.strip_prefix("usage_usec ")?.parse::<f64>().ok());
                usage.filter(|_| controllers.is_empty()).map(|microseconds| microseconds / 1e6)
            };
            if let Some(seconds) = seconds {
                *total.get_or_insert(0.0) += seconds;
            }
        }
    }
    Ok(total)
}

/// The processes of the agents that run from that folder.
pub fn agents(folder: &Path) -> Result<Vec<u32>> {
    let nodes = folder.join("data").join("nodes");
    let entries = std::fs::read_dir(&nodes).map_err(Failure::file("reading", &nodes))?;
    let pids = entries.flatten().filter_map(|entry| std::fs::read_to_string(entry.path().join("lock")).ok());
    Ok(pids.filter_map(|pid| pid.trim().parse().ok()).collect())
}
