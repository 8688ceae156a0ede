//! Computes: clusters, sizes, serverless jobs and the engine behind them, as pages show and change them.

pub mod clusters;
#[cfg(feature = "ssr")]
mod counts;
pub mod engines;
pub mod instances;
#[cfg(feature = "ssr")]
pub mod new_instance;
#[cfg(feature = "ssr")]
mod quote;
pub mod schedules;
#[cfg(feature = "ssr")]
mod serverless;
pub mod sharing;
pub mod sizes;
pub mod transfer;
#[cfg(feature = "ssr")]
pub(crate) mod typed;

#[cfg(feature = "ssr")]
pub use counts::{ComputeCounts, compute_counts};
#[cfg(feature = "ssr")]
pub use quote::{Quote, Quoted, quote_new_cluster, quote_scaling};
#[cfg(feature = "ssr")]
pub use serverless::{ServerlessJob, ServerlessPage, serverless};
#[cfg(feature = "ssr")]
pub use sizes::sizes;
