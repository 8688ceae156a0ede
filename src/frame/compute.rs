//! The page around each kind of compute: its heading and the tabs with their counts.

use atelier_domain::paths;
use atelier_studio::counts::{ComputeCounts, compute_counts};
use leptos::prelude::*;

use super::{Visit, load};
use crate::components::{Page, Tab, Tabs};
use crate::server::caller::here;

/// The tabs, in order: the key in the address and the word.
pub const TABS: [(&str, &str); 4] =
    [("instances", "Instances"), ("clusters", "Clusters"), ("attached", "Attached"), ("serverless", "Serverless")];

/// A tab that shows nothing but the counts of all tabs.
pub fn counted(visit: Visit, show: impl FnOnce(&Visit, ComputeCounts) -> AnyView + Send + 'static) -> AnyView {
    load(visit.viewer.clone(), async move { compute_counts(&here()?).await }, move |counts| show(&visit, counts))
}

/// The page around a tab.
pub fn framed(
    visit: &Visit,
    current: &'static str,
    counts: ComputeCounts,
    action: Option<AnyView>,
    inside: AnyView,
) -> AnyView {
    let slug = visit.slug();
    let tabs = TABS
        .iter()
        .map(|(key, label)| Tab {
            href: paths::compute(slug, key),
            label: (*label).to_owned(),
            count: Some(match *key {
                "instances" => counts.instances,
                "clusters" => counts.clusters,
                "serverless" => counts.serverless,
                _ => 0,
            }),
            is_current: *key == current,
        })
        .collect();
    let title = TABS.iter().find(|(key, _)| *key == current).map_or("Compute", |(_, label)| label);
    view! {
        <Page heading="Compute" title=title actions=action>
            <div data-live="tabs"><Tabs label="Kinds of compute" tabs=tabs/></div>
            {inside}
        </Page>
    }
    .into_any()
}
