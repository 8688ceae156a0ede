//! Shares and queues as they are set by forms.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

use leptos::prelude::*;

use crate::done::Done;
use crate::error::FnError;

/// Gives somebody a weight. Needs `quota.write`.
#[server(prefix = "/fn", endpoint = "set_share")]
pub async fn set_share(
    #[server(default)] command_id: String,
    #[server(default)] person: String,
    #[server(default)] weight: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(crate::quota::fair_share_changes::set_share(&command_id, &person, &weight, &why).await?)
}

/// Says after how long use counts half. Needs `quota.write`.
#[server(prefix = "/fn", endpoint = "set_half_life")]
pub async fn set_half_life(
    #[server(default)] command_id: String,
    #[server(default)] half_life: String,
) -> Result<Done, FnError> {
    Ok(crate::quota::fair_share_changes::set_half_life(&command_id, &half_life).await?)
}

/// Says how a queue is served: of a cluster, or without one of serverless jobs. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "set_queue_policy")]
pub async fn set_queue_policy(
    #[server(default)] command_id: String,
    #[server(default)] cluster: String,
    #[server(default)] order: String,
    #[server(default)] backfill: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(crate::quota::fair_share_changes::set_queue_policy(&command_id, &cluster, &order, &backfill, &why).await?)
}
