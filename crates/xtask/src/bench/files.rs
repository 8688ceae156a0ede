//! `cargo xtask bench files`: the files of the workspace beside what the disk and a plain server of files do
//! in the same run, in turn, on the same disk.

mod list;
mod transfer;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::report::Report;
use super::studio::Studio;
use crate::failure::Result;

/// What can be measured alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// One large file up, beside dd, and down, beside nginx
    Transfer,
    /// A folder with many files
    List,
    /// What a ready environment adds to the start of a job
    Environments,
    /// The way into an instance by SSH, beside OpenSSH's own server
    Ssh,
}

#[derive(Debug, Args)]
pub struct FileOptions {
    /// Print JSON in place of the table
    #[arg(long)]
    pub json: bool,
    /// Measure this binary in place of a fresh build, to compare two versions
    #[arg(long, value_name = "FILE")]
    pub binary: Option<PathBuf>,
    /// Compare with this nginx in place of the one that is installed
    #[arg(long, value_name = "FILE")]
    pub nginx: Option<PathBuf>,
    /// Measure only these, with commas between them
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
}

impl FileOptions {
    /// Whether a part is wanted.
    pub fn has(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

/// What needs nothing but the server itself.
pub fn measure(studio: &Studio, folder: &Path, options: &FileOptions, report: &mut Report) -> Result<()> {
    let (server, _) = studio.start()?;
    let token = studio.token()?;
    if options.has(Part::Transfer) {
        transfer::measure(&server, &token, folder, options.nginx.as_deref(), report)?;
    }
    if options.has(Part::List) {
        let cookie = studio.sign_in(&server)?;
        list::measure(&server, &token, &cookie, folder, report)?;
    }
    server.stop()
}
