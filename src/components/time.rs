//! An instant on a page.

use atelier_domain::Timestamp;
use atelier_studio::clock;
use leptos::prelude::*;

use crate::viewer::Viewer;

/// An instant as its viewer says it: `2 min ago`.
pub fn ago(viewer: &Viewer, at: Timestamp) -> AnyView {
    html! { <Time at=at now=viewer.now zone=viewer.time_zone.clone()/> }
}

/// The same, or words in its place.
pub fn ago_or(viewer: &Viewer, at: Option<Timestamp>, otherwise: &'static str) -> AnyView {
    at.map_or_else(|| otherwise.into_any(), |at| ago(viewer, at))
}

/// Day and clock, for what must be told apart to the minute.
pub fn at_time(viewer: &Viewer, at: Timestamp) -> AnyView {
    html! { <Time at=at now=viewer.now zone=viewer.time_zone.clone() absolute=true/> }
}

/// An instant as people say it, with the exact time and zone on hover and in RFC 3339 for machines.
#[component]
pub fn Time(
    at: Timestamp,
    /// The time for which the page is made.
    now: Timestamp,
    #[prop(into)] zone: String,
    /// Day and clock instead of "2 min ago": for what must be told apart to the minute.
    #[prop(optional)]
    absolute: bool,
) -> AnyView {
    let said = if absolute { clock::date_and_time(at, &zone) } else { clock::relative(at, now, &zone) };
    html! { <time datetime=clock::rfc3339(at) title=clock::exact(at, &zone)>{said}</time> }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::testing::html;

    #[test]
    fn the_exact_time_is_in_title_and_datetime() {
        let at = Timestamp(1_772_543_889_000);
        let time = html(move || view! { <Time at=at now=Timestamp(at.0 + 120_000) zone="Europe/Berlin"/> });
        assert!(time.contains(r#"datetime="2026-03-03T13:18:09Z""#), "{time}");
        assert!(time.contains("Tuesday 3 March 2026, 14:18:09 Europe/Berlin"), "{time}");
        assert!(time.contains(">2 min ago<"), "{time}");
    }
}
