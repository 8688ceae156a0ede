//! What a page shows before there is anything to show.

use leptos::prelude::*;

use crate::components::icon::Icon;
use crate::components::{LinkButton, Query};

/// The drawing: a bench with one machine on it and room for more. Colours come from
/// `style/components/empty.css`.
const BENCH: &str = include_str!("drawings/bench.svg");

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
    html! { <section class="blank">{art}<h2>{heading}</h2><p>{text}</p>{steps}</section> }
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
    html! { <NothingLeft heading=heading text=text clear=query.path()/> }
}

/// The same in other words, with the way back to the whole list.
#[component]
pub fn NothingLeft(#[prop(into)] heading: String, text: &'static str, #[prop(into)] clear: String) -> AnyView {
    html! {
        <EmptyState art=false heading=heading text=text>
            <LinkButton href=clear icon="x">"Clear filter"</LinkButton>
        </EmptyState>
    }
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
    html! {
        <a class="choice link" href=href>
            <Icon name=icon class="i-l"/>
            <b>{label}</b>
            <span class="help">{help}</span>
        </a>
    }
}
