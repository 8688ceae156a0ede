//! How a job did, kept beside its log when it is over.

use std::path::{Path, PathBuf};

use atelier_domain::Timestamp;
use atelier_domain::compute::JobId;
use atelier_domain::world::AllocationKey;
use atelier_protocol::PartSample;

use super::Fleet;

/// One line of what is kept: when, and what.
pub type Sampled = (Timestamp, PartSample);

/// Where they are kept.
fn path(fleet: &Fleet, job: JobId) -> PathBuf {
    fleet.logs().shelf(job).join(format!("{}.metrics.json", job.0))
}

fn read(path: &Path) -> Vec<Sampled> {
    std::fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// A part is over: what is known of it is kept.
pub(super) fn keep(fleet: &Fleet, part: AllocationKey) {
    let fresh = fleet.board().part_over(part);
    // One sample is no picture.
    if fresh.len() < 2 {
        return;
    }
    let path = path(fleet, part.job);
    let mut all = read(&path);
    all.extend(fresh);
    let write = || -> std::io::Result<()> {
        fleet.logs().make_shelf(part.job)?;
        let text = serde_json::to_vec(&all)?;
        std::fs::write(&path, text)
    };
    if let Err(error) = write() {
        tracing::warn!(job = %part.job, %error, "how a job did could not be kept");
    }
}

impl Fleet {
    /// How the parts of a job did, the oldest first; also when it is over.
    pub fn job_samples(&self, job: JobId) -> Vec<Sampled> {
        let mut all = read(&path(self, job));
        all.extend(self.board().job_samples(job));
        all
    }
}
