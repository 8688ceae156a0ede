//! Buttons that copy.

use leptos::prelude::{document, window};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{Element, Event};

use crate::islands::dom::{announce, closest, listen, sleep};

pub fn install() {
    listen(&document(), "click", |event: Event| {
        let Some(button) = closest(&event, "[data-copy]") else { return };
        event.prevent_default();
        let text = button.get_attribute("data-copy").unwrap_or_default();
        spawn_local(copy(button, text));
    });
}

async fn copy(button: Element, text: String) {
    // Outside of HTTPS and localhost there is no clipboard; the text can still be selected by hand.
    let navigator = window().navigator();
    let has_clipboard =
        js_sys::Reflect::has(&navigator, &"clipboard".into()).unwrap_or(false) && window().is_secure_context();
    let copied = has_clipboard && JsFuture::from(navigator.clipboard().write_text(&text)).await.is_ok();
    announce(if copied {
        "Copied."
    } else {
        "Not copied: the browser does not allow it. Select the text and copy it."
    });
    let word = button.query_selector("[data-copy-word]").ok().flatten();
    if let Some(word) = word.filter(|_| copied) {
        word.set_text_content(Some("Copied"));
        sleep(2_000).await;
        word.set_text_content(Some("Copy"));
    }
}
