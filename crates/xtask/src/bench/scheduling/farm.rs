//! The farm's day in the simulator.

use crate::bench::engine::example;
use crate::bench::report::Report;
use crate::bench::report::Wanted::{AtLeast, AtMost, Context};
use crate::failure::Result;
use crate::progress::step;
use crate::workspace::Workspace;

pub fn measure(workspace: &Workspace, report: &mut Report) -> Result<()> {
    let figures = step("Simulating the farm's day", || example(workspace, "atelier-simulate", "bench_farm", &[]))?;
    for figures in figures {
        report.add("the farm’s day: jobs", AtLeast(1_000_000.0), figures.number("jobs"), "");
        report.add("the farm’s day: time", AtMost(60.0), figures.number("seconds"), "s");
        report.add("the farm’s day: memory at its peak", AtMost(2_048.0), figures.number("peak_mb"), "MB");
        report.add("the farm’s day: events", Context, figures.number("events_per_second"), "/s");
    }
    Ok(())
}
