//! Why a task stopped, as one text for the person who started it.

use std::path::Path;
use std::{fmt, io};

pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// What did not happen, why, and what to do next.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// For `map_err` on file operations: names the operation and the file.
    pub fn file<'a>(doing: &'a str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + 'a {
        move |error| Self(format!("{doing} {} failed: {error}", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
