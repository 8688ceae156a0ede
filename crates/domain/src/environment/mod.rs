//! Environments: named lists of Python packages, in versions that never change.
//!
//! A [`Recipe`] is what somebody wrote, read line by line; two that mean the same become the same
//! environment, which is built once and found by its [`EnvironmentHash`]. A job names a version and is
//! [`Pinned`] to it when it is submitted.

mod conda;
mod diff;
mod pinned;
mod recipe;
mod requirements;

pub use diff::{Change, Packages, PackagesDiff};
pub use pinned::{EnvironmentHash, EnvironmentRef, Pinned};
pub use recipe::{Format, MAX_PACKAGES, MAX_RECIPE, Recipe, RecipeLine};
pub use requirements::{MAX_LINE, MAX_LINES, Requirements, normalised};

/// The most versions of one environment.
pub const MAX_VERSIONS: u32 = 1_000;
/// The longest note of a version.
pub const MAX_NOTE: usize = 200;
