//! Tabs: pages that belong together.

use leptos::prelude::*;

#[derive(Clone, Debug)]
pub struct Tab {
    pub href: String,
    pub label: String,
    /// How many there are, where that is known.
    pub count: Option<u64>,
    /// Whether it is the page that is shown.
    pub is_current: bool,
}

/// A row of links to pages that belong together.
#[component]
pub fn Tabs(
    /// What they have in common, for assistive technology.
    #[prop(into)]
    label: String,
    tabs: Vec<Tab>,
) -> AnyView {
    let tabs: Vec<_> = tabs
        .into_iter()
        .map(|tab| {
            let count =
                tab.count.map(|count| view! { <span class="count">{atelier_domain::text::grouped(count)}</span> });
            let current = tab.is_current.then_some("page");
            view! { <a href=tab.href aria-current=current>{tab.label}{count}</a> }
        })
        .collect();
    html! { <nav class="tabs" aria-label=label>{tabs}</nav> }
}
