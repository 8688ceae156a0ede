//! What the server says about a field while one types: whether a name is free, what a cron expression means.
//!
//! A field with `data-ask` sends itself (and the fields of its form that `data-ask-with` names) to that
//! server function; the `data-answer` beside it becomes what is answered.

use leptos::prelude::document;
use wasm_bindgen::JsCast;
use web_sys::{Element, Event, HtmlInputElement};

use crate::islands::dom::{closest, find_all, listen};
use crate::islands::live::morph::morph;
use crate::islands::typing::{Question, Typing, typed};

const PAUSE_MILLIS: i32 = 200;

pub fn install() {
    let typing = Typing::new(PAUSE_MILLIS);
    listen(&document(), "input", move |event: Event| {
        let Some(field) = asking(&event) else { return };
        let asked = field.clone();
        typing.ask(
            move || question(&asked),
            move |fresh| {
                if let Some(fresh) = fresh {
                    let _ = show(&field, &fresh);
                }
            },
        );
    });
}

/// The field that asks: the one that was typed into, or the one that depends on it.
fn asking(event: &Event) -> Option<HtmlInputElement> {
    if let Some(field) = closest(event, "[data-ask]") {
        return field.dyn_into().ok();
    }
    let changed = closest(event, "[name]")?;
    let (form, name) = (changed.closest("form").ok()??, changed.get_attribute("name")?);
    let depends = |field: &Element| {
        field.get_attribute("data-ask-with").is_some_and(|with| with.split(',').any(|one| one == name))
    };
    find_all(&form, "[data-ask]").into_iter().find(depends)?.dyn_into().ok()
}

fn question(field: &HtmlInputElement) -> Option<Question> {
    let with = field.get_attribute("data-ask-with").unwrap_or_default();
    let names = [field.name().as_str(), ",", &with].concat();
    Some((field.get_attribute("data-ask")?, typed(&field.form()?, &names)?))
}

fn show(field: &HtmlInputElement, fresh: &Element) -> Option<()> {
    let place = field.closest(".field").ok()??.query_selector("[data-answer]").ok()??;
    // Each form's own id stays: the field is described by it.
    let _ = fresh.set_attribute("id", &place.id());
    morph(&place, fresh);
    let is_wrong = place.class_list().contains("err");
    if is_wrong {
        field.set_attribute("aria-invalid", "true").ok()
    } else {
        field.remove_attribute("aria-invalid").ok()
    }
}
