//! Oneself: set-up, sign-in, profile, sessions, personal tokens and SSH keys.

#[cfg(feature = "ssr")]
pub mod pages;

pub mod entrance;
pub mod functions;
#[cfg(feature = "ssr")]
pub mod rest;
