//! What server and agent say to each other about an instance, its applications and the bytes that go to them.

use atelier_domain::compute::InstanceId;
use atelier_domain::compute::idle::Source;
use atelier_domain::text::Text;
use serde::{Deserialize, Serialize};

use crate::message::Person;
use crate::remote::{Endpoint, SessionStart};

/// An instance to be set up on its node. The same generation again changes nothing; a later one replaces what
/// is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetUp {
    pub instance: InstanceId,
    pub generation: u64,
    /// Its name, for prompts and variables.
    pub name: String,
    /// The workspace, for variables.
    pub workspace: String,
    pub person: Person,
    /// The folder of the instance on this machine: home, layers, sockets and logs are below it.
    pub folder: std::path::PathBuf,
    /// The shared environment that its own layer stands on; nothing while none is built.
    pub base: Option<std::path::PathBuf>,
    /// Where JupyterLab finds further kernels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels: Option<std::path::PathBuf>,
    /// The number of its own layer; older ones are removed.
    pub layer: u32,
    /// The applications, started when the scripts are done.
    pub apps: Vec<App>,
    /// Variables for everything that runs in it.
    pub environment: Vec<(String, String)>,
    /// Whether scripts come next, so that applications wait for them.
    pub has_scripts: bool,
    /// As of when the applications that its people added were read; later ones come with [`CustomApps`].
    #[serde(default)]
    pub apps_revision: i64,
    /// Folders of the machine with programs for its applications, which nobody there can change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<std::path::PathBuf>,
}

/// An application that listens on a socket, or on a port to which a socket is joined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct App {
    /// Its name in addresses: at most 16 of a–z, 0–9 and `-`.
    pub name: String,
    /// The program with its arguments. `{socket}`, `{port}`, `{home}` and `{layer}` become what they are in
    /// the sandbox.
    pub argv: Vec<String>,
    /// Asked until it answers; then the application is ready.
    pub health: String,
    /// Whether its notebook kernels are asked what they do.
    pub has_kernels: bool,
    /// Its name for people; nothing if that is the name in addresses.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// Variables of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<(String, String)>,
    /// The port of loopback on which it listens; nothing if it listens on its socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Whether it shares the network of the machine, so that others there can reach its port.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_open_network: bool,
    /// What helps where its program is missing; the rest of a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remedy: String,
    /// Whether it is started only when somebody opens it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_on_demand: bool,
    /// Whether it reserves far more addresses than it uses memory, so that a limit of those, where there is
    /// no better one, would end it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reserves_much: bool,
    /// Whether somebody added it to their instance, so that [`CustomApps`] replaces it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_custom: bool,
}

/// The applications that people added to an instance, in place of those that were known before. What is as
/// before goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomApps {
    pub instance: InstanceId,
    /// As of when they were read. What was read earlier than what is known counts for nothing.
    pub revision: i64,
    pub apps: Vec<App>,
}

/// A script to be run in an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// "creation" or "startup", for the log.
    pub label: String,
    /// The hash of its text, fetched like files of jobs.
    pub blob: String,
    /// The size of its text.
    pub size: u64,
    pub arguments: Vec<String>,
    /// How long it may take, in seconds.
    pub limit_seconds: u64,
}

/// Scripts to be run one after another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunScripts {
    pub instance: InstanceId,
    pub generation: u64,
    pub scripts: Vec<Script>,
    /// Whether they get the owner's home; else an empty folder in its place.
    pub is_trusted: bool,
    /// As which user of the system they run where they are not trusted: one that owns nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throw_away: Option<u32>,
}

/// Where the bytes of a stream go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// To an application's socket, as they are.
    App { instance: InstanceId, name: String },
    /// To a terminal, as frames (see [`crate::terminal`]). One that does not exist is begun.
    Terminal {
        instance: InstanceId,
        /// Which of its terminals: at most 16 of a–z, 0–9 and `-`.
        session: String,
    },
    /// From a log of the instance, as it is and as it grows.
    Log {
        instance: InstanceId,
        /// Which: `setup`, or the name of an application.
        name: String,
        offset: u64,
    },
    /// To a process of its own, as frames (see [`crate::remote`]). It ends with the stream.
    Session { instance: InstanceId, start: Box<SessionStart> },
    /// To a server of the person's files, as SFTP speaks.
    Sftp { instance: InstanceId },
    /// To something that listens, connected to from inside the instance.
    Connect { instance: InstanceId, to: Endpoint },
}

impl Target {
    /// In which instance it is.
    pub const fn instance(&self) -> InstanceId {
        match self {
            Self::App { instance, .. }
            | Self::Terminal { instance, .. }
            | Self::Log { instance, .. }
            | Self::Session { instance, .. }
            | Self::Sftp { instance }
            | Self::Connect { instance, .. } => *instance,
        }
    }
}

/// How an application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AppState {
    /// Waits for the scripts.
    Waiting,
    /// Is started when somebody opens it.
    OnDemand,
    /// Its process runs and does not answer yet.
    Starting,
    Ready,
    /// It ended, and is started again soon.
    BackingOff,
    /// It ended too often, or never answered.
    Failed,
}

/// What is known of an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppStatus {
    pub name: String,
    pub state: AppState,
    /// For how long it has been so, in milliseconds.
    pub since_ms: u64,
    /// How long it took to answer, in milliseconds, once it did.
    pub took_ms: Option<u64>,
    /// How often it was started again.
    pub restarts: u32,
    /// The last lines that it printed, when it failed.
    pub last_lines: Vec<String>,
    /// Whether other people of its machine can reach the port on which it listens.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_exposed: bool,
}

/// All applications and terminals of an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppsStatus {
    pub instance: InstanceId,
    pub generation: u64,
    pub apps: Vec<AppStatus>,
    /// The terminals that are open.
    pub terminals: Vec<String>,
}

/// One kind of activity and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    pub source: Source,
    /// Whether there was any in the stretch.
    pub is_active: bool,
    /// For people: which notebook, which terminal, how many percent.
    pub detail: Text,
}

/// What was going on in an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    pub instance: InstanceId,
    /// For how many milliseconds up to now that was watched.
    pub stretch_ms: u64,
    pub signals: Vec<Signal>,
    pub processes: Vec<Process>,
}

/// A process, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number, as the agent sees it.
    pub pid: u32,
    pub name: String,
    /// Thousandths of a core in use.
    pub cores: u64,
    /// Memory in use, in MiB.
    pub memory: u64,
}
