//! What the form of a job asks while a person types.

use atelier_domain::fields::Fields;
use leptos::prelude::*;
use leptos::server_fn::codec::GetUrl;

#[cfg(feature = "ssr")]
use crate::components::price;
use crate::error::FnError;
use crate::islands::Part;
#[cfg(feature = "ssr")]
use crate::server::caller::here;

/// The price of the job in the form. Needs `job.submit`.
#[server(prefix = "/fn", endpoint = "quote_job", input = GetUrl)]
pub async fn quote_job(#[server(flatten)] fields: Fields) -> Result<Part, FnError> {
    let values = fields.0.into_iter().map(|(field, value)| (field, vec![value])).collect();
    let quoted = atelier_studio::jobs::quote::quote_job(&here()?, &values).await?;
    Ok(Part::of(|| price::part(&quoted)))
}
