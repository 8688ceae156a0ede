//! Output that an agent had on disk and had not handed over when it died: the rest of logs that nobody else
//! can finish.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use atelier_domain::compute::{JobId, NodeId};
use rustix::fs::{SeekFrom, seek};

use super::logs::LogName;
use super::{Fleet, JobLogs};

/// What is read at once.
const PIECE: usize = 1 << 20;

impl Fleet {
    /// Adds what a node that is gone has left to the logs. Again is fine: what is there already counts once.
    pub(crate) async fn salvage(&self, node: NodeId) {
        let (logs, left) = (self.logs().clone(), self.folders().left_by(node));
        // Nothing can be done about a panic here, and it was said.
        let _ = tokio::task::spawn_blocking(move || salvage(&logs, node, &left)).await;
    }
}

fn salvage(logs: &JobLogs, node: NodeId, left: &Path) {
    let Ok(entries) = std::fs::read_dir(left) else { return };
    for entry in entries.flatten() {
        let Some(name) = entry.file_name().to_str().and_then(|file| name(file, node)) else { continue };
        match add(logs, name, &entry.path()) {
            Ok(bytes) => tracing::info!(job = %name.job, %node, bytes, "output of a dead agent was added to a log"),
            Err(error) => {
                tracing::warn!(job = %name.job, %node, %error, "output of a dead agent could not be read and is lost");
            }
        }
    }
    if let Err(error) = std::fs::remove_dir_all(left) {
        tracing::warn!(%node, %error, "what a dead agent has left could not be removed");
    }
}

/// Agents name these files `job.attempt`.
fn name(file: &str, node: NodeId) -> Option<LogName> {
    let (job, attempt) = file.split_once('.')?;
    Some(LogName { job: JobId(job.parse().ok()?), attempt: attempt.parse().ok()?, node })
}

/// Every byte is at its true offset there; where the log already has it, there may be a hole.
fn add(logs: &JobLogs, name: LogName, path: &Path) -> io::Result<u64> {
    let file = File::open(path)?;
    let began = logs.length(name);
    let mut offset = began;
    let mut piece = vec![0; PIECE];
    while offset < file.metadata()?.len() && seek(&file, SeekFrom::Data(offset))? == offset {
        let count = file.read_at(&mut piece, offset)?;
        if count == 0 {
            break;
        }
        offset = logs.keep(name, offset, &piece[..count])?.length;
    }
    logs.sync(name)?;
    Ok(offset - began)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_goes_on_where_it_ended_and_holes_are_no_output() {
        let folder = tempfile::tempdir().expect("a folder");
        let logs = JobLogs::new(folder.path().join("logs"));
        let left = folder.path().join("left");
        std::fs::create_dir(&left).expect("made");
        let node = NodeId(7);
        let of = |job: u64| LogName { job: JobId(job), attempt: 2, node };
        let text: Vec<u8> = (0..3_000_000_u32).map(|number| b'a' + (number % 26) as u8).collect();
        let spool = |job: u64, from: usize, to: usize| {
            let file = File::create(left.join(format!("{job}.2"))).expect("made");
            file.write_all_at(&text[from..to], from as u64).expect("written");
        };
        // In the middle, from the beginning, less than is there, and after a hole.
        for (job, kept, from, to) in
            [(1, 1_000, 900, 3_000_000), (2, 0, 0, 5_000), (3, 2_000, 0, 1_500), (4, 10, 1 << 20, 2 << 20)]
        {
            logs.keep(of(job), 0, &text[..kept]).expect("kept");
            spool(job, from, to);
        }
        std::fs::write(left.join("strange"), "x").expect("written");
        salvage(&logs, node, &left);
        for (job, length) in [(1, 3_000_000), (2, 5_000), (3, 2_000), (4, 10)] {
            assert_eq!(logs.read(of(job), 0, text.len()).expect("read"), text[..length], "{job}");
        }
        assert!(!left.exists());
        salvage(&logs, node, &left);
    }
}
