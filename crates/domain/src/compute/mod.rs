//! The nouns: sizes, nodes, instances, clusters, jobs, quotas; their states, limits and verbs.
//!
//! Everything here is plain data with its own checks. What happens to it is decided in [`crate::rules`].

pub mod app;
pub mod array;
#[cfg(feature = "zones")]
pub mod budget;
pub mod cluster;
pub mod fair_share;
pub mod idle;
pub mod ids;
pub mod instance;
pub mod job;
pub mod node;
pub mod notice;
pub mod quota;
pub mod resources;
pub mod room;
pub mod script;
pub mod size;
pub mod start;
pub mod tags;
pub mod verb;

pub use ids::{ClusterId, InstanceId, JobId, NodeId, ScheduleId};
pub use resources::Resources;
