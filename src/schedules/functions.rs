//! When instances start and stop by themselves: the grid of one, the rules beside it, the week of all, the warnings before a
//! stop, and what administrators demand of idle shutdown.

#![allow(
    missing_docs,
    clippy::too_many_arguments,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

use leptos::prelude::*;

use crate::done::Done;
use crate::error::FnError;

/// Gives an instance another week, and sets its idle shutdown. Needs `instance.configure`.
#[server(prefix = "/fn", endpoint = "save_week")]
pub async fn save_week(
    #[server(default)] command_id: String,
    instance: String,
    #[server(flatten)] fields: atelier_domain::fields::Fields,
) -> Result<Done, FnError> {
    Ok(crate::schedules::changes::save_week(&command_id, &instance, &fields).await?)
}

/// Adds a rule beside the week. Needs `instance.configure`.
#[server(prefix = "/fn", endpoint = "add_rule")]
pub async fn add_rule(
    #[server(default)] command_id: String,
    instance: String,
    #[server(flatten)] fields: atelier_domain::fields::Fields,
) -> Result<Done, FnError> {
    Ok(crate::schedules::changes::add_rule(&command_id, &instance, &fields).await?)
}

/// Changes a rule. Needs `instance.configure`.
#[server(prefix = "/fn", endpoint = "change_rule")]
pub async fn change_rule(
    #[server(default)] command_id: String,
    instance: String,
    schedule: String,
    #[server(flatten)] fields: atelier_domain::fields::Fields,
) -> Result<Done, FnError> {
    Ok(crate::schedules::changes::change_rule(&command_id, &instance, &schedule, &fields).await?)
}

/// Switches a schedule on (`enabled=on`) or off. Needs `instance.configure`.
#[server(prefix = "/fn", endpoint = "switch_schedule")]
pub async fn switch_schedule(
    #[server(default)] command_id: String,
    instance: String,
    schedule: String,
    #[server(default)] enabled: String,
) -> Result<Done, FnError> {
    Ok(crate::schedules::changes::switch(&command_id, &instance, &schedule, !enabled.is_empty()).await?)
}

/// Leaves the next time of a schedule out (`skip=on`), or takes that back. Needs `instance.configure`.
#[server(prefix = "/fn", endpoint = "skip_schedule")]
pub async fn skip_schedule(
    #[server(default)] command_id: String,
    instance: String,
    schedule: String,
    #[server(default)] skip: String,
) -> Result<Done, FnError> {
    Ok(crate::schedules::changes::skip(&command_id, &instance, &schedule, !skip.is_empty()).await?)
}

/// Takes a schedule away. Needs `instance.configure`.
#[server(prefix = "/fn", endpoint = "remove_schedule")]
pub async fn remove_schedule(
    #[server(default)] command_id: String,
    instance: String,
    schedule: String,
) -> Result<Done, FnError> {
    Ok(crate::schedules::changes::remove(&command_id, &instance, &schedule).await?)
}

/// Switches all schedules of an instance off (`paused=on`) or on. Needs `instance.configure`.
#[server(prefix = "/fn", endpoint = "pause_schedules")]
pub async fn pause_schedules(
    #[server(default)] command_id: String,
    instance: String,
    #[server(default)] paused: String,
) -> Result<Done, FnError> {
    Ok(crate::schedules::changes::pause(&command_id, &instance, !paused.is_empty()).await?)
}

/// Sets what is allowed and demanded of idle shutdown in the workspace; minutes each. Needs `workspace.write`.
#[server(prefix = "/fn", endpoint = "set_idle_rules")]
pub async fn set_idle_rules(
    #[server(default)] command_id: String,
    #[server(default)] default: String,
    min: String,
    max: String,
    #[server(default)] required: String,
) -> Result<Done, FnError> {
    Ok(crate::schedules::idle_changes::set(&command_id, [&default, &min, &max], !required.is_empty()).await?)
}
