//! The page that asks first, shown as a dialog over the page one is on.
//!
//! The link or submit is marked `data-confirm` and leads to a real page with a `data-confirm-card`. Here the
//! card is fetched and put into a `<dialog>`; its form posts as it would there. If anything goes wrong on the
//! way, the browser simply goes to the page.

use leptos::prelude::{document, window};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::spawn_local;
use web_sys::{
    Element, Event, FormData, HtmlAnchorElement, HtmlDialogElement, HtmlFormElement, MouseEvent, SubmitEvent,
    UrlSearchParams,
};

use crate::islands::dom;
use crate::islands::dom::{closest, listen};

pub fn install() {
    listen(&document(), "click", |event: MouseEvent| {
        if closest(&event, "[data-confirm-cancel]").is_some_and(|button| close_around(&button)) {
            event.prevent_default();
            return;
        }
        let is_plain =
            event.button() == 0 && !(event.ctrl_key() || event.meta_key() || event.shift_key() || event.alt_key());
        let Some(link) = closest(&event, "a[data-confirm]").filter(|_| is_plain) else { return };
        let Some(href) = link.dyn_ref::<HtmlAnchorElement>().map(HtmlAnchorElement::href) else { return };
        event.prevent_default();
        spawn_local(ask(link, href));
    });
    listen(&document(), "submit", |event: SubmitEvent| {
        let Some(form) = event.target().and_then(|form| form.dyn_into::<HtmlFormElement>().ok()) else { return };
        let opener: Element = event.submitter().map_or_else(|| form.clone().into(), Element::from);
        if !opener.has_attribute("data-confirm") {
            return;
        }
        if let Some(href) = address(&form, &opener) {
            event.prevent_default();
            spawn_local(ask(opener, href));
        }
    });
}

/// Closes the dialog around an element; false if there is none, as on the page of its own.
fn close_around(element: &Element) -> bool {
    let dialog =
        element.closest("dialog").ok().flatten().and_then(|dialog| dialog.dyn_into::<HtmlDialogElement>().ok());
    dialog.map(|dialog| dialog.close()).is_some()
}

/// Where a GET form would lead.
fn address(form: &HtmlFormElement, opener: &Element) -> Option<String> {
    let data = FormData::new_with_form(form).ok()?;
    let query = UrlSearchParams::new().ok()?;
    for entry in js_sys::try_iter(&data).ok()??.flatten() {
        let entry: js_sys::Array = entry.unchecked_into();
        query.append(&entry.get(0).as_string()?, &entry.get(1).as_string()?);
    }
    let action = opener.get_attribute("formaction").or_else(|| form.get_attribute("action"))?;
    Some([action.as_str(), "?", &String::from(query.to_string())].concat())
}

async fn ask(opener: Element, href: String) {
    if show(&opener, &href).await.is_err() {
        let _ = window().location().set_href(&href);
    }
}

async fn show(opener: &Element, href: &str) -> Result<(), JsValue> {
    let answer = dom::fetch_page(href).await?;
    if !answer.ok() || dom::is_signed_out(&answer) {
        return Err(JsValue::NULL);
    }
    let page = dom::parse_page(&answer).await?;
    let card = page.query_selector("[data-confirm-card]")?.ok_or(JsValue::NULL)?;
    let dialog: HtmlDialogElement = document().create_element("dialog")?.unchecked_into();
    if let Some(title) = card.query_selector("h1, h2")?.filter(|title| !title.id().is_empty()) {
        dialog.set_attribute("aria-labelledby", &title.id())?;
    }
    dialog.append_child(&document().import_node_with_deep(&card, true)?)?;
    document().body().ok_or(JsValue::NULL)?.append_child(&dialog)?;
    let (opener, gone) = (opener.clone(), dialog.clone());
    listen(&dialog, "close", move |_: Event| {
        gone.remove();
        dom::focus(&opener);
    });
    dialog.show_modal()?;
    if let Some(safe) = dialog.query_selector("[data-confirm-cancel]")? {
        dom::focus(&safe);
    }
    Ok(())
}
