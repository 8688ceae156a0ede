//! A box for things that belong together.

use leptos::prelude::*;

/// A card with a heading.
#[component]
pub fn Card(
    /// The heading; a card without one has none of the header's line.
    #[prop(optional, into)]
    heading: String,
    /// A short remark at the right of the heading.
    #[prop(optional, into)]
    note: String,
    /// A link or button at the right of the heading.
    #[prop(optional_no_strip, into)]
    action: Option<AnyView>,
    /// Whether the content reaches the edges, as tables and lists do.
    #[prop(optional)]
    flush: bool,
    #[prop(optional)] class: &'static str,
    children: Children,
) -> AnyView {
    let note = (!note.is_empty()).then(|| view! { <span class="push note">{note}</span> });
    let action = action.map(|action| view! { <div class="push">{action}</div> });
    let header = (!heading.is_empty()).then(|| view! { <header><h2>{heading}</h2>{note}{action}</header> });
    let class = format!("card {class}");
    let content = children();
    let content = if flush {
        content
    } else {
        html! { <div class="body stack">{content}</div> }
    };
    html! { <section class=class.trim_end().to_owned()>{header}{content}</section> }
}
