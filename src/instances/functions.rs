//! Instances: the list, one of them, and everything that is done to them.

#![allow(
    missing_docs,
    clippy::too_many_arguments,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

use leptos::prelude::*;

use crate::done::Done;
use crate::error::FnError;

/// Gives an instance a node. Needs `instance.operate`.
#[server(prefix = "/fn", endpoint = "start_instance")]
pub async fn start_instance(#[server(default)] command_id: String, instance: String) -> Result<Done, FnError> {
    Ok(crate::instances::changes::start(&command_id, &instance).await?)
}

/// The same from the page that waits for an application, and back there. Needs `instance.connect` and `instance.operate`.
#[server(prefix = "/fn", endpoint = "wake_instance")]
pub async fn wake_instance(
    #[server(default)] command_id: String,
    instance: String,
    app: String,
    #[server(default)] next: String,
) -> Result<Done, FnError> {
    Ok(crate::instances::changes::wake(&command_id, &instance, &app, &next).await?)
}

/// Starts, stops, restarts, rebuilds or deletes instances, by name. Each is judged by itself.
#[server(prefix = "/fn", endpoint = "change_instances")]
pub async fn change_instances(
    #[server(default)] command_id: String,
    verb: String,
    #[server(default)] ids: Vec<String>,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(crate::instances::bulk::change(&command_id, &verb, &ids, &why).await?)
}

/// Keeps an instance running for some hours: puts off the stop that is planned, or its idle shutdown. Needs
/// `instance.operate`.
#[server(prefix = "/fn", endpoint = "extend_instance")]
pub async fn extend_instance(
    #[server(default)] command_id: String,
    instance: String,
    hours: String,
) -> Result<Done, FnError> {
    Ok(crate::instances::changes::extend(&command_id, &instance, &hours).await?)
}

/// Keeps an instance running until then, in the caller's time zone. Needs `instance.operate`.
#[server(prefix = "/fn", endpoint = "keep_instance")]
pub async fn keep_instance(
    #[server(default)] command_id: String,
    instance: String,
    #[server(default)] until: String,
) -> Result<Done, FnError> {
    Ok(crate::instances::changes::keep(&command_id, &instance, &until).await?)
}

/// Leaves the next scheduled stop out. Needs `instance.operate`.
#[server(prefix = "/fn", endpoint = "skip_stop")]
pub async fn skip_stop(#[server(default)] command_id: String, instance: String) -> Result<Done, FnError> {
    Ok(crate::instances::changes::skip(&command_id, &instance).await?)
}

/// Gives a stopped instance another size. Needs `instance.configure`.
#[server(prefix = "/fn", endpoint = "resize_instance")]
pub async fn resize_instance(
    #[server(default)] command_id: String,
    instance: String,
    #[server(default)] size: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(crate::instances::changes::resize(&command_id, &instance, &size, &why).await?)
}

/// Changes when an instance stops for want of activity and whether it keeps its quota. Needs `instance.configure`.
#[server(prefix = "/fn", endpoint = "configure_instance")]
pub async fn configure_instance(
    #[server(default)] command_id: String,
    instance: String,
    #[server(default)] idle: String,
    #[server(default)] counts: Vec<String>,
    #[server(default)] keeps_quota: String,
) -> Result<Done, FnError> {
    Ok(crate::instances::changes::configure(&command_id, &instance, &idle, &counts, !keeps_quota.is_empty()).await?)
}

/// Replaces the tags of an instance. Needs `instance.configure`.
#[server(prefix = "/fn", endpoint = "tag_instance")]
pub async fn tag_instance(
    #[server(default)] command_id: String,
    instance: String,
    #[server(default)] tags: String,
) -> Result<Done, FnError> {
    Ok(crate::instances::changes::tag(&command_id, &instance, &tags).await?)
}

/// Lets scripts that somebody else made have the home. For the owner alone.
#[server(prefix = "/fn", endpoint = "accept_scripts")]
pub async fn accept_scripts(
    #[server(default)] command_id: String,
    instance: String,
    revision: String,
) -> Result<Done, FnError> {
    Ok(crate::instances::changes::accept(&command_id, &instance, &revision).await?)
}

/// Adds an application to an instance, or changes it. For the owner alone.
#[server(prefix = "/fn", endpoint = "put_app")]
pub async fn put_app(
    instance: String,
    #[server(default)] replaces: String,
    #[server(default)] preset: String,
    #[server(default)] name: String,
    #[server(default)] label: String,
    #[server(default)] command: String,
    #[server(default)] environment: String,
    #[server(default)] listens: String,
    #[server(default)] port: String,
    #[server(default)] network: String,
    #[server(default)] health: String,
    #[server(default)] page: String,
) -> Result<Done, FnError> {
    let typed = crate::instances::app_changes::Typed {
        instance,
        replaces,
        preset,
        name,
        label,
        command,
        environment,
        listens,
        port,
        network,
        health,
        page,
    };
    Ok(crate::instances::app_changes::put(typed).await?)
}

/// Takes an application from an instance. For the owner alone.
#[server(prefix = "/fn", endpoint = "remove_app")]
pub async fn remove_app(instance: String, app: String) -> Result<Done, FnError> {
    Ok(crate::instances::app_changes::remove(&instance, &app).await?)
}

/// Ends an application of a running instance and starts it again. For the owner alone.
#[server(prefix = "/fn", endpoint = "restart_app")]
pub async fn restart_app(instance: String, app: String) -> Result<Done, FnError> {
    Ok(crate::instances::app_changes::restart(&instance, &app).await?)
}
