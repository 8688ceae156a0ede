//! What runs on a node, as `atelier agent`: it dials out to its server, runs parts of jobs, hands over their
//! output and exit codes, and says how the node is doing.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`config`] | what a driver tells an agent before it starts |
//! | `core` | the loop: one task that owns all that the agent knows |
//! | `link` | the connection to the server, made again and again |
//! | `outbox`, `log` | what the server has not confirmed yet: events and output |
//! | `identity` | tokens of those whose things run here |
//! | `instance` | a person's workstation on the node: home, applications, terminals |
//! | `sandbox` | one resident sandbox for each person, workers in it |
//! | `launcher` | the other end: what runs inside a sandbox and starts the jobs' processes |
//! | `wire` | what the two say to each other |
//!
//! **Nothing of a job is left behind.** Each job runs below a *worker*, a small process that is the reaper of
//! everything below it. Whatever a job forks, however it detaches itself, ends up as the worker's child; the
//! worker kills all of it when the job's own process has ended, and only when it has no children left does it
//! say how the job ended. The worker sits in the job's control group before the job begins, so there is no
//! moment in which a process could slip out of it.

mod blobs;
mod clock;
pub mod config;
mod core;
mod environment;
mod facts;
#[doc(hidden)]
pub mod fuzzed;
mod identity;
mod instance;
mod launcher;
mod link;
mod log;
mod outbox;
mod processes;
mod room;
mod sample;
mod sandbox;
mod setup;
mod untouched;
mod wire;

pub use config::AgentConfig;
pub use launcher::launcher;
pub use setup::run;
