//! The pages.

pub mod base;
pub mod compare;
pub mod delete;
pub mod detail;
pub mod editors;
pub mod form;
pub mod list;
pub mod parts;
