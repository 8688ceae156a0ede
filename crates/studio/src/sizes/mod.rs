//! Sizes: what nodes have and what they cost.

pub mod commands;
pub mod list;
pub mod row;
