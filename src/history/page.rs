//! Activity: the append-only history.

use atelier_domain::access::{Action, Whose};
use atelier_domain::history::Topic;
use atelier_domain::text::and_list;
use atelier_studio::history::{HistoryPage, HistoryQuery, list_history};
use leptos::prelude::*;

use crate::components::{Card, EmptyState, FilterBar, NavItem, NothingLeft, Page, Pager, Query, Tone, Why};
use crate::frame::{Place, Visit, load, studio};
use crate::history::events;
use crate::server::caller::here;

/// What happened, who did it, and why.
#[component]
pub fn ActivityPage() -> impl IntoView {
    studio(Place::own(NavItem::Activity, Action::HistoryRead, &[Topic::History]), |visit| {
        let query = Query::here();
        let wanted = HistoryQuery { q: query.get("q").to_owned(), after: query.get("after").to_owned() };
        let read = async move { list_history(&here()?, &wanted).await };
        load(visit.viewer.clone(), read, move |history| activity(&visit, query, history))
    })
}

fn activity(visit: &Visit, query: Query, history: HistoryPage) -> AnyView {
    let own_only = history.own_only.then(|| {
        let whole: Vec<&str> = Action::HistoryRead.granted_by(Whose::Others).iter().map(|role| role.label()).collect();
        let text =
            format!("You see what you did and what was done to you. The roles {} see everything.", and_list(&whole));
        view! { <Why tone=Tone::Neutral title="Only what concerns you" text=text/> }
    });
    let first = query.clone().from_the_start();
    let is_first = query.get("after").is_empty();
    let count = history.rows.len();
    let text = match (count, is_first) {
        (_, true) => format!("The latest {count}"),
        (_, false) => format!("{count} older entries"),
    };
    let back = (!is_first).then(|| first.url());
    let next = history.next.clone().map(|after| first.clone().with("after", &after).url());
    let content = if history.rows.is_empty() {
        nothing(&query)
    } else {
        let list = events::by_day(history.rows, &visit.viewer, events::Under::Page);
        html! { <Card flush=true><div class="body days">{list}</div><Pager text=text back=back next=next/></Card> }
    };
    html! {
        <Page
            heading="Activity"
            sub=format!("Every change in {}: who made it, what it was, and why. Nothing can be taken out of \
                         it.", visit.viewer.workspace.name)
        >
            <FilterBar query=query label="Filter activity" placeholder="Filter by name, event or reason"/>
            <div class="stack">
                {own_only}
                <div data-live="history" data-announce="event|events">{content}</div>
            </div>
        </Page>
    }
}

fn nothing(query: &Query) -> AnyView {
    let typed = query.get("q");
    if typed.is_empty() {
        return html! {
            <EmptyState
                heading="Nothing has happened yet" text="Every change will be listed here, with who made it and why."
            />
        };
    }
    let clear = query.clone().from_the_start().with("q", "").url();
    let text = "The filter looks at names, at what was done and at the reasons that were given.";
    html! { <NothingLeft heading=format!("Nothing matches “{typed}”") text=text clear=clear/> }
}
