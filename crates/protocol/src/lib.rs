//! What the server and the agents on nodes say to each other over one WebSocket.
//!
//! Text frames carry [`ToServer`] and [`ToAgent`] as JSON; binary frames carry bytes ([`Bytes`]): output of
//! jobs one way, files for jobs the other. Every frame has a largest size, every list a largest length, and
//! decoding never panics: whoever sends something else is told what was wrong and cut off.
//!
//! **Nothing is lost, nothing counts twice.** Events of an agent are numbered and said again until the server
//! has made them durable ([`ToAgent::Heard`]). Output has offsets: the server keeps what is next, ignores
//! what it has, and says how far it got ([`ToAgent::Kept`]). Within one connection all output of a part
//! precedes the event that it is off.

mod config;
mod frame;
mod instance;
mod message;
mod node;
pub mod remote;
pub mod terminal;

pub use config::{AgentConfig, NetworkConfig};
pub use frame::{
    Bytes, DecodeError, MAX_BYTES, MAX_FRAME, MAX_HELLO, decode_bytes, decode_first, decode_to_agent, decode_to_server,
    encode,
};
pub use instance::{
    Activity, App, AppState, AppStatus, AppsStatus, CustomApps, Process, RunScripts, Script, SetUp, Signal, Target,
};
pub use message::{
    Auth, Event, Hello, Identity, JobEnvironment, Numbered, Peer, Person, Run, Start, Task, TaskFile, ToAgent, ToServer,
};
pub use node::{Facts, Gpu, Limits, PartSample, Sample};

/// The version of this protocol. A server speaks this one and the one before; an agent its own.
pub const VERSION: u32 = 3;
/// The oldest that a server still understands.
pub const OLDEST: u32 = 1;
/// From this version on agents take [`ToAgent::Apps`] and [`ToAgent::RestartApp`].
pub const CUSTOM_APPS: u32 = 3;
/// An agent says something at least so often, in seconds; after three times that it counts as silent.
pub const BEAT_SECONDS: u64 = 10;

/// What a connection becomes that carries the bytes of one stream, in its `Upgrade` header.
pub const STREAM: &str = "atelier-stream";
/// The header in which an agent shows the ticket of a stream.
pub const TICKET: &str = "atelier-ticket";
/// The header in which an agent offers, and the server accepts, that the agent gives the server the
/// connection to an application and steps out. Only within one machine.
pub const HANDOVER: &str = "atelier-handover";
/// Where an agent dials for a stream.
pub const STREAM_PATH: &str = "/agent/stream";
