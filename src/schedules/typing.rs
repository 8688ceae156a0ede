//! What the forms of schedules ask while a person types.

use atelier_domain::fields::Fields;
#[cfg(feature = "ssr")]
use atelier_studio::schedules::{next::read_cron, page::outlook};
use leptos::prelude::*;
use leptos::server_fn::codec::GetUrl;

use crate::error::FnError;
use crate::islands::Part;
#[cfg(feature = "ssr")]
use crate::schedules::pages::{outlook as outlook_view, rules};
#[cfg(feature = "ssr")]
use crate::server::caller::here;

/// What the hours of an instance as they stand in the form come to. Needs `instance.read`.
#[server(prefix = "/fn", endpoint = "quote_schedule", input = GetUrl)]
pub async fn quote_schedule(#[server(flatten)] fields: Fields) -> Result<Part, FnError> {
    let outlook = outlook(&here()?, fields.get("instance"), &fields).await?;
    Ok(Part::of(|| outlook_view::part(&outlook)))
}

/// What a cron expression says, in the caller's own time zone if none is given.
#[server(prefix = "/fn", endpoint = "check_cron", input = GetUrl)]
pub async fn check_cron(
    #[server(default)] cron: String,
    #[server(default)] time_zone: String,
) -> Result<Part, FnError> {
    let caller = here()?;
    let own = &caller.actor()?.person.time_zone;
    let zone = if time_zone.is_empty() { own } else { &time_zone };
    let reading = read_cron(&cron, zone, atelier_engine::clock::now());
    Ok(Part::of(|| rules::cron_answer(&reading, None)))
}
