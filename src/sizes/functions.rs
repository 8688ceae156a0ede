//! The catalogue of sizes: what there is, and what operators change in it.

#![allow(
    missing_docs,
    clippy::too_many_arguments,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

#[cfg(feature = "ssr")]
pub use atelier_studio::sizes::list::*;
use leptos::prelude::*;

use crate::done::Done;
use crate::error::FnError;

/// Adds a size, or changes the one of that name. Needs `size.write`.
#[server(prefix = "/fn", endpoint = "put_size")]
pub async fn put_size(
    #[server(default)] command_id: String,
    name: String,
    family: String,
    site: String,
    cores: String,
    memory: String,
    #[server(default)] gpus: String,
    price: String,
) -> Result<Done, FnError> {
    let typed = crate::sizes::changes::TypedSize { name, family, site, cores, memory, gpus, price };
    Ok(crate::sizes::changes::put_size(&command_id, &typed).await?)
}

/// Takes a size out of the catalogue, if nothing is made of it. Needs `size.write`.
#[server(prefix = "/fn", endpoint = "remove_size")]
pub async fn remove_size(
    #[server(default)] command_id: String,
    name: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(crate::sizes::changes::remove_size(&command_id, &name, &why).await?)
}
