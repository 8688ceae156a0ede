//! What a driver tells an agent before it starts: one JSON file that only the agent's user may read.

use std::path::{Path, PathBuf};

use atelier_domain::compute::{NodeId, Resources};
use atelier_domain::network::{Egress, Range, Separation};
use serde::{Deserialize, Serialize};

/// What an agent is told. Drivers write it as JSON, with rights `0600`; what has a default may be left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentConfig {
    /// Where the server is: `unix:<path>`, `ws://host:port/agent` or `wss://host/agent`.
    pub server: String,
    /// Which node it is.
    pub node: NodeId,
    /// Which installation it belongs to; in the names of its control groups.
    pub installation: String,
    /// Redeemed once, for the agent's own secret.
    pub token: String,
    /// The node's own folder: lock, secret, output that waits, files for jobs. On a disk, not in memory.
    pub folder: PathBuf,
    /// The node's share of its machine.
    pub shape: Resources,
    /// Which of the machine's GPUs it has, by their numbers; see [`Self::devices`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<u64>,
    /// Where people's homes are, one folder for each account.
    pub homes: PathBuf,
    /// The folder that all people of the workspace share.
    pub shared: PathBuf,
    /// Where jobs run, one folder for each account.
    pub jobs: PathBuf,
    /// Where Python environments are, which everybody reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environments: Option<PathBuf>,
    /// The Python that they stand on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python: Option<PathBuf>,
    /// Under which address other nodes find this one.
    #[serde(default = "default_host")]
    pub host: String,
    /// Without a server for so long and without jobs, it ends itself.
    #[serde(default = "default_alone_seconds")]
    pub alone_seconds: u64,
    /// Whether people are kept apart where that is possible: when it runs as root.
    #[serde(default = "yes")]
    pub isolate: bool,
    /// Whether people who are kept apart have a private view of the system too, where bubblewrap can make
    /// one.
    #[serde(default = "yes")]
    pub view: bool,
    /// Output of one part of a job that waits for the server, in MiB; with more, the job has to wait.
    #[serde(default = "default_log_limit_mib")]
    pub log_limit_mib: u64,
    /// Files for jobs that are kept for the next job that wants them, in MiB.
    #[serde(default = "default_blob_limit_mib")]
    pub blob_limit_mib: u64,
    /// Who vouches for the server at `wss://`, as a PEM file; without it, whom the machine trusts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// How people's networks are kept apart; not at all if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkConfig>,
}

/// The networks of the people on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkConfig {
    /// How they are kept apart.
    pub separation: Separation,
    /// Which addresses they have.
    pub range: Range,
    /// Where they lead.
    pub egress: Egress,
    /// Where all agents of the machine write down who has which address, in the data directory.
    pub folder: PathBuf,
    /// The socket at which the server answers what runs in them.
    pub api: PathBuf,
}

fn default_host() -> String {
    "127.0.0.1".to_owned()
}

const fn default_alone_seconds() -> u64 {
    86_400
}

const fn yes() -> bool {
    true
}

const fn default_log_limit_mib() -> u64 {
    256
}

const fn default_blob_limit_mib() -> u64 {
    4_096
}

impl AgentConfig {
    /// A configuration with everything that has a default.
    pub fn new(server: impl Into<String>, node: NodeId, token: impl Into<String>, folder: &Path) -> Self {
        Self {
            server: server.into(),
            node,
            installation: String::new(),
            token: token.into(),
            folder: folder.to_owned(),
            shape: Resources::NONE,
            gpus: Vec::new(),
            homes: folder.join("homes"),
            shared: folder.join("shared"),
            jobs: folder.join("jobs"),
            environments: None,
            python: None,
            host: default_host(),
            alone_seconds: default_alone_seconds(),
            isolate: yes(),
            view: yes(),
            log_limit_mib: default_log_limit_mib(),
            blob_limit_mib: default_blob_limit_mib(),
            ca: None,
            network: None,
        }
    }

    /// Which of the machine's GPUs the node has, the lowest number first. Who was told none takes the
    /// machine's first ones: so it was before drivers said which.
    pub fn devices(&self) -> Vec<u64> {
        let mut devices = if self.gpus.is_empty() { (0..self.shape.gpus).collect() } else { self.gpus.clone() };
        devices.sort_unstable();
        devices.dedup();
        devices
    }

    /// Reads the file.
    ///
    /// # Errors
    /// In words, with the file's name.
    pub fn read(file: &Path) -> Result<Self, String> {
        let cannot = |why: String| format!("The agent's configuration {} cannot be read: {why}.", file.display());
        let text = std::fs::read_to_string(file).map_err(|error| cannot(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| cannot(error.to_string()))
    }

    /// Writes the file, so that only its owner can read it.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, file: &Path) -> std::io::Result<()> {
        use std::io::Write as _;
        use std::os::unix::fs::OpenOptionsExt as _;
        let text = serde_json::to_string_pretty(self)?;
        let mut open = std::fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(file)?;
        open.write_all(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_older_servers_wrote_is_understood() {
        let text = r#"{"server": "unix:/x", "node": 7, "installation": "i", "token": "t", "folder": "/n",
            "shape": {"cores": 1000, "memory": 512, "gpus": 2}, "homes": "/h", "shared": "/s", "jobs": "/j"}"#;
        let old: AgentConfig = serde_json::from_str(text).expect("is read");
        assert!(old.isolate && old.view && old.ca.is_none());
        assert_eq!((old.alone_seconds, old.log_limit_mib, old.blob_limit_mib), (86_400, 256, 4_096));
        assert_eq!(old.devices(), [0, 1]);
    }

    #[test]
    fn what_is_written_is_read_again_by_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("agent.json");
        let mut config = AgentConfig::new("unix:/x", NodeId(7), "t", Path::new("/n"));
        (config.shape.gpus, config.gpus) = (2, vec![5, 3]);
        config.write(&file).expect("is written");
        assert_eq!(AgentConfig::read(&file), Ok(config.clone()));
        assert_eq!(config.devices(), [3, 5]);
        let mode = std::fs::metadata(&file).expect("is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
