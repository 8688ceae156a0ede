//! The pages.

pub mod confirm;
pub mod list;
pub mod new;
pub mod person;
pub mod role_fields;
pub mod roles;
pub mod row;
pub mod verbs;
