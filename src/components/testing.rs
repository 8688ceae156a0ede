//! What tests of components share.

use leptos::prelude::*;

/// The HTML of a view, without the marks that hydration would need.
pub fn html<V: IntoView + 'static>(make: impl FnOnce() -> V) -> String {
    let owner = Owner::new();
    owner.with(|| make().into_view().to_html()).replace("<!>", "")
}
