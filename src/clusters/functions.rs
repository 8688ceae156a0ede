//! Clusters: the list, one of them, and everything that is done to them.

#![allow(
    missing_docs,
    clippy::too_many_arguments,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

use leptos::prelude::*;

use crate::done::Done;
use crate::error::FnError;

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
) -> Result<Done, FnError> {
    Ok(crate::clusters::changes::create(&command_id, &name, &size, [&min, &max, &idle, &warm], &tier, &tags).await?)
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
) -> Result<Done, FnError> {
    Ok(crate::clusters::changes::scale(&command_id, &cluster, [&min, &max, &idle, &warm], &why).await?)
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
) -> Result<Done, FnError> {
    let typed = crate::clusters::minimum_changes::TypedMinimum { nodes, days, from, to, otherwise, time_zone };
    Ok(crate::clusters::minimum_changes::add(&command_id, &cluster, &typed).await?)
}

/// Switches a schedule of a cluster on (`enabled=on`) or off. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "switch_minimum")]
pub async fn switch_minimum(
    #[server(default)] command_id: String,
    cluster: String,
    schedule: String,
    #[server(default)] enabled: String,
) -> Result<Done, FnError> {
    Ok(crate::clusters::minimum_changes::switch(&command_id, &cluster, &schedule, !enabled.is_empty()).await?)
}

/// Takes a schedule of a cluster away. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "remove_minimum")]
pub async fn remove_minimum(
    #[server(default)] command_id: String,
    cluster: String,
    schedule: String,
) -> Result<Done, FnError> {
    Ok(crate::clusters::minimum_changes::remove(&command_id, &cluster, &schedule).await?)
}

/// Replaces the tags of a cluster. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "tag_cluster")]
pub async fn tag_cluster(
    #[server(default)] command_id: String,
    cluster: String,
    #[server(default)] tags: String,
) -> Result<Done, FnError> {
    Ok(crate::clusters::changes::tag(&command_id, &cluster, &tags).await?)
}

/// Starts nothing more on a cluster; what runs goes on. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "pause_cluster")]
pub async fn pause_cluster(
    #[server(default)] command_id: String,
    cluster: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(crate::clusters::changes::pause(&command_id, &cluster, &why).await?)
}

/// Lets a paused cluster go on. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "resume_cluster")]
pub async fn resume_cluster(
    #[server(default)] command_id: String,
    cluster: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(crate::clusters::changes::resume(&command_id, &cluster, &why).await?)
}

/// Takes a cluster away: `jobs` is `wait` or `end`, for those that run. Needs `cluster.delete`.
#[server(prefix = "/fn", endpoint = "delete_cluster")]
pub async fn delete_cluster(
    #[server(default)] command_id: String,
    cluster: String,
    #[server(default)] jobs: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(crate::clusters::changes::delete(&command_id, &cluster, &jobs, &why).await?)
}
