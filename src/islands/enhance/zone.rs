//! Proposes the browser's time zone where the server knows none yet.

use leptos::prelude::document;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, HtmlSelectElement};

use crate::islands::dom::all;

pub fn install() {
    for select in all("select[data-zone-proposal]") {
        propose(&select);
    }
}

fn propose(element: &Element) -> Option<()> {
    let select = element.dyn_ref::<HtmlSelectElement>()?;
    if !select.value().is_empty() {
        return None;
    }
    select.set_value(&browser_zone()?);
    if select.value().is_empty() {
        // Not among the options: an old alias, or a zone newer than the server's database.
        select.set_selected_index(0);
        return None;
    }
    let hint = document().create_element("p").ok()?;
    hint.set_class_name("help");
    hint.set_text_content(Some("Proposed by your browser."));
    element.after_with_node_1(&hint).ok()
}

fn browser_zone() -> Option<String> {
    let format = js_sys::Intl::DateTimeFormat::new(&js_sys::Array::new(), &js_sys::Object::new());
    js_sys::Reflect::get(&format.resolved_options(), &JsValue::from_str("timeZone")).ok()?.as_string()
}
