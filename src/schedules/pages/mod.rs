//! The pages.

pub mod grid;
pub mod idle;
pub mod instance;
pub mod jobs;
pub mod outlook;
pub mod rules;
pub mod week;
