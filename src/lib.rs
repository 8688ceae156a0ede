//! Atelier: the portal and the server around the engine.
//!
//! Two halves come out of this crate. With `ssr` it is the server: pages, server functions, the command line. With
//! `hydrate` it is the little program that runs in the browser, and that is only what [`islands`] holds: every page is
//! plain HTML made on the server and complete without script; islands make it live and quick. So pages and components
//! exist on the server alone, which keeps the browser's half small.

pub mod ansi;
pub mod api;
pub mod error;
pub mod islands;
pub mod paths;

#[cfg(feature = "ssr")]
pub mod app;
#[cfg(feature = "ssr")]
pub mod cli;
#[cfg(feature = "ssr")]
pub mod components;
#[cfg(feature = "ssr")]
pub mod form;
#[cfg(feature = "ssr")]
pub mod pages;
#[cfg(feature = "ssr")]
pub mod server;
#[cfg(feature = "ssr")]
pub mod studio;
#[cfg(feature = "ssr")]
pub mod viewer;

/// Called by the page's script once the browser's half is loaded.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_islands();
}
