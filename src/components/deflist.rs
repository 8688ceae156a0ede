//! Facts of one thing: what it is called and what it is.

use leptos::prelude::*;

/// A list of facts; holds [`Def`]s.
#[component]
pub fn DefList(children: Children) -> AnyView {
    html! { <dl class="kv">{children()}</dl> }
}

#[component]
pub fn Def(#[prop(into)] term: String, children: Children) -> AnyView {
    html! { <dt>{term}</dt><dd>{children()}</dd> }
}
