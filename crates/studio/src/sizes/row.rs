//! A size as every door shows it.

use atelier_domain::compute::Resources;
use atelier_domain::compute::size::Price;

/// A size as pages show it.
#[derive(Clone, Debug)]
pub struct SizeRow {
    pub name: String,
    pub family: String,
    pub site: String,
    pub shape: Resources,
    pub price: Price,
    /// The same in words: `€0.40`.
    pub price_said: String,
    /// What the workspace may still hold; none where there is no limit.
    pub quota: Option<QuotaLeft>,
    /// What the caller may still hold, where it is less; none where there is no limit.
    pub own_quota: Option<QuotaLeft>,
    /// How many such nodes fit on its site right now.
    pub fitting: u64,
}

/// How much of a limit is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaLeft {
    pub used: u64,
    pub limit: u64,
    /// In words: `12 of 48 cores`.
    pub said: String,
}
