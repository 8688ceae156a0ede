//! What the server says about a field while one types: whether a name is free, what a cron expression means.
//!
//! A field with `data-ask` sends itself (and the fields of its form that `data-ask-with` names) to that address; the
//! `data-answer` beside it becomes what is answered. Only the server knows, so nothing is judged here.

use std::cell::Cell;
use std::rc::Rc;

use leptos::prelude::document;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::spawn_local;
use web_sys::{Element, Event, FormData, HtmlInputElement, UrlSearchParams};

use crate::islands::dom::{closest, fetch_page, find_all, listen, parse_page, sleep};
use crate::islands::live::morph::morph;
use crate::islands::press::released;

/// Who types on is not asked for in between.
const PAUSE_MILLIS: i32 = 200;

pub fn install() {
    // Counts what was typed, so that an answer to something older is known as such.
    let newest = Rc::new(Cell::new(0_u32));
    listen(&document(), "input", move |event: Event| {
        if let Some(field) = asking(&event) {
            ask(field, newest.clone());
        }
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

fn ask(field: HtmlInputElement, newest: Rc<Cell<u32>>) {
    let mine = newest.get().wrapping_add(1);
    newest.set(mine);
    spawn_local(async move {
        sleep(PAUSE_MILLIS).await;
        if newest.get() != mine {
            return;
        }
        let answer = answer(&field).await;
        released().await;
        if newest.get() != mine {
            return;
        }
        if let Ok(fresh) = answer {
            let _ = show(&field, &fresh);
        }
    });
}

async fn answer(field: &HtmlInputElement) -> Result<Element, JsValue> {
    let address = address(field).ok_or(JsValue::NULL)?;
    let page = parse_page(&fetch_page(&address).await?).await?;
    // Whatever else is answered, such as the page for signing in, has no such part.
    page.query_selector("[data-answer]")?.ok_or(JsValue::NULL)
}

fn address(field: &HtmlInputElement) -> Option<String> {
    let query = UrlSearchParams::new().ok()?;
    query.append(&field.name(), &field.value());
    if let (Some(with), Some(form)) = (field.get_attribute("data-ask-with"), field.form()) {
        let data = FormData::new_with_form(&form).ok()?;
        for name in with.split(',') {
            if let Some(value) = data.get(name).as_string() {
                query.append(name, &value);
            }
        }
    }
    Some([field.get_attribute("data-ask")?.as_str(), "?", &String::from(query.to_string())].concat())
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
