//! The pages.

pub mod nodes;
pub mod page;
pub mod quarantine;
pub mod remove_unknown;
