//! The pages.

pub mod detail;
pub mod list;
pub mod open_app;
pub mod shared_with_me;
