//! Search over everything that the viewer may see.

use atelier_studio::search::{Hit, search};
use leptos::prelude::*;

use crate::components::{Card, EmptyState, FilterBar, Icon, NavItem, Page, Query};
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;

/// What was found, by kind.
#[component]
pub fn SearchPage() -> impl IntoView {
    studio(Place { nav: NavItem::Elsewhere, needs: None, topics: &[] }, |visit| {
        let query = Query::here();
        let wanted = query.get("q").to_owned();
        let read = async move { search(&here()?, &wanted).await };
        load(visit.viewer.clone(), read, move |groups| found(&visit, query, groups))
    })
}

fn found(visit: &Visit, query: Query, groups: Vec<(&'static str, Vec<Hit>)>) -> AnyView {
    let typed = query.get("q").to_owned();
    let count: usize = groups.iter().map(|(_, hits)| hits.len()).sum();
    let (heading, sub) = match (typed.is_empty(), count) {
        (true, _) => ("Search".to_owned(), format!("Pages and people of {}.", visit.viewer.workspace.name)),
        (false, 1) => (format!("Search: {typed}"), "1 result".to_owned()),
        (false, count) => (format!("Search: {typed}"), format!("{count} results")),
    };
    let groups: Vec<_> = groups
        .into_iter()
        .filter(|(_, hits)| !hits.is_empty())
        .map(|(kind, hits)| {
            let hits: Vec<_> = hits.into_iter().map(hit).collect();
            view! { <Card heading=kind flush=true><ul class="hits">{hits}</ul></Card> }
        })
        .collect();
    let nothing = (groups.is_empty()).then(|| nothing(&typed));
    html! {
        <Page heading=heading sub=sub>
            <FilterBar query=query label="Search everywhere" placeholder="Search pages and people"/>
            <div class="stack">{groups}{nothing}</div>
        </Page>
    }
}

fn hit(hit: Hit) -> impl IntoView {
    let detail = (!hit.detail.is_empty()).then(|| view! { <span class="l2">{hit.detail}</span> });
    view! { <li><a class="hit" href=hit.href><Icon name=hit.icon/><span><b>{hit.title}</b>{detail}</span></a></li> }
}

fn nothing(typed: &str) -> AnyView {
    let (heading, text) = if typed.is_empty() {
        (
            "What are you looking for?".to_owned(),
            "Type part of a name, an e-mail address or the name of a page. Ctrl+K brings you to the search from \
             anywhere.",
        )
    } else {
        (
            format!("Nothing found for “{typed}”"),
            "Try a part of the name, or the part of the e-mail address before the @. Only what you may see is \
             searched.",
        )
    };
    html! { <EmptyState art=false heading=heading text=text/> }
}
