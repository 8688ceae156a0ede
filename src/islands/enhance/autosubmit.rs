//! Filters that apply as soon as they are chosen. The button beside them does the same without script.

use leptos::prelude::document;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Event, HtmlFormElement};

use crate::islands::dom::{closest, listen};

pub fn install() {
    listen(&document(), "change", |event: Event| {
        let Some(field) = closest(&event, "[data-autosubmit]") else { return };
        let form = js_sys::Reflect::get(&field, &JsValue::from_str("form"));
        if let Some(form) = form.ok().and_then(|form| form.dyn_into::<HtmlFormElement>().ok()) {
            // A form that its own fields forbid shows them instead, as a click would.
            let _ = form.request_submit();
        }
    });
}
