//! Nothing moves under a pressed pointer.
//!
//! A click counts only where the pointer goes up on what it went down on. A price or a row that arrives in
//! between moves the button away, and the click is lost without a word. So whatever changes the page of its
//! own accord waits for the release.

use std::cell::Cell;

use leptos::prelude::window;
use web_sys::Event;

use crate::islands::dom::{listen, listen_first, sleep};

/// Between two looks: shorter than a press, longer than the click that follows a release.
const LOOK_MILLIS: i32 = 30;

thread_local! {
    static IS_PRESSED: Cell<bool> = const { Cell::new(false) };
}

pub fn install() {
    listen_first(&window(), "pointerdown", |_: Event| IS_PRESSED.set(true));
    // A pointer that leaves the window, or becomes a drag or a scroll, is never seen to go up.
    for kind in ["pointerup", "pointercancel", "dragend"] {
        listen_first(&window(), kind, |_: Event| IS_PRESSED.set(false));
    }
    listen(&window(), "blur", |_: Event| IS_PRESSED.set(false));
}

/// Returns once nothing is pressed; at once where nothing is.
pub async fn released() {
    while IS_PRESSED.get() {
        sleep(LOOK_MILLIS).await;
    }
}
