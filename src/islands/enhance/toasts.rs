//! Toasts go by themselves after a while, but never from under the pointer or the focus. Warnings stay until
//! they are dismissed, which counts for as long as the tab lives, or until what they warn of is over.

use leptos::prelude::{document, window};
use wasm_bindgen_futures::spawn_local;
use web_sys::{Element, Event};

use crate::islands::dom::{all, closest, listen, sleep};

/// Long enough to read two lines.
const SHOWN_MILLIS: i32 = 8_000;

pub fn install() {
    listen(&document(), "click", |event: Event| {
        if let Some(toast) = closest(&event, "[data-dismiss]").and_then(|button| button.closest(".toast").ok()?) {
            event.prevent_default();
            remember(&toast);
            toast.remove();
        }
    });
    for toast in all(".toast:not(.warning)") {
        spawn_local(leave(toast));
    }
    hide_dismissed();
    listen(&document(), "atelier:refreshed", |_: Event| hide_dismissed());
}

/// Notes that a warning was dismissed.
fn remember(toast: &Element) -> Option<()> {
    let key = toast.get_attribute("data-key")?;
    window().session_storage().ok()??.set_item(&["atelier-dismissed-", &key].concat(), "1").ok()
}

/// The refresh brings warnings back that were dismissed.
fn hide_dismissed() {
    let storage = window().session_storage().ok().flatten();
    for toast in all(".toast.warning") {
        let key = ["atelier-dismissed-", &toast.get_attribute("data-key").unwrap_or_default()].concat();
        if storage.as_ref().is_some_and(|storage| matches!(storage.get_item(&key), Ok(Some(_)))) {
            toast.remove();
        }
    }
}

async fn leave(toast: Element) {
    sleep(SHOWN_MILLIS).await;
    while toast.matches(":hover, :focus-within").unwrap_or(false) {
        sleep(1_000).await;
    }
    toast.remove();
}
