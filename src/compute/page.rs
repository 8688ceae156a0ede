//! Compute: instances, clusters, attached machines and serverless jobs, a tab each.

use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::size::Tier;
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_studio::clusters::commands::said_tier;
use atelier_studio::counts::{ComputeCounts, compute_counts};
use leptos::prelude::*;

use crate::components::{Choice, ChoiceKind, ChoiceList, NavItem, Page, Tab, Tabs};
use crate::frame::{Place, Visit, load, param, studio};
use crate::help;
use crate::server::caller::here;
use crate::server::page;

/// Says that nodes may be taken back; nothing where nobody does.
pub fn tier_tag(tier: Tier) -> Option<AnyView> {
    (!tier.is_dedicated())
        .then(|| view! { <span class="tag accent" title=said_tier(tier)>"Preemptible"</span> }.into_any())
}

/// The choice between the tiers, with what they mean.
pub fn tier_choice(chosen: &str, problem: Option<String>) -> AnyView {
    let choices = Tier::ALL
        .into_iter()
        .map(|tier| Choice {
            value: tier.key().to_owned(),
            label: match tier {
                Tier::Dedicated => "Dedicated".to_owned(),
                Tier::Preemptible => "Preemptible".to_owned(),
            },
            help: said_tier(tier).to_owned(),
            ticked: tier.key() == chosen,
            fixed_because: None,
        })
        .collect::<Vec<_>>();
    view! {
        <ChoiceList
            legend="Tier" name="tier" kind=ChoiceKind::One choices=choices problem=problem
            help="Both cost the price of the size, while they have nodes."
        />
    }
    .into_any()
}

/// The tabs, in order: the key in the address and the word.
pub const TABS: [(&str, &str); 4] =
    [("instances", "Instances"), ("clusters", "Clusters"), ("attached", "Attached"), ("serverless", "Serverless")];

/// The address without a tab leads to the first.
#[component]
pub fn ComputeStart() -> impl IntoView {
    page::redirect(&paths::compute(&param("workspace"), TABS[0].0));
}

/// One kind of compute, by the tab in the address.
#[component]
pub fn ComputePage() -> impl IntoView {
    let place = Place {
        nav: NavItem::Compute,
        needs: Some((Action::InstanceRead, Whose::Others)),
        topics: &[Topic::Instances, Topic::Clusters, Topic::Jobs, Topic::Engine],
    };
    studio(place, |visit| match param("tab").as_str() {
        "instances" => crate::instances::pages::list::tab(visit),
        "clusters" => crate::clusters::pages::list::tab(visit),
        "attached" => crate::compute::empty::attached(visit),
        "serverless" => crate::compute::serverless::tab(visit),
        _ => help::not_found(&visit.viewer, "kind of compute"),
    })
}

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
