//! A piece of a page that the server sends again while a person types.

#[cfg(feature = "ssr")]
use leptos::prelude::{AnyView, Owner, RenderHtml as _};
use serde::{Deserialize, Serialize};

/// The answer of a server function that changes nothing. Such functions are asked by GET.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub html: String,
}

#[cfg(feature = "ssr")]
impl Part {
    /// Made by the view that the page itself shows, so that the two can never differ.
    pub fn of(view: impl FnOnce() -> AnyView) -> Self {
        Self { html: Owner::new().with(|| view().to_html()) }
    }
}
