//! The pages.

pub mod attempts;
pub mod chart;
pub mod confirm;
pub mod detail;
pub mod eta;
pub mod fields;
pub mod list;
pub mod log;
pub mod new;
pub mod outputs;
pub mod row;
pub mod side;
pub mod timeline;
pub mod turn;
pub mod what_if;
pub mod words;
