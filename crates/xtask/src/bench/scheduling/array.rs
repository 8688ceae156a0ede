//! An array of a million jobs through the durable loop on SQLite, synchronous = full.

use super::super::engine::example;
use super::super::report::Report;
use super::super::report::Wanted::{AtMost, Context};
use crate::failure::Result;
use crate::progress::step;
use crate::workspace::Workspace;

const SUBMITTED_MS: f64 = 100.0;

pub fn measure(workspace: &Workspace, report: &mut Report) -> Result<()> {
    let figures = step("Submitting arrays of a million jobs", || {
        example(workspace, "atelier-engine", "bench_loop", &["1", "1", "array"])
    })?;
    for figure in &figures {
        let count = figure.number("jobs");
        let (what, wanted) = match figure.name() {
            "array" => ("submitted, durable", AtMost(SUBMITTED_MS)),
            _ => ("canceled as a whole, durable", Context),
        };
        report.add(format!("an array of {count} {what}: median"), wanted, figure.number("p50_ms"), "ms");
        report.add(format!("an array of {count} {what}: p99"), wanted, figure.number("p99_ms"), "ms");
    }
    Ok(())
}
