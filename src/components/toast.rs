//! The good news after something was done.

use leptos::prelude::*;

use crate::components::icon::Glyph;

/// The result of the last click, in a corner. Leaves with the next page; the cross is a link to the same
/// page, which has no toast any more, and script takes it away in place.
#[component]
pub fn Toast(#[prop(into)] text: String) -> AnyView {
    html! {
        <div class="toast" data-state="succeeded">
            <Glyph name="succeeded"/>
            <p>{text}</p>
            <a class="btn ghost icon sm" href="" aria-label="Dismiss" data-dismiss="">
                <crate::components::icon::Icon name="x"/>
            </a>
        </div>
    }
}
