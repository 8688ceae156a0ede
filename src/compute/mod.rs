//! The page Compute: instances, clusters, attached machines and serverless jobs, a tab each.

#[cfg(feature = "ssr")]
pub mod empty;
#[cfg(feature = "ssr")]
pub mod page;
#[cfg(feature = "ssr")]
pub mod serverless;
