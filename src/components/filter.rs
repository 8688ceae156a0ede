//! The filter above a list: a box, and quick filters as links. The URL holds both.

use leptos::prelude::*;

use crate::components::Query;
use crate::components::icon::Icon;

/// A filter that one click sets.
#[derive(Clone, Debug)]
pub struct QuickFilter {
    /// The key in the query.
    pub key: &'static str,
    /// The value under it; empty for "All".
    pub value: String,
    pub label: String,
    /// How many fit, where that is known.
    pub count: Option<u64>,
}

impl QuickFilter {
    /// A quick filter without a count.
    pub fn new(key: &'static str, value: impl Into<String>, label: impl Into<String>) -> Self {
        Self { key, value: value.into(), label: label.into(), count: None }
    }

    /// The same with the number of what fits.
    #[must_use]
    pub const fn counting(mut self, count: u64) -> Self {
        self.count = Some(count);
        self
    }
}

/// A GET form with the filter box, and the quick filters beside it.
#[component]
pub fn FilterBar(
    query: Query,
    /// What is filtered, for assistive technology: "Filter people".
    #[prop(into)]
    label: String,
    /// What can be typed: "Filter by name or address".
    #[prop(into)]
    placeholder: String,
    #[prop(optional)] quick: Vec<QuickFilter>,
    /// More of the form, such as a select.
    #[prop(optional)]
    children: Option<Children>,
) -> AnyView {
    let typed = query.get("q").to_owned();
    let clear = (!typed.is_empty()).then(|| {
        let url = query.clone().from_the_start().with("q", "").url();
        view! { <a class="clear" href=url aria-label="Clear the filter"><Icon name="x" class="i-s"/></a> }
    });
    let kept: Vec<_> = query
        .pairs_but(&["q", "after", "before"])
        .into_iter()
        .map(|(name, value)| view! { <input type="hidden" name=name value=value/> })
        .collect();
    let views: Vec<_> = quick
        .into_iter()
        .map(|filter| {
            let current = (query.get(filter.key) == filter.value).then_some("true");
            let url = query.clone().from_the_start().with(filter.key, &filter.value).url();
            let count =
                filter.count.map(|count| view! { <span class="n">{atelier_domain::text::grouped(count)}</span> });
            view! { <a href=url aria-current=current>{filter.label}{count}</a> }
        })
        .collect();
    let views = (!views.is_empty()).then(|| view! { <nav class="views" aria-label="Quick filters">{views}</nav> });
    let name = label.clone();
    html! {
        <div class="filters">
            <form class="filterbox" role="search" method="get" action=query.path().to_owned() aria-label=label>
                <Icon name="filter"/>
                <input
                    type="search" name="q" value=typed aria-label=name placeholder=placeholder autocomplete="off"
                    data-filter=""
                />
                {kept}
                {children.map(|children| children())}
                {clear}
                <kbd class="needs-script" aria-hidden="true">"/"</kbd>
                <button class="sr" type="submit">"Filter"</button>
            </form>
            {views}
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::testing::html;

    #[test]
    fn the_form_keeps_the_rest_of_the_query_and_starts_at_the_first_page() {
        let bar = html(|| {
            let query = Query::parse("/people", "q=<b>&role=owner&sort=seen&after=xyz");
            let quick =
                vec![QuickFilter::new("role", "", "All").counting(1_003), QuickFilter::new("role", "owner", "Owners")];
            view! { <FilterBar query=query label="Filter people" placeholder="Filter by name" quick=quick/> }
        });
        assert!(bar.contains(r#"type="hidden" name="role" value="owner""#), "{bar}");
        assert!(bar.contains(r#"type="hidden" name="sort" value="seen""#), "{bar}");
        assert!(!bar.contains("xyz"), "{bar}");
        assert!(!bar.contains("<b>") && bar.contains("1,003"), "{bar}");
        assert!(bar.contains(r#"href="/people?q=%3Cb%3E&amp;sort=seen">All"#), "{bar}");
        assert!(bar.contains(r#"aria-current="true">Owners"#), "{bar}");
        assert!(bar.contains(r#"href="/people?role=owner&amp;sort=seen" aria-label="Clear the filter""#), "{bar}");
    }
}
