//! Syntax colours while one types, by the same rules as in previews.
//!
//! A `<textarea>` has one colour. So its text becomes invisible and a copy in colours lies over it, which
//! takes no clicks and which screen readers do not see. The language is that of the file's name: the form's
//! `data-colours`, or its field `name`.

use std::cell::Cell;
use std::rc::Rc;

use atelier_domain::files::colour::{Language, pieces};
use leptos::prelude::{document, request_animation_frame, window};
use wasm_bindgen::JsValue;
use web_sys::{Element, Event, HtmlInputElement, HtmlTextAreaElement};

use crate::islands::dom::{closest, find, listen, listen_first, within};

/// Longer texts stay plain, so that typing stays quick.
const LONGEST: usize = 60_000;

pub fn install() {
    now();
    // The browser may have restored what was typed before.
    listen(&window(), "pageshow", |_: Event| now());
    // Before the next picture, however many changes there are until then: some programs type line by line.
    let is_due = Rc::new(Cell::new(false));
    listen(&document(), "input", move |event: Event| {
        if closest(&event, "form[data-colours]").is_some() && !is_due.replace(true) {
            let is_due = is_due.clone();
            request_animation_frame(move || {
                is_due.set(false);
                now();
            });
        }
    });
    // It does not bubble.
    listen_first(&document(), "scroll", |event: Event| {
        if let Some(place) = closest(&event, ".coded") {
            follow(&place);
        }
    });
}

fn now() {
    if let Some(form) = find("form[data-colours]") {
        let _ = colour(&form);
    }
}

fn colour(form: &Element) -> Result<(), JsValue> {
    let Some(place) = form.query_selector(".coded")? else { return Ok(()) };
    let Some(text) = field(&place) else { return Ok(()) };
    let value = text.value();
    let language = Language::of(&name(form), &value);
    let shown = match place.query_selector(".source")? {
        Some(shown) => shown,
        None => {
            let shown = document().create_element("pre")?;
            shown.set_class_name("source");
            shown.set_attribute("aria-hidden", "true")?;
            place.append_child(&shown)?;
            shown
        }
    };
    shown.set_text_content(None);
    if value.len() > LONGEST {
        return place.remove_attribute("data-coloured");
    }
    let fragment = document().create_document_fragment();
    for (kind, piece) in pieces(&value, &language) {
        match kind.class() {
            None => drop(fragment.append_child(&document().create_text_node(piece))?),
            Some(class) => {
                let span = document().create_element("span")?;
                span.set_class_name(class);
                span.set_text_content(Some(piece));
                fragment.append_child(&span)?;
            }
        }
    }
    // A last line that is empty has its height in the field, and has none here.
    fragment.append_child(&document().create_text_node("\n"))?;
    shown.append_child(&fragment)?;
    place.set_attribute("data-coloured", "")?;
    follow(&place);
    Ok(())
}

fn field(place: &Element) -> Option<HtmlTextAreaElement> {
    within(place, "textarea")
}

/// The name of the file, which for a new one is being typed.
fn name(form: &Element) -> String {
    let typed: Option<HtmlInputElement> = within(form, "input[name=name]");
    typed.map_or_else(|| form.get_attribute("data-colours").unwrap_or_default(), |field| field.value())
}

/// Shows the same part of both.
fn follow(place: &Element) {
    if let (Some(field), Ok(Some(shown))) = (field(place), place.query_selector(".source")) {
        shown.set_scroll_top(field.scroll_top());
        shown.set_scroll_left(field.scroll_left());
    }
}
