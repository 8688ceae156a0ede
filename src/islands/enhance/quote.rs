//! Prices that follow the typing.
//!
//! An element with `data-quote` is or holds a form; `data-quote-of` names the fields that decide. When one of
//! them changes, the server function in `data-quote` is asked with them, and the `data-quote-part` becomes
//! what it answers. Where no answer comes, the part is marked as `data-lost`, which style explains.

use leptos::prelude::{document, window};
use wasm_bindgen::JsCast;
use web_sys::{Element, Event, HtmlFormElement};

use crate::islands::dom::{closest, find, listen, within};
use crate::islands::live::morph::morph;
use crate::islands::typing::{Question, Typing, typed};

const PAUSE_MILLIS: i32 = 150;

pub fn install() {
    let typing = Typing::new(PAUSE_MILLIS);
    let changed = typing.clone();
    listen(&document(), "input", move |event: Event| {
        let field = closest(&event, "[name]").and_then(|field| field.get_attribute("name"));
        if let Some(place) = closest(&event, "[data-quote]")
            && fields(&place).split(',').any(|one| field.as_deref() == Some(one))
        {
            ask(place, &changed);
        }
    });
    // The browser may have restored what was typed before.
    let restored = move || {
        if let Some(place) = find("[data-quote]") {
            ask(place, &typing);
        }
    };
    restored();
    listen(&window(), "pageshow", move |_: Event| restored());
}

/// The names of the fields that decide.
fn fields(place: &Element) -> String {
    place.get_attribute("data-quote-of").unwrap_or_default()
}

fn ask(place: Element, typing: &Typing) {
    let asking = place.clone();
    typing.ask(
        move || question(&asking),
        move |fresh| {
            let Ok(Some(part)) = place.query_selector("[data-quote-part]") else { return };
            match fresh {
                Some(fresh) => drop(morph(&part, &fresh)),
                None => drop(part.set_attribute("data-lost", "")),
            }
        },
    );
}

fn question(place: &Element) -> Option<Question> {
    let form = match place.dyn_ref::<HtmlFormElement>() {
        Some(form) => form.clone(),
        None => within(place, "form")?,
    };
    Some((place.get_attribute("data-quote")?, typed(&form, &fields(place))?))
}
