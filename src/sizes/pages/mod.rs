//! The pages.

pub mod form;
pub mod list;
