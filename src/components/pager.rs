//! The foot of a list that comes in pages.

use leptos::prelude::*;

/// How much of a list is shown: `12 clusters`, `50 of 1,003 people`.
pub fn shown_of(shown: u64, all: u64, (one, many): (&str, &str)) -> String {
    let counted = atelier_domain::text::counted(all, one, many);
    if shown == all { counted } else { format!("{shown} of {counted}") }
}

/// Where one is in a list, and the ways back and on. A way that does not exist is a disabled link.
#[component]
pub fn Pager(
    /// Where one is: "1–50 of 1,003".
    #[prop(into)]
    text: String,
    #[prop(optional_no_strip)] back: Option<String>,
    #[prop(optional_no_strip)] next: Option<String>,
) -> AnyView {
    let way = |word: &'static str, url: Option<String>, rel: &'static str| match url {
        Some(url) => html! { <a class="btn sm" href=url rel=rel>{word}</a> },
        None => html! { <a class="btn sm" role="link" aria-disabled="true">{word}</a> },
    };
    let ways = (back.is_some() || next.is_some()).then(|| {
        view! {
            <nav class="push row-tight" aria-label="Pages of the list">
                {way("Back", back, "prev")}{way("Next", next, "next")}
            </nav>
        }
    });
    html! { <div class="table-foot"><span>{text}</span>{ways}</div> }
}
