//! Toasts go by themselves after a while, but never from under the pointer or the focus.

use leptos::prelude::document;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Element, Event};

use crate::islands::dom::{closest, find_all, listen, root, sleep};

/// Long enough to read two lines.
const SHOWN_MILLIS: i32 = 8_000;

pub fn install() {
    listen(&document(), "click", |event: Event| {
        if let Some(toast) = closest(&event, "[data-dismiss]").and_then(|button| button.closest(".toast").ok()?) {
            event.prevent_default();
            toast.remove();
        }
    });
    for toast in root().map(|root| find_all(&root, ".toast")).unwrap_or_default() {
        spawn_local(leave(toast));
    }
}

async fn leave(toast: Element) {
    sleep(SHOWN_MILLIS).await;
    while toast.matches(":hover, :focus-within").unwrap_or(false) {
        sleep(1_000).await;
    }
    toast.remove();
}
