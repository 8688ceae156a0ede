//! Where files of nodes and jobs are, in the server's data directory.

use std::path::{Path, PathBuf};

use atelier_domain::UserId;
use atelier_domain::compute::{InstanceId, JobId, NodeId};

/// The layout of the data directory.
#[derive(Clone, Debug)]
pub struct Folders {
    data: PathBuf,
}

impl Folders {
    pub fn new(data: &Path) -> Self {
        Self { data: std::path::absolute(data).unwrap_or_else(|_| data.to_owned()) }
    }

    pub fn data(&self) -> &Path {
        &self.data
    }

    /// What was changed about this machine for people's networks, and who has which address in them.
    pub fn network(&self) -> PathBuf {
        self.data.join("network")
    }

    /// Where what runs in those networks reaches the server.
    pub fn api_socket(&self) -> PathBuf {
        self.data.join("api.sock")
    }

    pub fn logs(&self) -> PathBuf {
        self.data.join("logs")
    }

    /// Uploaded files by the hash of their content: `blobs/ab/abcd…`.
    pub fn blob(&self, hash: &str) -> Option<PathBuf> {
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_hash.then(|| self.blobs().join(&hash[..2]).join(hash))
    }

    pub fn blobs(&self) -> PathBuf {
        self.data.join("blobs")
    }

    /// People's homes on this machine, by account.
    pub fn homes(&self) -> PathBuf {
        self.data.join("files").join("homes")
    }

    /// What everybody of the workspace shares.
    pub fn shared(&self) -> PathBuf {
        self.data.join("files").join("shared")
    }

    /// Folders of jobs, by account.
    pub fn jobs(&self) -> PathBuf {
        self.data.join("jobs")
    }

    /// The folder of one part of a job. What is left of it after the job is its `outputs`.
    pub fn job(&self, owner: &UserId, job: JobId, attempt: u32, rank: u32) -> PathBuf {
        self.jobs().join(owner.as_str()).join(format!("{}.{attempt}.{rank}", job.0))
    }

    /// The outputs of one part of a job.
    pub fn outputs(&self, owner: &UserId, job: JobId, attempt: u32, rank: u32) -> PathBuf {
        self.job(owner, job, attempt, rank).join("outputs")
    }

    /// Folders of instances, by their numbers.
    pub fn instances(&self) -> PathBuf {
        self.data.join("instances")
    }

    /// The folder of an instance: its home, its environment, the logs of its applications.
    pub fn instance(&self, instance: InstanceId) -> PathBuf {
        self.instances().join(instance.0.to_string())
    }

    /// What was deleted and can still be had back for a while.
    pub fn trash(&self) -> PathBuf {
        self.data.join("trash")
    }

    /// What the database doesn't know, until somebody decides.
    pub fn quarantine(&self) -> PathBuf {
        self.data.join("quarantine")
    }

    /// Folders of nodes on this machine.
    pub fn nodes(&self) -> PathBuf {
        self.data.join("nodes")
    }

    /// The folder of one node on this machine.
    pub fn node(&self, node: NodeId) -> PathBuf {
        self.nodes().join(node.to_string())
    }

    /// Output that the agent of a node had not handed over when the node was removed.
    pub fn left_by(&self, node: NodeId) -> PathBuf {
        self.nodes().join("left").join(node.to_string())
    }

    /// Copies of the program, by hash: nodes outlive an upgrade of the server.
    pub fn programs(&self) -> PathBuf {
        self.data.join("bin")
    }

    /// Python environments of instances, by hash, which everybody reads.
    pub fn environments(&self) -> PathBuf {
        self.data.join("environments")
    }

    /// The socket to which agents on this machine connect.
    pub fn socket(&self) -> PathBuf {
        self.data.join("agents.sock")
    }
}
