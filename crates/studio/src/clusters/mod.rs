//! Clusters, their nodes, their minimums over the week, and previews of settings.

pub mod commands;
pub mod detail;
pub mod list;
pub mod minimum;
pub mod names;
pub mod nodes;
pub mod preview;
pub mod quote;
pub mod typed;
