//! Compute: instances, clusters, attached machines and serverless jobs, a tab each.

use atelier_domain::access::Action;
use atelier_domain::history::Topic;
use atelier_domain::paths;
use leptos::prelude::*;

use crate::components::NavItem;
use crate::frame::{Place, help, param, studio};
use crate::server::page;

/// The address without a tab leads to the first.
#[component]
pub fn ComputeStart() -> impl IntoView {
    page::redirect(&paths::compute(&param("workspace"), crate::frame::compute::TABS[0].0));
}

/// One kind of compute, by the tab in the address.
#[component]
pub fn ComputePage() -> impl IntoView {
    let place = Place::of(
        NavItem::Compute,
        Action::InstanceRead,
        &[Topic::Instances, Topic::Clusters, Topic::Jobs, Topic::Engine],
    );
    studio(place, |visit| match param("tab").as_str() {
        "instances" => crate::instances::pages::list::tab(visit),
        "clusters" => crate::clusters::pages::list::tab(visit),
        "attached" => crate::compute::empty::attached(visit),
        "serverless" => crate::compute::serverless::tab(visit),
        _ => help::not_found(&visit.viewer, "kind of compute"),
    })
}
