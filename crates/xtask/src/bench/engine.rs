//! `cargo xtask bench engine`: how fast the core decides, the loop makes it durable, and a killed engine
//! comes back.
//!
//! The measuring itself is in examples beside the code that it measures; each prints a line of JSON for each
//! figure.

use std::env;

use serde_json::Value;

use super::report::Report;
use super::report::Wanted::{AtLeast, AtMost, Context};
use crate::failure::{Failure, Result};
use crate::process;
use crate::progress::step;
use crate::workspace::Workspace;

/// How often the real loop is killed on each database.
const KILLS: u32 = 200;

pub fn measure(workspace: &Workspace, seconds: u32, has_crashes: bool, report: &mut Report) -> Result<()> {
    let core = step("Measuring the core", || example(workspace, "atelier-domain", "bench_core", &[]))?;
    for figures in core {
        match figures.name() {
            "core" => core_figures(&figures, report),
            "schedules" => schedule_figures(&figures, report),
            other => return Err(Failure::new(format!("bench_core printed the unknown figure {other:?}"))),
        }
    }
    let durable = step("Measuring the durable loop on SQLite, synchronous = full", || {
        example(workspace, "atelier-engine", "bench_loop", &[&seconds.to_string(), "64"])
    })?;
    for figures in durable {
        match figures.name() {
            "submissions" => {
                report.add(
                    "durable submissions from 64 callers",
                    AtLeast(10_000.0),
                    figures.number("per_second"),
                    "/s",
                );
                report.add("durable submissions from 64 callers: p99", AtMost(50.0), figures.number("p99_ms"), "ms");
                report.add("durable submissions: inputs in a batch", Context, figures.number("per_batch"), "");
            }
            "lone_submission" => {
                report.add("a lone durable submission: median", AtMost(1.0), figures.number("p50_ms"), "ms");
                report.add("a lone durable submission: p99", AtMost(5.0), figures.number("p99_ms"), "ms");
            }
            "load" => {
                let name = format!("load {} jobs and {} nodes", figures.number("jobs"), figures.number("nodes"));
                report.add(name, AtMost(2.0), figures.number("ms") / 1_000.0, "s");
            }
            other => return Err(Failure::new(format!("bench_loop printed the unknown figure {other:?}"))),
        }
    }
    if has_crashes {
        step(&format!("Killing the loop {KILLS} times on each database"), || crashes(workspace))?;
        report.note(format!(
            "The loop was killed {KILLS} times on SQLite and {KILLS} times on PostgreSQL while commands streamed in: \
             no acknowledged command was lost, none was applied twice."
        ));
    }
    Ok(())
}

fn core_figures(figures: &Figures, report: &mut Report) {
    let (queued, nodes) = (figures.number("queued"), figures.number("nodes"));
    let is_large = queued > 100_000.0;
    let wanted = if is_large { 70_000.0 } else { 200_000.0 };
    let name = format!("core, one thread, {queued} queued jobs, {nodes} nodes: inputs");
    report.add(name, AtLeast(wanted), figures.number("inputs_per_second"), "/s");
    if is_large {
        report.add("core: resident memory then", AtMost(2_048.0), figures.number("resident_mb"), "MB");
    }
}

fn schedule_figures(figures: &Figures, report: &mut Report) {
    let (count, due) = (figures.number("count"), figures.number("due"));
    report.add(format!("{count} schedules: planning all"), Context, figures.number("planned_seconds"), "s");
    report.add(
        format!("{count} schedules: {due} due in the same second"),
        AtMost(1.0),
        figures.number("fired_seconds"),
        "s",
    );
}

fn crashes(workspace: &Workspace) -> Result<()> {
    let mut command = workspace.cargo();
    command.args(["test", "--quiet", "--release", "--package=atelier-engine", "--test=engine", "crash::"]);
    process::run(command.env("ATELIER_CRASH_ROUNDS", KILLS.to_string()))
}

/// Builds an example for speed, runs it, and reads what it prints.
pub fn example(workspace: &Workspace, package: &str, name: &str, arguments: &[&str]) -> Result<Vec<Figures>> {
    let mut command = workspace.cargo();
    command.args(["run", "--quiet", "--release", "--package", package, "--example", name, "--"]).args(arguments);
    if let Some(folder) = env::var_os("ATELIER_BENCH_FOLDER") {
        command.env("ATELIER_BENCH_FOLDER", folder);
    }
    let printed = process::output(&mut command)?;
    let lines = printed.lines().filter(|line| line.starts_with('{'));
    lines
        .map(|line| {
            let value = serde_json::from_str(line);
            value.map(Figures).map_err(|error| Failure::new(format!("{name} printed {line:?}: {error}")))
        })
        .collect()
}

#[derive(Debug)]
pub struct Figures(Value);

impl Figures {
    pub fn name(&self) -> &str {
        self.0["figure"].as_str().unwrap_or_default()
    }

    pub fn number(&self, key: &str) -> f64 {
        self.0[key].as_f64().unwrap_or(f64::NAN)
    }
}
