//! What the forms of a cluster ask while a person types.

use atelier_domain::fields::Fields;
#[cfg(feature = "ssr")]
use atelier_studio::clusters::quote::{quote_new_cluster, quote_scaling};
use leptos::prelude::*;
use leptos::server_fn::codec::GetUrl;

#[cfg(feature = "ssr")]
use crate::components::price;
use crate::error::FnError;
use crate::islands::Part;
#[cfg(feature = "ssr")]
use crate::server::caller::here;

/// The price of `cluster` if it is to scale otherwise, or of one that is to be made of `size`. Needs
/// `cluster.read`.
#[server(prefix = "/fn", endpoint = "quote_cluster", input = GetUrl)]
pub async fn quote_cluster(#[server(flatten)] fields: Fields) -> Result<Part, FnError> {
    let caller = here()?;
    let scale = ["min", "max", "warm"].map(|field| fields.get(field));
    let quoted = match fields.get("cluster") {
        "" => quote_new_cluster(&caller, fields.get("size"), scale).await?,
        name => quote_scaling(&caller, name, scale).await?,
    };
    Ok(Part::of(|| price::part(&quoted)))
}
