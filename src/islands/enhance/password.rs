//! The hint under a new password, by the very rule that the server applies.
//!
//! It speaks after the field was left, and from then on at every letter, so that nobody is told off while
//! still typing.

use atelier_domain::password::check;
use leptos::prelude::document;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, Event, HtmlButtonElement, HtmlInputElement};

use crate::islands::dom::{closest, listen, listen_first, set_words, within};

pub fn install() {
    listen_first(&document(), "blur", |event: Event| {
        // A line that appears while a button is pressed moves the button away from under the pointer, and the
        // click is lost. Whoever sends the form gets the server's word anyway.
        if goes_to_button(&event) {
            return;
        }
        if let Some(input) = password_of(&event).filter(|input| !input.value().is_empty()) {
            judge(&input);
        }
    });
    listen(&document(), "input", |event: Event| {
        if let Some(input) = password_of(&event).filter(|input| input.has_attribute("aria-invalid")) {
            judge(&input);
        }
    });
}

fn password_of(event: &Event) -> Option<HtmlInputElement> {
    closest(event, "input[data-check=password]")?.dyn_into().ok()
}

/// Whether the focus leaves for a button.
fn goes_to_button(event: &Event) -> bool {
    let next = js_sys::Reflect::get(event, &JsValue::from_str("relatedTarget"));
    next.ok().and_then(|next| next.dyn_into::<HtmlButtonElement>().ok()).is_some()
}

fn judge(input: &HtmlInputElement) {
    let problem = check(&input.name(), &input.value(), &email_for(input)).err();
    let _ = match &problem {
        Some(_) => input.set_attribute("aria-invalid", "true"),
        None => input.remove_attribute("aria-invalid"),
    };
    let Some(line) = line_under(input) else { return };
    match problem {
        Some(problem) => {
            let _ = line.remove_attribute("hidden");
            set_words(&line, &problem.message);
        }
        None => {
            let _ = line.set_attribute("hidden", "");
        }
    }
}

/// The address that the password must not resemble: typed in the same form, or known to the server.
fn email_for(input: &HtmlInputElement) -> String {
    let typed = input.form().and_then(|form| within::<HtmlInputElement>(&form, "input[name=email]"));
    typed.map(|field| field.value()).or_else(|| input.get_attribute("data-email")).unwrap_or_default()
}

/// The line for what is wrong, made when it is first needed.
fn line_under(input: &HtmlInputElement) -> Option<Element> {
    let field = input.closest(".field").ok()??;
    if let Ok(Some(line)) = field.query_selector(".err") {
        return Some(line);
    }
    let line = document().create_element("p").ok()?;
    line.set_class_name("err");
    let id = [input.id().as_str(), "-problem"].concat();
    line.set_id(&id);
    let _ = line.set_attribute("aria-live", "polite");
    input.after_with_node_1(&line).ok()?;
    let described = input.get_attribute("aria-describedby").unwrap_or_default();
    let _ = input.set_attribute("aria-describedby", [described.as_str(), " ", id.as_str()].concat().trim());
    Some(line)
}
