//! Goes on by itself to what a page was waiting for, as soon as the server says that it is there.

use leptos::prelude::{document, window};
use web_sys::Event;

use crate::islands::dom::{find, listen};

pub fn install() {
    follow();
    listen(&document(), "atelier:refreshed", |_: Event| follow());
}

/// The page that waited is not one to come back to.
fn follow() {
    if let Some(href) = find("[data-go]").and_then(|place| place.get_attribute("data-go")) {
        let _ = window().location().replace(&href);
    }
}
