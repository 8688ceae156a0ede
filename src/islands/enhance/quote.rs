//! Prices that follow the typing. The server alone works them out.
//!
//! An element with `data-quote` is or holds a form; `data-quote-of` names the fields that decide. When one of them changes, the
//! address in `data-quote` is asked with them, and the `data-quote-part` becomes what it answers. An answer that comes after
//! something else was typed is dropped; one that does not come marks the part as `data-lost`, which style explains.

use std::cell::Cell;
use std::rc::Rc;

use leptos::prelude::{document, window};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::spawn_local;
use web_sys::{Element, Event, FormData, HtmlFormElement, UrlSearchParams};

use crate::islands::dom::{closest, fetch_page, find, listen, parse_page, sleep};
use crate::islands::live::morph::morph;
use crate::islands::press::released;

/// Who types on is not asked for in between.
const PAUSE_MILLIS: i32 = 150;

pub fn install() {
    // Counts what was typed, so that an answer to something older is known as such.
    let newest = Rc::new(Cell::new(0_u32));
    let typed = newest.clone();
    listen(&document(), "input", move |event: Event| {
        let field = closest(&event, "[name]").and_then(|field| field.get_attribute("name"));
        if let Some(place) = closest(&event, "[data-quote]")
            && fields(&place).split(',').any(|one| field.as_deref() == Some(one))
        {
            ask(place, typed.clone());
        }
    });
    // The browser may have restored what was typed before.
    let restored = move || {
        if let Some(place) = find("[data-quote]") {
            ask(place, newest.clone());
        }
    };
    restored();
    listen(&window(), "pageshow", move |_: Event| restored());
}

/// The names of the fields that decide.
fn fields(place: &Element) -> String {
    place.get_attribute("data-quote-of").unwrap_or_default()
}

fn ask(place: Element, newest: Rc<Cell<u32>>) {
    let mine = newest.get().wrapping_add(1);
    newest.set(mine);
    spawn_local(async move {
        sleep(PAUSE_MILLIS).await;
        if newest.get() != mine {
            return;
        }
        let answer = answer(&place).await;
        released().await;
        let Ok(Some(part)) = place.query_selector("[data-quote-part]") else { return };
        if newest.get() != mine {
            return;
        }
        match answer {
            Ok(fresh) => drop(morph(&part, &fresh)),
            Err(_) => drop(part.set_attribute("data-lost", "")),
        }
    });
}

async fn answer(place: &Element) -> Result<Element, JsValue> {
    let address = address(place).ok_or(JsValue::NULL)?;
    let page = parse_page(&fetch_page(&address).await?).await?;
    // Whatever else is answered, such as the page for signing in, has no such part.
    page.query_selector("[data-quote-part]")?.ok_or(JsValue::NULL)
}

/// The address with the fields as they are now.
fn address(place: &Element) -> Option<String> {
    let form = match place.dyn_ref::<HtmlFormElement>() {
        Some(form) => form.clone(),
        None => place.query_selector("form").ok()??.dyn_into().ok()?,
    };
    let data = FormData::new_with_form(&form).ok()?;
    let query = UrlSearchParams::new().ok()?;
    for field in fields(place).split(',') {
        if let Some(value) = data.get(field).as_string() {
            query.append(field, &value);
        }
    }
    Some([place.get_attribute("data-quote")?.as_str(), "?", &String::from(query.to_string())].concat())
}
