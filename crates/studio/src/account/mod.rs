//! Oneself: sessions, tokens, SSH keys.

pub mod sessions;
pub mod ssh_keys;
pub mod tokens;
