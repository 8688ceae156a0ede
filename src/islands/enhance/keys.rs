//! Two shortcuts: `/` for the page's filter, Ctrl+K (⌘K) for the search over everything.

use leptos::prelude::document;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, HtmlInputElement, KeyboardEvent};

use crate::islands::dom::{find, listen};

pub fn install() {
    listen(&document(), "keydown", |event: KeyboardEvent| {
        if event.is_composing() || event.alt_key() || find("dialog[open]").is_some() {
            return;
        }
        let with_command = event.ctrl_key() || event.meta_key();
        let wanted = match event.key().as_str() {
            "k" | "K" if with_command && !event.shift_key() => "[data-search]",
            "/" if !with_command && !is_typing(&event) => "[data-filter]",
            _ => return,
        };
        let Some(input) = find(wanted).and_then(|input| input.dyn_into::<HtmlInputElement>().ok()) else { return };
        event.prevent_default();
        let _ = input.focus();
        input.select();
    });
}

fn is_typing(event: &KeyboardEvent) -> bool {
    let Some(target) = event.target() else { return false };
    let edits = |element: &Element| element.matches("input, textarea, select").unwrap_or(false);
    target.dyn_ref::<Element>().is_some_and(edits)
        || target.dyn_ref::<HtmlElement>().is_some_and(HtmlElement::is_content_editable)
}
