//! Rows that are ticked, and what can be done to all of them.
//!
//! In a `form[data-bulk]`, which also owns fields outside of it by their `form` attribute: boxes named `id`,
//! and a box `data-bulk-all` that ticks them all. `data-bulk-count` holds the number of ticked rows, and a
//! button with `data-bulk-label="Disable"` becomes "Disable 3". Style shows the bar as soon as a row is
//! ticked.

use leptos::prelude::document;
use wasm_bindgen::JsCast;
use web_sys::{Element, Event, HtmlFormElement, HtmlInputElement};

use crate::islands::dom::{all, closest, find_all, listen, set_words, sleep};

pub fn install() {
    listen(&document(), "change", |event: Event| {
        let Some(input) = closest(&event, "input[type=checkbox]").and_then(|input| input.dyn_into().ok()) else {
            return;
        };
        let input: HtmlInputElement = input;
        let Some(form) = input.form().filter(|form| form.has_attribute("data-bulk")) else { return };
        if input.has_attribute("data-bulk-all") {
            boxes(&form).iter().for_each(|row| row.set_checked(input.checked()));
        }
        show_counts(&form);
    });
    // The boxes haven't changed yet while the event is being handled.
    listen(&document(), "reset", |_: Event| {
        wasm_bindgen_futures::spawn_local(async {
            sleep(0).await;
            show_all_counts();
        });
    });
    // The browser restores ticks when one comes back; fresh rows come with every refresh.
    listen(&document(), "atelier:refreshed", |_: Event| show_all_counts());
    listen(&leptos::prelude::window(), "pageshow", |_: Event| show_all_counts());
    show_all_counts();
}

fn show_all_counts() {
    for form in all("form[data-bulk]").iter().filter_map(|form| form.dyn_ref::<HtmlFormElement>()) {
        show_counts(form);
    }
}

/// The boxes of the rows, wherever in the page they are.
fn boxes(form: &HtmlFormElement) -> Vec<HtmlInputElement> {
    let fields = form.elements();
    (0..fields.length())
        .filter_map(|at| fields.item(at)?.dyn_into::<HtmlInputElement>().ok())
        .filter(|input| input.type_() == "checkbox" && input.name() == "id")
        .collect()
}

fn show_counts(form: &HtmlFormElement) {
    let boxes = boxes(form);
    let ticked = boxes.iter().filter(|row| row.checked()).count();
    let parts = |attribute: &str| -> Vec<Element> { find_all(form, &["[", attribute, "]"].concat()) };
    for all in parts("data-bulk-all").iter().filter_map(|all| all.dyn_ref::<HtmlInputElement>()) {
        all.set_checked(ticked > 0 && ticked == boxes.len());
        all.set_indeterminate(ticked > 0 && ticked < boxes.len());
    }
    let number = ticked.to_string();
    for count in parts("data-bulk-count") {
        count.set_text_content(Some(&number));
    }
    for button in parts("data-bulk-label") {
        let verb = button.get_attribute("data-bulk-label").unwrap_or_default();
        set_words(&button, &[verb.as_str(), " ", number.as_str()].concat());
    }
}
