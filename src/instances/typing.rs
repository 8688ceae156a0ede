//! What the wizard asks while a person types.

use atelier_domain::fields::Fields;
use leptos::prelude::*;
use leptos::server_fn::codec::GetUrl;

use crate::error::FnError;
#[cfg(feature = "ssr")]
use crate::instances::wizard::{page_size, page_summary, steps, summary};
use crate::islands::Part;
#[cfg(feature = "ssr")]
use crate::server::caller::here;

/// What the instance in the wizard would be and cost. Needs `instance.create`.
#[server(prefix = "/fn", endpoint = "quote_instance", input = GetUrl)]
pub async fn quote_instance(#[server(flatten)] fields: Fields) -> Result<Part, FnError> {
    let summary = summary::quote(&here()?, &fields).await?;
    Ok(Part::of(|| page_summary::part(&summary)))
}

/// Whether a name can be had. Needs `instance.create`.
#[server(prefix = "/fn", endpoint = "check_name", input = GetUrl)]
pub async fn check_name(#[server(default)] name: String) -> Result<Part, FnError> {
    let verdict = steps::check_name(&here()?, &name).await?;
    Ok(Part::of(|| page_size::name_answer(&verdict)))
}
