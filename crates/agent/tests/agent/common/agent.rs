//! A real agent, started for a test and gone with it.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use atelier_agent::AgentConfig;
use atelier_confine::Confinement;
use atelier_domain::compute::Resources;
use atelier_testing::wait_until;
use tempfile::TempDir;

use super::jobs::NODE;
use super::{PATIENCE, Server};

static COUNT: AtomicU64 = AtomicU64::new(0);

/// An agent, its folders and its process.
pub struct Agent {
    pub folder: TempDir,
    pub config: AgentConfig,
    pub child: Option<Child>,
}

impl Agent {
    /// Everything that is needed, and nothing started.
    pub fn prepared() -> Self {
        let folder = TempDir::new().unwrap();
        let socket = folder.path().join("server.sock");
        let mut config =
            AgentConfig::new(format!("unix:{}", socket.display()), NODE, "the-token", &folder.path().join("node"));
        config.installation = format!("test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        config.shape = Resources { cores: 2_000, memory: 2_048, gpus: 0 };
        for (place, name) in [(&mut config.homes, "homes"), (&mut config.jobs, "jobs"), (&mut config.shared, "shared")]
        {
            *place = folder.path().join(name);
        }
        Self { folder, config, child: None }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("server.sock")
    }

    pub fn start(&mut self) {
        self.start_as(None);
    }

    /// Starts it, as another user if one is named.
    pub fn start_as(&mut self, uid: Option<u32>) {
        let file = self.folder.path().join("config.json");
        self.config.write(&file).unwrap();
        let log = File::options().create(true).append(true).open(self.folder.path().join("log")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_atelier-agent"));
        command.arg("agent").arg("--config").arg(&file).stdin(Stdio::null()).stderr(log).stdout(Stdio::null());
        if let Some(uid) = uid {
            command.uid(uid).gid(uid);
        }
        self.child = Some(command.spawn().unwrap());
    }

    /// A server and an agent that it has let in.
    pub async fn with_server() -> (Self, Server) {
        Self::with_config(|_| {}).await
    }

    pub async fn with_config(change: impl FnOnce(&mut AgentConfig)) -> (Self, Server) {
        let mut agent = Self::prepared();
        change(&mut agent.config);
        let mut server = Server::unix(&agent.socket());
        agent.start();
        server.welcome().await;
        (agent, server)
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Waits until the process has ended by itself.
    pub fn ended(&mut self) -> ExitStatus {
        let mut child = self.child.take().unwrap();
        wait_until("the agent to end itself", PATIENCE, || child.try_wait().unwrap())
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if let Some(confinement) = Confinement::detect() {
            let node = confinement.node(&self.config.installation, self.config.node.0);
            let _ = node.kill_all();
            let _ = node.remove();
        }
        if std::thread::panicking() {
            eprintln!("--- the agent's log:\n{}", self.log());
        }
    }
}

/// Seconds for `sleep` that nobody else on this machine sleeps for, so that a process is found again by them.
/// All are equally long: none is a part of another.
pub fn marker() -> String {
    format!("9{:07}{:04}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Processes of the machine whose command line has this text.
pub fn processes_with(text: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(text)
    })
    .collect()
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
