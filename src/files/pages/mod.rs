//! The pages.

pub mod ask;
pub mod edit;
pub mod list;
pub mod notebook;
pub mod parts;
pub mod trash;
pub mod usage;
pub mod view;
