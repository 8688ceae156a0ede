//! Atelier: the portal and the server around the engine.
//!
//! Two halves come out of this crate. With `ssr` it is the server: pages, server functions, the command line.
//! With `hydrate` it is the little program that runs in the browser, and that is only what [`islands`] holds:
//! every page is plain HTML made on the server and complete without script; islands make it live and quick.
//! So pages and components exist on the server alone, which keeps the browser's half small.

/// A view that forgets its type at once: a page is made of so many parts that the compiler would have to
/// carry a type of many levels.
#[cfg(feature = "ssr")]
macro_rules! html {
    ($($markup:tt)*) => { leptos::prelude::IntoAny::into_any(leptos::prelude::view! { $($markup)* }) };
}

pub mod account;
pub mod clusters;
pub mod cost;
pub mod done;
pub mod engines;
pub mod environments;
pub mod error;
pub mod files;
pub mod instances;
pub mod islands;
pub mod jobs;
pub mod people;
pub mod quota;
pub mod schedules;
pub mod sizes;

#[cfg(feature = "ssr")]
pub mod app;
#[cfg(feature = "ssr")]
pub mod cli;
#[cfg(feature = "ssr")]
pub mod components;
#[cfg(feature = "ssr")]
pub mod compute;
#[cfg(feature = "ssr")]
pub mod form;
#[cfg(feature = "ssr")]
pub mod frame;
#[cfg(feature = "ssr")]
pub mod history;
#[cfg(feature = "ssr")]
pub mod home;
#[cfg(feature = "ssr")]
pub mod rest;
#[cfg(feature = "ssr")]
pub mod router;
#[cfg(feature = "ssr")]
pub mod search;
#[cfg(feature = "ssr")]
pub mod server;
#[cfg(feature = "ssr")]
pub mod settings;
#[cfg(feature = "hydrate")]
mod typing;
#[cfg(feature = "ssr")]
pub mod viewer;

/// Called by the page's script once the browser's half is loaded.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    islands::typing::answer_by(typing::answer);
    leptos::mount::hydrate_islands();
}
