//! The wizard that makes an instance: what was typed, what is wrong with it, what it costs, and its pages.

pub mod draft;
pub mod judge;
pub mod make;
pub mod page;
pub mod page_applications;
pub mod page_place;
pub mod page_review;
pub mod page_size;
pub mod page_summary;
pub mod post;
pub mod steps;
pub mod summary;
