//! What computes, people and jobs cost.

pub mod days;
pub mod live;
pub mod saved;
pub mod spent;
pub mod view;
