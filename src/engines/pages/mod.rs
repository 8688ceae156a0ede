//! The pages.

pub mod nodes;
pub mod page;
pub mod remove_unknown;
