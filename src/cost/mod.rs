//! Cost and budgets: the ledger by day, compute, person and job, its CSV file, and the same over REST.

#[cfg(feature = "ssr")]
pub mod http;
#[cfg(feature = "ssr")]
pub mod pages;
#[cfg(feature = "ssr")]
pub mod rest;

pub mod functions;
