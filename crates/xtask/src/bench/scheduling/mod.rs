//! `cargo xtask bench scheduling`: what fair share, backfill, arrays, forecasts and the simulator cost.
//!
//! One module for each figure. The measuring itself is in examples beside the code that it measures; each
//! prints a line of JSON for each figure.

mod array;
mod core;
mod eta;
mod farm;

use super::report::Report;
use crate::failure::Result;
use crate::workspace::Workspace;

pub fn measure(workspace: &Workspace, report: &mut Report) -> Result<()> {
    core::measure(workspace, report)?;
    array::measure(workspace, report)?;
    farm::measure(workspace, report)?;
    eta::measure(workspace, report)
}
