//! Environments: the base that every instance comes with, and named ones.

pub mod base;
pub mod commands;
pub mod list;
