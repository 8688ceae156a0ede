//! Environments: the base that every instance comes with, named ones, VS Code, and the same over REST.

#[cfg(feature = "ssr")]
pub mod pages;

pub mod functions;
#[cfg(feature = "ssr")]
pub mod rest;
