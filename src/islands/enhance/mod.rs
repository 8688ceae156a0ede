//! What a page does at once instead of after a round trip: pending buttons, copying, bulk counts, dialogs,
//! shortcuts.
//!
//! One set of listeners on the document serves every page, also for rows that arrive later.

#[cfg(feature = "hydrate")]
mod autosubmit;
#[cfg(feature = "hydrate")]
mod bulk;
#[cfg(feature = "hydrate")]
mod colours;
#[cfg(feature = "hydrate")]
mod confirm;
#[cfg(feature = "hydrate")]
mod copy;
#[cfg(feature = "hydrate")]
mod go;
#[cfg(feature = "hydrate")]
mod keys;
#[cfg(feature = "hydrate")]
mod name_check;
#[cfg(feature = "hydrate")]
mod password;
#[cfg(feature = "hydrate")]
mod pending;
#[cfg(feature = "hydrate")]
mod quote;
#[cfg(feature = "hydrate")]
mod toasts;
#[cfg(feature = "hydrate")]
mod upload;
#[cfg(feature = "hydrate")]
mod week_grid;
#[cfg(feature = "hydrate")]
mod zone;

use leptos::prelude::*;

/// Adds behaviour to the plain page; shows nothing itself. Both shells hold it once.
///
/// It marks `<html>` with `data-hydrated` when it is ready, which is what tests wait for.
#[island]
pub fn Enhance() -> impl IntoView {
    #[cfg(feature = "hydrate")]
    install();
}

#[cfg(feature = "hydrate")]
fn install() {
    crate::islands::press::install();
    // The order matters for submits: the dialog that asks first comes before the button is marked as busy.
    confirm::install();
    upload::install();
    pending::install();
    autosubmit::install();
    bulk::install();
    colours::install();
    copy::install();
    go::install();
    keys::install();
    name_check::install();
    password::install();
    quote::install();
    toasts::install();
    week_grid::install();
    zone::install();
    crate::islands::log::install();
    if let Some(root) = document().document_element() {
        let _ = root.set_attribute("data-hydrated", "");
    }
}
