//! The history as a list of events: when, who, what, and why.

use atelier_domain::{Timestamp, paths};
use atelier_engine::store::HistoryEntry;
use atelier_studio::clock;
use leptos::prelude::*;

use crate::components::{Glyph, Icon};
use crate::viewer::Viewer;

/// What the headings of the days stand under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Under {
    /// The page's own heading.
    Page,
    /// The heading of a card.
    Card,
}

/// Events, newest first, under a heading for each day.
pub fn by_day(rows: Vec<HistoryEntry>, viewer: &Viewer, under: Under) -> AnyView {
    let mut days: Vec<(String, Vec<HistoryEntry>)> = Vec::new();
    for row in rows {
        let day = clock::day(row.at, viewer.now, &viewer.time_zone);
        match days.last_mut() {
            Some((last, rows)) if *last == day => rows.push(row),
            _ => days.push((day, vec![row])),
        }
    }
    days.into_iter()
        .map(|(day, rows)| {
            let key = day.clone();
            let heading = match under {
                Under::Page => html! { <h2>{day}</h2> },
                Under::Card => html! { <h3>{day}</h3> },
            };
            view! { <section class="day" data-key=key>{heading}{list(rows, viewer)}</section> }
        })
        .collect_view()
        .into_any()
}

/// Events in one list, newest first.
pub fn list(rows: Vec<HistoryEntry>, viewer: &Viewer) -> AnyView {
    let items: Vec<_> = rows.into_iter().map(|row| event(row, viewer)).collect();
    html! { <ol class="events">{items}</ol> }
}

fn event(row: HistoryEntry, viewer: &Viewer) -> impl IntoView + use<> {
    let (icon, state) = look(&row.kind);
    let shape = match state {
        Some(glyph) => html! { <Glyph name=glyph/> },
        None => html! { <Icon name=icon/> },
    };
    let actor = match &row.actor {
        Some(id) if viewer.id == *id => html! { <b>"You"</b> },
        Some(id) => {
            let href = paths::person(&viewer.workspace.slug, id.as_str());
            html! { <a class="name" href=href>{row.actor_name}</a> }
        }
        None => html! { <b>{row.actor_name}</b> },
    };
    let why = row.why.map(|why| view! { <span class="l2">{format!("“{why}”")}</span> });
    let request = row.request.map(|id| format!("Request {id}"));
    view! {
        <li data-key=format!("{}-{}", row.revision, row.kind) data-state=state title=request>
            {when(row.at, viewer)}
            {shape}
            <span>{actor}" "{row.sentence}{why}</span>
        </li>
    }
}

fn when(at: Timestamp, viewer: &Viewer) -> impl IntoView + use<> {
    let zone = &viewer.time_zone;
    view! { <time datetime=clock::rfc3339(at) title=clock::exact(at, zone)>{clock::time_of_day(at, zone)}</time> }
}

/// The icon of a kind of event; what deserves attention has a state's glyph and colour instead.
fn look(kind: &str) -> (&'static str, Option<&'static str>) {
    match kind {
        "person-created" => ("plus", None),
        "person-disabled" => ("lock", Some("denied")),
        "person-enabled" => ("check", Some("succeeded")),
        "password-reset" | "password-changed" => ("key", None),
        "roles-changed" => ("shield", None),
        "signed-in" => ("user", None),
        "signed-out" | "sessions-ended" => ("logout", None),
        "sign-in-paused" => ("warn", Some("warning")),
        "profile-changed" => ("pencil", None),
        _ => ("info", None),
    }
}
