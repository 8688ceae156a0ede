//! Buttons that show that their form is on its way, and forms that are not sent twice.

use leptos::prelude::{document, window};
use wasm_bindgen::JsCast;
use web_sys::{Element, Event, SubmitEvent};

use crate::islands::dom::{all, listen, set_words, words};

/// Marks a form that was sent; the refresh leaves it alone.
const SENT: &str = "data-sent";
/// Where the label rests while another is shown.
const RESTING_LABEL: &str = "data-resting-label";

pub fn install() {
    listen(&document(), "submit", |event: SubmitEvent| {
        let Some(form) = event.target().and_then(|form| form.dyn_into::<Element>().ok()) else { return };
        if event.default_prevented() {
            return;
        }
        if form.has_attribute(SENT) {
            event.prevent_default();
            return;
        }
        // A download or an answer in another tab leaves the page as it is, and so does a dialog that closes.
        let method = form.get_attribute("method").unwrap_or_default();
        if form.has_attribute("target") || method.eq_ignore_ascii_case("dialog") {
            return;
        }
        let _ = form.set_attribute(SENT, "");
        let Some(button) = event.submitter() else { return };
        let _ = button.set_attribute("aria-busy", "true");
        if let Some(label) = button.get_attribute("data-pending-label") {
            let resting = words(&button);
            let _ = button.set_attribute(RESTING_LABEL, &resting);
            set_words(&button, &label);
        }
    });
    // The way back may show the page as it was left.
    listen(&window(), "pageshow", |_: Event| restore());
}

fn restore() {
    for form in all("form[data-sent]") {
        let _ = form.remove_attribute(SENT);
    }
    for button in all("button[aria-busy]") {
        let _ = button.remove_attribute("aria-busy");
        if let Some(label) = button.get_attribute(RESTING_LABEL) {
            set_words(&button, &label);
            let _ = button.remove_attribute(RESTING_LABEL);
        }
    }
}
