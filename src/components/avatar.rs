//! A person's initials on the person's colour.

use leptos::prelude::*;

/// The colours of `style/components/avatar.css`: the plain class and `h1` to `h5`.
const HUES: [&str; 6] = ["", " h1", " h2", " h3", " h4", " h5"];

/// A person's initials, hidden from assistive technology because the name is next to them.
#[component]
pub fn Avatar(
    /// The name; its initials and its colour follow from it.
    #[prop(into)]
    name: String,
    /// For the top bar, lists of people and headings.
    #[prop(optional)]
    large: bool,
) -> AnyView {
    let class = format!("avatar{}{}", hue(&name), if large { " lg" } else { "" });
    html! { <span class=class aria-hidden="true">{atelier_domain::name::initials(&name)}</span> }
}

/// A person in a list: avatar, name, and one line more.
#[component]
pub fn Who(
    #[prop(into)] name: String,
    /// The page of the person; without it the name is no link.
    #[prop(optional_no_strip, into)]
    href: Option<String>,
    /// The second line, such as the address.
    #[prop(optional, into)]
    detail: String,
    /// A short mark behind the name, such as "you".
    #[prop(optional)]
    mark: &'static str,
) -> AnyView {
    let shown = name.clone();
    let title = match href {
        Some(href) => html! { <a class="name" href=href>{shown}</a> },
        None => html! { <span class="name">{shown}</span> },
    };
    let mark = (!mark.is_empty()).then(|| view! { " "<span class="tag">{mark}</span> });
    let two_lines = !detail.is_empty();
    let detail = two_lines.then(|| view! { <span class="l2">{detail}</span> });
    html! {
        <span class="who">
            <Avatar name=name large=two_lines/>
            <span class="who-text">{title}{mark}{detail}</span>
        </span>
    }
}

/// The same name has the same colour everywhere and always (FNV-1a, which no release of the compiler
/// changes).
fn hue(name: &str) -> &'static str {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    HUES[(hash >> 32) as usize % HUES.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::testing::html;

    #[test]
    fn a_name_has_one_colour_and_its_initials() {
        let first = html(|| view! { <Avatar name="Ines Okafor"/> });
        assert_eq!(first, html(|| view! { <Avatar name="Ines Okafor"/> }));
        assert!(first.contains(">IO<"), "{first}");
    }

    #[test]
    fn names_use_every_colour() {
        let seen: std::collections::BTreeSet<_> = (0..200).map(|i| hue(&format!("Person {i}"))).collect();
        assert_eq!(seen.len(), HUES.len());
    }
}
