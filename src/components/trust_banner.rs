//! The notice for teams on a server that cannot keep people apart.

use leptos::prelude::*;

use crate::components::{Banner, Look, PostForm, SubmitButton, Tone};

/// Nothing where there is nothing to be said.
#[component]
pub fn TrustBanner(
    /// What people can do to each other.
    why: Option<&'static str>,
    /// Whether the viewer can confirm that everybody knows.
    may_confirm: bool,
) -> AnyView {
    let Some(why) = why else { return ().into_any() };
    let confirm = may_confirm.then(|| {
        view! {
            <PostForm function="confirm_trust" class="inline-form">
                <SubmitButton look=Look::Plain small=true pending="Saving…">
                    "Confirm that everyone trusts everyone"
                </SubmitButton>
            </PostForm>
        }
    });
    html! { <Banner tone=Tone::Warning text=why>{confirm}</Banner> }
}
