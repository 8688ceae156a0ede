//! `cargo xtask bench environments`: what an environment that is built already adds to the start of a job.
//!
//! The packages come from an index in this process, so that nothing depends on the network.

use std::time::Duration;

use atelier_testing::index::Index;
use serde_json::{Value, json};

use super::jobs::{Api, expect_completed};
use super::load::{milliseconds, now, pause, percentile};
use super::report::Report;
use super::report::Wanted::{AtMost, Context};
use super::studio::Studio;
use crate::failure::{Failure, Result};
use crate::progress::step;

/// So many jobs of each kind, one at a time and in turns.
const JOBS: usize = 100;
/// A build with an index on this machine takes seconds.
const LONGEST_BUILD: Duration = Duration::from_secs(180);

pub fn measure(studio: &Studio, report: &mut Report) -> Result<()> {
    let index = Index::open(&[("tiny", "answer = 42")]);
    let (server, _) = studio.start_with("auto", &index.variables())?;
    let mut api = Api::open(server.port(), &studio.token()?)?;
    let made = json!({"name": "bench", "recipe": "tiny", "build": true});
    let began = now();
    step("Building an environment", || {
        api.ask("POST", "/environments", &made.to_string())?;
        loop {
            let version = api.ask("GET", "/environments/bench/versions/1", "")?;
            match version["state"].as_str() {
                Some("ready") => return Ok(()),
                Some("failed") => return Err(Failure::new(format!("it could not be built: {}", version["failure"]))),
                _ if began.elapsed() > LONGEST_BUILD => return Err(Failure::new(format!("not built: {version}"))),
                _ => pause(Duration::from_millis(100)),
            }
        }
    })?;
    report.add("a small environment: built, the first time", Context, began.elapsed().as_secs_f64(), "s");
    let cluster = json!({"name": "bench-pool", "size": "local-1", "min": 1, "max": 1, "idle_seconds": 3600});
    api.ask("POST", "/clusters", &cluster.to_string())?;
    let job = |environment: &str, command: &[&str]| {
        json!({
            "command": command, "cluster": "bench-pool", "cores": 1, "memory_mib": 256,
            "python_environment": environment,
        })
    };
    for (what, command) in [("/bin/true", &["/bin/true"][..]), ("python3 -c pass", &["python3", "-c", "pass"][..])] {
        let (without, with) = step(&format!("Running {JOBS} jobs of {what} without and with it"), || {
            in_turns(&mut api, &job("", command), &job("bench", command))
        })?;
        report.add(format!("{what}, one at a time without an environment: median"), Context, without, "ms");
        report.add(format!("{what}, one at a time with a ready one: median"), Context, with, "ms");
        report.add(format!("{what}: a ready environment adds"), AtMost(50.0), (with - without).max(0.0), "ms");
    }
    server.stop()?;
    studio.stop_nodes()
}

/// The medians of both, measured in turns so that whatever else happens happens to both.
fn in_turns(api: &mut Api, without: &Value, with: &Value) -> Result<(f64, f64)> {
    let (mut first, mut second) = (Vec::with_capacity(JOBS), Vec::with_capacity(JOBS));
    for number in 0..=JOBS {
        for (job, took) in [(without, &mut first), (with, &mut second)] {
            let began = now();
            let id = api.submit(job)?;
            expect_completed(&api.wait(&id)?)?;
            // The first of each begins a node.
            if number > 0 {
                took.push(began.elapsed());
            }
        }
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        milliseconds(percentile(times, 0.5))
    };
    Ok((median(&mut first), median(&mut second)))
}
