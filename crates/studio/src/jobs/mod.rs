//! Jobs: submitted, queued, looked at, ended.

pub mod actions;
pub mod again;
pub mod detail;
pub mod form;
pub mod list;
pub mod log;
pub mod metrics;
pub mod outputs;
pub mod quote;
pub mod retention;
pub mod serverless;
pub mod submit;
pub mod turn;
pub mod typed;
pub mod view;
