//! What a page shows before there is anything to show.

use leptos::prelude::*;

use crate::components::icon::Icon;
use crate::components::{LinkButton, Query};

/// The drawing: a bench with one machine on it and room for more. Colours come from
/// `style/components/empty.css`.
const BENCH: &str = r#"<g class="bench"><path d="M20 112h200"/><path d="M62 112 84 70M178 112l-22-42M70 98h100"/><rect class="top" x="52" y="58" width="136" height="12" rx="3"/></g><rect class="box" x="84" y="20" width="72" height="38" rx="5"/><path class="dot" d="M94 32h.01M94 46h.01"/><path class="bar" d="M104 32h40M104 46h26"/><path class="add" d="M196 28v16M188 36h16"/><rect class="room" x="30" y="30" width="14" height="14" rx="3"/>"#;

/// An empty page: what will be here, and the first step.
#[component]
pub fn EmptyState(
    /// What will be here, as a short sentence without a full stop.
    #[prop(into)]
    heading: String,
    /// What it is good for.
    #[prop(into)]
    text: String,
    /// Whether the drawing is shown; small places go without.
    #[prop(default = true)]
    art: bool,
    #[prop(optional)] children: Option<Children>,
) -> AnyView {
    let art = art.then(|| view! { <svg class="art" viewBox="0 0 240 128" aria-hidden="true" inner_html=BENCH></svg> });
    let steps = children.map(|children| view! { <div class="steps-out">{children()}</div> });
    view! { <section class="blank">{art}<h2>{heading}</h2><p>{text}</p>{steps}</section> }.into_any()
}

/// A list in which the filter leaves nothing.
#[component]
pub fn NothingFits(
    query: Query,
    /// "No job", "No one".
    what: &'static str,
    /// Where the filter looks.
    text: &'static str,
) -> AnyView {
    let heading = match query.get("q") {
        "" => format!("{what} fits this filter"),
        typed => format!("{what} matches “{typed}”"),
    };
    let clear = query.path().to_owned();
    view! {
        <EmptyState art=false heading=heading text=text>
            <LinkButton href=clear icon="x">"Clear filter"</LinkButton>
        </EmptyState>
    }
    .into_any()
}

/// A way on from an empty or a wrong page: a link with an explanation.
#[component]
pub fn WayOut(
    #[prop(into)] href: String,
    icon: &'static str,
    #[prop(into)] label: String,
    /// What one finds there.
    #[prop(into)]
    help: String,
) -> AnyView {
    view! {
        <a class="choice link" href=href>
            <Icon name=icon class="i-l"/>
            <b>{label}</b>
            <span class="help">{help}</span>
        </a>
    }
    .into_any()
}
