//! Sizes: the catalogue of what nodes have and cost, and the same over REST.

#[cfg(feature = "ssr")]
pub mod pages;

pub mod functions;
#[cfg(feature = "ssr")]
pub mod rest;
