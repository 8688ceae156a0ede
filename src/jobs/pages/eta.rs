//! When a waiting job starts, in words.

use atelier_domain::Timestamp;
use atelier_domain::text::lowered;
use atelier_simulate::forecast::{Eta, Unknown};
use atelier_studio::clock;
use atelier_studio::forecast::what_if::before;
use atelier_studio::jobs::detail::JobDetail;
use atelier_studio::jobs::view;
use leptos::prelude::*;

use crate::components::{Tone, Why, ago};
use crate::viewer::Viewer;

/// The panel of a job that waits: why, at which place, until when.
pub fn waiting(viewer: &Viewer, detail: &JobDetail, why: &view::Why) -> AnyView {
    let sentence = &why.sentence;
    let position = detail.standing.position.map(|(place, of)| {
        // The reason says it itself where the place is the reason.
        (!sentence.contains(&format!("{place} of {of}"))).then(|| format!("It is number {place} of {of} in its queue."))
    });
    let parts = [position.flatten().unwrap_or_default(), why.next_step.clone().unwrap_or_default()];
    let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let title = sentence.clone();
    // What stands in the way is the title already.
    let eta = detail.eta.as_ref().filter(|eta| !is_stuck(eta));
    match eta.map(|eta| sentence_of(viewer, eta)) {
        Some(starts) => {
            html! { <Why tone=Tone::Neutral title=title text=text><p class="eta">{starts}</p></Why> }
        }
        None => html! { <Why tone=Tone::Neutral title=title text=text/> },
    }
}

/// A whole sentence: `Starts about 14:32, in 12 min: 3 jobs before it end by then.`
fn sentence_of(viewer: &Viewer, eta: &Eta) -> String {
    match eta {
        Eta::Unknown(why) => format!("When it starts: {}", lowered(&why.sentence())),
        Eta::Start { at, end, until } => {
            let because = before(until);
            let because = if because.is_empty() { String::new() } else { format!(", because {because}") };
            let ends = end.map(|end| format!(" It ends about {}.", moment(viewer, end))).unwrap_or_default();
            format!("It starts about {}{because}.{ends}", when(viewer, *at))
        }
    }
}

/// The same in a few words, for a list; empty if unknown.
pub fn brief(viewer: &Viewer, eta: Option<&Eta>) -> String {
    match eta {
        Some(Eta::Start { at, .. }) => format!("Starts about {}.", when(viewer, *at)),
        Some(Eta::Unknown(_)) | None => String::new(),
    }
}

/// A cell of a table.
pub fn cell(viewer: &Viewer, eta: Option<&Eta>) -> AnyView {
    match eta {
        Some(Eta::Start { at, until, .. }) => {
            let left = left(viewer, *at);
            let notes =
                [left, before(until)].into_iter().filter(|note| !note.is_empty()).collect::<Vec<_>>().join(", ");
            html! { {ago(viewer, *at)}<span class="l2">{notes}</span> }
        }
        Some(eta) if is_stuck(eta) => html! { <span class="faint">"unknown"</span> },
        Some(Eta::Unknown(why)) => html! { <span class="l2">{why.sentence()}</span> },
        None => html! { <span class="faint">"being worked out"</span> },
    }
}

/// It waits for something that does not come by itself, which is said beside this anyway.
const fn is_stuck(eta: &Eta) -> bool {
    matches!(eta, Eta::Unknown(Unknown::Stuck(_)))
}

/// `14:32, in 12 min`.
fn when(viewer: &Viewer, at: Timestamp) -> String {
    match left(viewer, at) {
        left if left.is_empty() => "now".to_owned(),
        left => format!("{}, {left}", moment(viewer, at)),
    }
}

fn left(viewer: &Viewer, at: Timestamp) -> String {
    match at.since(viewer.now) {
        left if left.as_millis() == 0 => String::new(),
        left => format!("in {left}"),
    }
}

/// The clock today, day and clock otherwise.
pub fn moment(viewer: &Viewer, at: Timestamp) -> String {
    let zone = &viewer.time_zone;
    if clock::midnight(at, zone) == clock::midnight(viewer.now, zone) {
        clock::time_of_day(at, zone)
    } else {
        clock::date_and_time(at, zone)
    }
}
