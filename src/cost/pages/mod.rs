//! The pages.

pub mod budgets;
pub mod cost;
