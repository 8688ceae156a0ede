//! Icons and state glyphs out of the one sprite.

use std::borrow::Cow;
use std::sync::OnceLock;

use atelier_studio::html as escape;
use leptos::prelude::*;
use leptos::tachys::html::InertElement;

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
    /// Label for an icon without text; without a label the icon is hidden from assistive technology.
    #[prop(optional, into)]
    label: Option<String>,
) -> impl IntoView {
    drawing(["i", class], ["", name], label)
}

/// The shape of a state; it tells states apart without colour.
#[component]
pub fn Glyph(
    /// The name in the sprite without its `g-`, such as `running`.
    name: &'static str,
    /// Label for an icon without text.
    #[prop(optional, into)]
    label: Option<String>,
) -> impl IntoView {
    drawing(["glyph", ""], ["g-", name], label)
}

/// The mark of Atelier.
#[component]
pub fn Mark(#[prop(default = "mark")] class: &'static str) -> impl IntoView {
    drawing([class, ""], ["", "mark"], None)
}

/// Written as text at once: a page of a list has hundreds of icons, and as a view each is half a dozen
/// allocations.
fn drawing(class: [&'static str; 2], name: [&'static str; 2], label: Option<String>) -> InertElement {
    let sprite = sprite();
    let [class, more] = class;
    let [kind, name] = name;
    let space = if more.is_empty() { "" } else { " " };
    let meaning = match label {
        None => Cow::Borrowed("aria-hidden=\"true\""),
        Some(label) => Cow::Owned(format!("role=\"img\" aria-label=\"{}\"", escape::attribute(&label))),
    };
    let parts = [
        "<svg class=\"",
        class,
        space,
        more,
        "\" ",
        &meaning,
        "><use href=\"",
        sprite,
        "#",
        kind,
        name,
        "\"></use></svg>",
    ];
    InertElement::new(parts.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::testing::html;

    #[test]
    fn an_icon_is_hidden_unless_it_has_a_meaning_of_its_own() {
        let plain = html(|| view! { <Icon name="plus" class="i-s"/> });
        assert!(plain.starts_with(r#"<svg class="i i-s" aria-hidden="true"><use href=""#), "{plain}");
        assert!(plain.ends_with(r##"#plus"></use></svg>"##), "{plain}");
        let glyph = html(|| view! { <Glyph name="running" label="Runs \"<b>\" & more"/> });
        assert!(
            glyph.contains(r#"class="glyph" role="img" aria-label="Runs &quot;&lt;b&gt;&quot; &amp; more""#),
            "{glyph}"
        );
        assert!(glyph.contains("#g-running"), "{glyph}");
    }
}
