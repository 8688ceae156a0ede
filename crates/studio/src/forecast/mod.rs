//! When jobs start, and what if.

pub mod etas;
pub mod past;
pub mod what_if;
