//! Asks before an unknown node is removed.

use atelier_domain::access::Action;
use atelier_domain::paths;
use atelier_domain::world::UnknownNode;
use atelier_engine::run::CommandId;
use atelier_studio::engines::engines;
use leptos::prelude::*;

use crate::components::{ConfirmCard, Crumb, NavItem, Page};
use crate::frame::{Place, Visit, help, load, studio};
use crate::server::caller::here;
use crate::server::page;

/// Asks before something unknown is removed.
#[component]
pub fn RemoveUnknownPage() -> impl IntoView {
    studio(Place::of(NavItem::Engines, Action::EngineWrite, &[]), |visit| {
        let (site, name) = (page::query("site").unwrap_or_default(), page::query("name").unwrap_or_default());
        load(visit.viewer.clone(), async { engines(&here()?).await }, move |detail| {
            match detail.unknown.into_iter().find(|found| found.site.as_str() == site && found.name == name) {
                Some(found) => ask(&visit, found),
                None => help::not_found(&visit.viewer, "unknown thing"),
            }
        })
    })
}

fn ask(visit: &Visit, found: UnknownNode) -> AnyView {
    let back = paths::engines(visit.slug());
    let (title, go) = (format!("Remove {} from {}?", found.name, found.site), "Remove it".to_owned());
    let (site, id) = (found.site.to_string(), CommandId::random().as_str().to_owned());
    let hidden = vec![("site", site), ("name", found.name), ("command_id", id)];
    let state = visit.form("remove_unknown");
    html! {
        <Page heading="Remove something unknown" crumbs=vec![Crumb::new("Engines", back.clone())]>
            <ConfirmCard
                title=title function="remove_unknown" hidden=hidden state=state keep="Leave it" back=back go=go
                icon="trash"
                text="The driver found it and this server does not know it. Another server may: whatever runs there \
                      ends. This cannot be taken back."
            />
        </Page>
    }
}
