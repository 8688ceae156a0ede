//! The core with fair share and backfill on, under a million waiting jobs of a thousand people.

use super::super::engine::example;
use super::super::report::Report;
use super::super::report::Wanted::{AtLeast, Context};
use crate::failure::Result;
use crate::progress::step;
use crate::workspace::Workspace;

const INPUTS_PER_SECOND: f64 = 50_000.0;

pub fn measure(workspace: &Workspace, report: &mut Report) -> Result<()> {
    let figures = step("Measuring the core with fair share and backfill", || {
        example(workspace, "atelier-domain", "bench_core", &["scheduling"])
    })?;
    for figure in figures.iter().filter(|figure| figure.name() == "core") {
        let (queued, nodes, people) = (figure.number("queued"), figure.number("nodes"), figure.number("people"));
        let name = format!("fair share and backfill, {queued} queued jobs of {people} people, {nodes} nodes: inputs");
        report.add(name, AtLeast(INPUTS_PER_SECOND), figure.number("inputs_per_second"), "/s");
        report.add("fair share and backfill: resident memory then", Context, figure.number("resident_mb"), "MB");
    }
    Ok(())
}
