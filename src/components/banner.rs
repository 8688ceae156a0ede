//! A notice that concerns the whole page.

use leptos::prelude::*;

use crate::components::why::Tone;

/// A notice above everything else of a page, in one line.
#[component]
pub fn Banner(
    tone: Tone,
    #[prop(into)] text: String,
    /// What can be done about it.
    #[prop(optional)]
    children: Option<Children>,
) -> AnyView {
    let actions = children.map(|children| view! { <div class="push">{children()}</div> });
    html! {
        <div class="banner" data-state=tone.state()>
            {tone.shape()}
            <p>{text}</p>
            {actions}
        </div>
    }
}
