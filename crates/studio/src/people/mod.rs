//! People: who is here, and what administrators do to accounts.

pub mod commands;
pub mod list;
pub mod names;
