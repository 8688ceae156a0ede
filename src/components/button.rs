//! Buttons: verb and object, one primary on a page, disabled only with a reason.

use leptos::prelude::*;

use crate::components::icon::Icon;

/// How loud a button is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    #[default]
    Plain,
    /// The one thing to do on the page.
    Primary,
    /// Destroys or shuts out; only where it has been asked before.
    Danger,
    /// The way to such a question.
    DangerQuiet,
    /// Without an edge.
    Ghost,
}

impl Look {
    const fn class(self) -> &'static str {
        match self {
            Self::Plain => "btn",
            Self::Primary => "btn primary",
            Self::Danger => "btn danger",
            Self::DangerQuiet => "btn danger-quiet",
            Self::Ghost => "btn ghost",
        }
    }
}

/// The class and the inside of the three kinds of buttons.
fn dressed(
    look: Look,
    (small, large, block): (bool, bool, bool),
    icon: Option<&'static str>,
    children: Option<Children>,
) -> (String, AnyView) {
    let is_square = icon.is_some() && children.is_none();
    let mut class = look.class().to_owned();
    for (wanted, name) in [(small, " sm"), (large, " lg"), (block, " block"), (is_square, " icon")] {
        if wanted {
            class.push_str(name);
        }
    }
    let icon = icon.map(|name| view! { <Icon name=name/> });
    (class, html! { {icon}{children.map(|children| children())} })
}

/// A button that does something in the page itself, such as opening a menu.
#[component]
pub fn Button(
    #[prop(optional)] look: Look,
    /// For rows of tables.
    #[prop(optional)]
    small: bool,
    /// For the one form of a page.
    #[prop(optional)]
    large: bool,
    #[prop(optional)] block: bool,
    #[prop(optional, into)] icon: Option<&'static str>,
    /// What it does, where it has no word.
    #[prop(optional, into)]
    label: Option<String>,
    /// The id of the menu that it opens.
    #[prop(optional, into)]
    opens: Option<String>,
    /// Why it cannot be used; it is disabled then.
    #[prop(optional_no_strip)]
    disabled_because: Option<String>,
    #[prop(optional)] children: Option<Children>,
) -> AnyView {
    let (class, inside) = dressed(look, (small, large, block), icon, children);
    match disabled_because {
        Some(reason) => blocked(class, label, inside, icon.unwrap_or_default(), reason),
        None => html! {
            <button class=class type="button" aria-label=label popovertarget=opens>{inside}</button>
        },
    }
}

/// A link that looks like a button.
#[component]
pub fn LinkButton(
    #[prop(into)] href: String,
    #[prop(optional)] look: Look,
    #[prop(optional)] small: bool,
    #[prop(optional)] large: bool,
    #[prop(optional)] block: bool,
    #[prop(optional, into)] icon: Option<&'static str>,
    /// What it does, where it has no word or the word is not enough.
    #[prop(optional, into)]
    label: Option<String>,
    #[prop(optional_no_strip)] disabled_because: Option<String>,
    /// Whether the page behind it is a question that script shows as a dialog.
    #[prop(optional)]
    dialog: bool,
    #[prop(optional)] children: Option<Children>,
) -> AnyView {
    let (class, inside) = dressed(look, (small, large, block), icon, children);
    match disabled_because {
        Some(reason) => blocked(class, label, inside, &href, reason),
        None => html! {
            <a class=class href=href aria-label=label data-confirm=dialog.then_some("")>{inside}</a>
        },
    }
}

/// The button that sends a form.
#[component]
pub fn SubmitButton(
    #[prop(default = Look::Primary)] look: Look,
    #[prop(optional)] small: bool,
    #[prop(optional)] large: bool,
    #[prop(optional)] block: bool,
    #[prop(optional, into)] icon: Option<&'static str>,
    #[prop(optional, into)] label: Option<String>,
    /// The name under which it is sent, where a form has several.
    #[prop(optional, into)]
    name: Option<&'static str>,
    #[prop(optional, into)] value: Option<String>,
    /// Another address than the form's.
    #[prop(optional, into)]
    formaction: Option<String>,
    /// The word while the answer is awaited: "Saving…". Script shows it; without it the browser shows its own
    /// sign.
    #[prop(optional, into)]
    pending: Option<&'static str>,
    #[prop(optional_no_strip)] disabled_because: Option<String>,
    #[prop(optional)] children: Option<Children>,
) -> AnyView {
    let (class, inside) = dressed(look, (small, large, block), icon, children);
    match disabled_because {
        Some(reason) => {
            let target = formaction.as_deref().or(value.as_deref()).or(icon).unwrap_or_default();
            blocked(class, label, inside, target, reason)
        }
        None => html! {
            <button
                class=class type="submit" name=name value=value formaction=formaction aria-label=label
                data-pending-label=pending
            >
                {inside}
            </button>
        },
    }
}

/// A disabled button with its reason: on hover beside it, on touch and keyboard behind the small button
/// "Why?", and in any case as its description.
///
/// `target` is what the button would have done: it keeps apart the ids of buttons that are disabled for the
/// same reason.
fn blocked(class: String, label: Option<String>, inside: AnyView, target: &str, reason: String) -> AnyView {
    let id = id_for([target, &class, &reason]);
    let described = id.clone();
    let opens = id.clone();
    html! {
        <span class="blocked">
            <button class=class type="button" disabled aria-label=label aria-describedby=described>{inside}</button>
            <button class="why-not" type="button" popovertarget=opens>"Why?"</button>
            <span class="reason" id=id popover="auto">{reason}</span>
        </span>
    }
}

/// An id out of everything that tells one disabled button from another, so that a page is the same each time
/// it is made and the live refresh finds nothing to change in it (FNV-1a).
fn id_for(parts: [&str; 3]) -> String {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("why-not-{hash:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::testing::html;

    #[test]
    fn a_disabled_button_names_its_reason() {
        let button = html(|| {
            view! {
                <SubmitButton disabled_because=Some("Your role Reader does not include member.write.".to_owned())>
                    "Add person"
                </SubmitButton>
            }
        });
        assert!(button.contains("disabled"), "{button}");
        assert!(button.contains("member.write"), "{button}");
        let id = button.split("aria-describedby=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        assert!(button.contains(&format!("id=\"{id}\"")), "{button}");
        assert!(!button.contains("type=\"submit\""), "it must not send the form: {button}");
    }

    #[test]
    fn every_reason_has_an_id_of_its_own_and_the_same_each_time() {
        let make = || {
            html(|| {
                let reason = || Some("No".to_owned());
                view! {
                    <LinkButton href="/a" disabled_because=reason()>"A"</LinkButton>
                    <LinkButton href="/b" disabled_because=reason()>"B"</LinkButton>
                }
            })
        };
        let buttons = make();
        let ids: std::collections::BTreeSet<_> =
            buttons.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect();
        assert_eq!(ids.len(), 2, "{buttons}");
        assert!(!buttons.contains("href"), "a disabled link leads nowhere: {buttons}");
        assert_eq!(buttons, make());
    }

    #[test]
    fn a_button_without_a_word_is_square_and_has_a_label() {
        let button = html(|| view! { <Button icon="x" label="Clear selection" look=Look::Ghost/> });
        assert!(button.contains(r#"class="btn ghost icon""#) && button.contains("Clear selection"), "{button}");
    }
}
