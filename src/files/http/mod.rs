//! Streams, downloads and uploads: what is neither a page nor a server function.

pub mod download;
pub mod pieces;
pub mod save;
pub mod streams;
pub mod take;
