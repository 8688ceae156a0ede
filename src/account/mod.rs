//! Oneself: set-up, sign-in, profile, sessions, personal tokens and SSH keys.

#[cfg(feature = "ssr")]
pub mod pages;

#[cfg(feature = "ssr")]
pub mod entrance;
pub mod functions;
#[cfg(feature = "ssr")]
pub mod own;
#[cfg(feature = "ssr")]
pub mod rest;
pub mod ssh_functions;
#[cfg(feature = "ssr")]
pub mod ssh_keys;
pub mod token_functions;
#[cfg(feature = "ssr")]
pub mod tokens;
