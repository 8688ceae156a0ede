//! Icons and state glyphs out of the one sprite.

use std::sync::OnceLock;

use leptos::prelude::*;

/// The address of the sprite, with the hash of its content in the name.
pub fn sprite() -> &'static str {
    static SPRITE: OnceLock<String> = OnceLock::new();
    SPRITE.get_or_init(|| crate::server::assets::url("/icons.svg"))
}

/// A stroke icon beside a word, or alone with a label.
#[component]
pub fn Icon(
    /// The name in the sprite, such as `plus`.
    name: &'static str,
    /// More classes, such as `i-s` (small), `i-l` (large) or `push`.
    #[prop(optional)]
    class: &'static str,
    /// What it means where no word stands beside it; without it the icon is hidden from assistive technology.
    #[prop(optional, into)]
    label: Option<String>,
) -> AnyView {
    drawing(if class.is_empty() { "i".to_owned() } else { format!("i {class}") }, name, label)
}

/// The shape of a state; it tells states apart without colour.
#[component]
pub fn Glyph(
    /// The name in the sprite without its `g-`, such as `running`.
    name: &'static str,
    /// What it means where no word stands beside it.
    #[prop(optional, into)]
    label: Option<String>,
) -> AnyView {
    drawing("glyph".to_owned(), &format!("g-{name}"), label)
}

/// The mark of Atelier.
#[component]
pub fn Mark(
    /// The class that sizes it.
    #[prop(default = "mark")]
    class: &'static str,
) -> AnyView {
    drawing(class.to_owned(), "mark", None)
}

fn drawing(class: String, name: &str, label: Option<String>) -> AnyView {
    let href = format!("{}#{name}", sprite());
    match label {
        None => view! { <svg class=class aria-hidden="true"><use href=href></use></svg> }.into_any(),
        Some(label) => view! { <svg class=class role="img" aria-label=label><use href=href></use></svg> }.into_any(),
    }
}
