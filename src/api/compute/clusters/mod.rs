//! Clusters: the list, one of them, and everything that is done to them.

#![allow(
    missing_docs,
    clippy::too_many_arguments,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

#[cfg(feature = "ssr")]
mod changes;
#[cfg(feature = "ssr")]
mod detail;
#[cfg(feature = "ssr")]
mod list;
#[cfg(feature = "ssr")]
mod minimum;
#[cfg(feature = "ssr")]
mod names;
#[cfg(feature = "ssr")]
mod nodes;

use leptos::prelude::*;

use crate::api::Done;
use crate::error::AppError;

#[cfg(feature = "ssr")]
pub use detail::{ClusterDetail, DecisionLine, MinimumRow, NODES_SHOWN, QueueRow, Verbs, WhyView, cluster, right_for};
#[cfg(feature = "ssr")]
pub use list::{ClusterPage, ClusterQuery, ClusterRow, ClusterSort, count, list_clusters};
#[cfg(feature = "ssr")]
pub(super) use list::{hour_of_midnight, sees_cost, since_last_step};
#[cfg(feature = "ssr")]
pub(super) use nodes::row as node_row;
#[cfg(feature = "ssr")]
pub use nodes::{AgentFacts, JobOnNode, NodeRow};

/// Makes a cluster. Needs `cluster.create`.
#[server(prefix = "/fn", endpoint = "create_cluster")]
pub async fn create_cluster(
    #[server(default)] command_id: String,
    name: String,
    #[server(default)] size: String,
    min: String,
    max: String,
    idle: String,
    #[server(default)] warm: String,
    #[server(default)] tier: String,
    #[server(default)] tags: String,
) -> Result<Done, AppError> {
    changes::create(&command_id, &name, &size, [&min, &max, &idle, &warm], &tier, &tags).await
}

/// Changes how a cluster scales. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "scale_cluster")]
pub async fn scale_cluster(
    #[server(default)] command_id: String,
    cluster: String,
    min: String,
    max: String,
    idle: String,
    #[server(default)] warm: String,
    #[server(default)] why: String,
) -> Result<Done, AppError> {
    changes::scale(&command_id, &cluster, [&min, &max, &idle, &warm], &why).await
}

/// Keeps more nodes, or fewer, at certain hours: two schedules that set the minimum. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "add_minimum")]
pub async fn add_minimum(
    #[server(default)] command_id: String,
    cluster: String,
    #[server(default)] nodes: String,
    #[server(default)] days: String,
    #[server(default)] from: String,
    #[server(default)] to: String,
    #[server(default)] otherwise: String,
    #[server(default)] time_zone: String,
) -> Result<Done, AppError> {
    let typed = minimum::TypedMinimum { nodes, days, from, to, otherwise, time_zone };
    minimum::add(&command_id, &cluster, &typed).await
}

/// Switches a schedule of a cluster on (`enabled=on`) or off. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "switch_minimum")]
pub async fn switch_minimum(
    #[server(default)] command_id: String,
    cluster: String,
    schedule: String,
    #[server(default)] enabled: String,
) -> Result<Done, AppError> {
    minimum::switch(&command_id, &cluster, &schedule, !enabled.is_empty()).await
}

/// Takes a schedule of a cluster away. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "remove_minimum")]
pub async fn remove_minimum(
    #[server(default)] command_id: String,
    cluster: String,
    schedule: String,
) -> Result<Done, AppError> {
    minimum::remove(&command_id, &cluster, &schedule).await
}

/// Replaces the tags of a cluster. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "tag_cluster")]
pub async fn tag_cluster(
    #[server(default)] command_id: String,
    cluster: String,
    #[server(default)] tags: String,
) -> Result<Done, AppError> {
    changes::tag(&command_id, &cluster, &tags).await
}

/// Starts nothing more on a cluster; what runs goes on. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "pause_cluster")]
pub async fn pause_cluster(
    #[server(default)] command_id: String,
    cluster: String,
    #[server(default)] why: String,
) -> Result<Done, AppError> {
    changes::pause(&command_id, &cluster, &why).await
}

/// Lets a paused cluster go on. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "resume_cluster")]
pub async fn resume_cluster(
    #[server(default)] command_id: String,
    cluster: String,
    #[server(default)] why: String,
) -> Result<Done, AppError> {
    changes::resume(&command_id, &cluster, &why).await
}

/// Takes a cluster away: `jobs` is `wait` or `end`, for those that run. Needs `cluster.delete`.
#[server(prefix = "/fn", endpoint = "delete_cluster")]
pub async fn delete_cluster(
    #[server(default)] command_id: String,
    cluster: String,
    #[server(default)] jobs: String,
    #[server(default)] why: String,
) -> Result<Done, AppError> {
    changes::delete(&command_id, &cluster, &jobs, &why).await
}
