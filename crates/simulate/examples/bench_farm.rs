//! How long the farm's day takes to simulate: one line of JSON.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::ops::ControlFlow;
use std::time::Instant;

use atelier_simulate::{Scenario, simulate};

const FARM: &str = include_str!("../../../scenarios/farm.toml");

fn main() -> Result<(), String> {
    let start = Instant::now();
    let scenario = Scenario::from_toml(FARM).map_err(|refused| refused.to_string())?;
    let mut events = 0;
    let mut hear = |progress: atelier_simulate::Progress| {
        events = progress.events;
        ControlFlow::Continue(())
    };
    let report = simulate(&scenario, &mut hear).map_err(|stopped| stopped.to_string())?;
    let seconds = start.elapsed().as_secs_f64();
    let jobs = report.policies.first().map_or(0, |policy| policy.jobs.submitted);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    let (peak, per_second) = (peak.unwrap_or(f64::NAN) / 1_024.0, events as f64 / seconds);
    println!(
        "{}",
        serde_json::json!({
            "figure": "farm", "jobs": jobs, "seconds": seconds, "peak_mb": peak, "events_per_second": per_second,
        })
    );
    Ok(())
}
