//! The pages.

pub mod fair_shares;
pub mod quota;
