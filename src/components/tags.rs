//! The tags of a compute.

use leptos::prelude::*;

use crate::components::{Card, PostForm, SaveRow, TextField};
use crate::form::FormState;

/// The tags, in a form for who may change them.
#[component]
pub fn TagsCard(
    tags: Vec<String>,
    /// The same as they are typed, one a line.
    typed: String,
    /// The server function that replaces them.
    function: &'static str,
    state: FormState,
    hidden: Vec<(&'static str, String)>,
    /// Whether they are only shown.
    fixed: bool,
) -> AnyView {
    if fixed {
        let tags: Vec<_> = tags.into_iter().map(|tag| view! { <span class="tag">{tag}</span> }).collect();
        let tags = if tags.is_empty() {
            html! { <p class="muted">"None."</p> }
        } else {
            html! { <span class="row-tight tags">{tags}</span> }
        };
        return html! { <Card heading="Tags">{tags}</Card> };
    }
    html! {
        <Card heading="Tags">
            <PostForm function=function state=state.clone() hidden=hidden>
                <TextField
                    form=&state label="Tags" name="tags" value=&typed rows=3 help="One a line, such as project=churn."
                />
                <SaveRow label="Save tags" icon="tag"/>
            </PostForm>
        </Card>
    }
}
