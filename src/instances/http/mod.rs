//! Streams, downloads and uploads: what is neither a page nor a server function.

pub mod log_streams;
pub mod scripts;
