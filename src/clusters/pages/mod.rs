//! The pages.

pub mod decisions;
pub mod delete;
pub mod detail;
pub mod list;
pub mod minimum;
pub mod new;
pub mod nodes;
pub mod preview;
pub mod queue;
pub mod settings;
