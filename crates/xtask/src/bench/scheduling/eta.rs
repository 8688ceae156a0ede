//! Forecasts: how long they take, and what they cost the loop.

use crate::bench::engine::example;
use crate::bench::report::Report;
use crate::bench::report::Wanted::{AtMost, Context};
use crate::failure::Result;
use crate::progress::step;
use crate::workspace::Workspace;

pub fn measure(workspace: &Workspace, report: &mut Report) -> Result<()> {
    let figures =
        step("Forecasting with 2,000 queued jobs", || example(workspace, "atelier-simulate", "bench_eta", &[]))?;
    for figures in figures {
        let queued = figures.number("queued");
        report.add(
            format!("ETA for a page of 50 jobs with {queued} queued"),
            AtMost(200.0),
            figures.number("page_ms"),
            "ms",
        );
        report.add(format!("ETA for all of {queued} queued"), Context, figures.number("all_ms"), "ms");
        report.add("ETA: the loop stands still for its excerpt", Context, figures.number("excerpt_ms"), "ms");
        report.add(
            "ETA asked for all the time: the loop is slower by",
            AtMost(5.0),
            figures.number("slower_percent"),
            "%",
        );
    }
    Ok(())
}
