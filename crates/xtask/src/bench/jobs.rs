//! `cargo xtask bench jobs`: real jobs on a real node of this machine, over the API, as people and scripts
//! use it.
//!
//! The job is `/bin/true`: what is measured is everything around it. Every job is durable and has a record of
//! its own.

use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::load::{milliseconds, now, pause, percentile};
use super::report::Report;
use super::report::Wanted::{AtLeast, AtMost, Context};
use super::running::Running;
use super::spent::{Spent, agents};
use super::studio::Studio;
use super::{Program, engine, log_lines, peers, spawn};
use crate::bench::http::{self, Connection};
use crate::failure::{Failure, Result};
use crate::progress::step;
use crate::workspace::Workspace;

/// So many jobs are one measurement.
const ARRAY: u64 = 10_000;
const SINGLES: usize = 6_000;
const SANDBOXED: u64 = 1_000;
const ONE_BY_ONE: usize = 300;
const SUBMITTERS: usize = 16;
const COLD_STARTS: usize = 10;
const LOG_MEGABYTES: usize = 500;
/// How long processes are started without any server, before the array and after it.
const BARE: Duration = Duration::from_secs(2);
/// Idle means that nothing ran for some seconds.
const IDLE: Duration = Duration::from_secs(4);

/// A client of the API with one connection.
pub(super) struct Api {
    connection: Connection,
    port: u16,
    token: String,
}

impl Api {
    pub(super) fn open(port: u16, token: &str) -> Result<Self> {
        let connection = Connection::open(port).map_err(|error| Failure::new(format!("connecting failed: {error}")))?;
        Ok(Self { connection, port, token: format!("Bearer {token}") })
    }

    pub(super) fn ask(&mut self, method: &str, path: &str, body: &str) -> Result<Value> {
        let headers = [("authorization", self.token.as_str()), ("content-type", "application/json")];
        let request = http::request(method, &format!("/api/v1{path}"), self.port, &headers, body);
        let answer = self.connection.send(&request);
        let answer = answer.map_err(|error| Failure::new(format!("{method} {path} failed: {error}")))?;
        let text = answer.text();
        if !(200..300).contains(&answer.status) {
            return Err(Failure::new(format!("{method} {path} was answered with {}: {text}", answer.status)));
        }
        if text.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_str(&text).map_err(|error| Failure::new(format!("{method} {path}: {error}: {text}")))
    }

    pub(super) fn submit(&mut self, job: &Value) -> Result<String> {
        let made = self.ask("POST", "/jobs", &job.to_string())?;
        made["id"].as_str().map(str::to_owned).ok_or_else(|| Failure::new(format!("no id in {made}")))
    }

    /// Waits until a job is over and gives it.
    pub(super) fn wait(&mut self, id: &str) -> Result<Value> {
        loop {
            let job = self.ask("GET", &format!("/jobs/{id}?wait=30s"), "")?;
            if matches!(job["state"].as_str(), Some("completed" | "failed" | "canceled")) {
                return Ok(job);
            }
        }
    }
}

pub fn measure(program: &Program<'_>, report: &mut Report) -> Result<peers::Ours> {
    let studio = program.studio()?;
    let measured = all(&studio, program, report);
    if measured.is_err() {
        // Nodes outlive their server. Why it failed says more than whether they could be stopped.
        let _ = studio.stop_nodes();
    }
    measured
}

fn all(studio: &Studio, program: &Program<'_>, report: &mut Report) -> Result<peers::Ours> {
    let (folder, turn) = (program.folder, program.turn);
    let (server, _) = studio.start()?;
    let token = studio.token()?;
    let mut api = Api::open(server.port(), &token)?;
    let two = json!({"name": "two-slots", "size": "local-2", "min": 1, "max": 1, "idle_seconds": 3600});
    api.ask("POST", "/clusters", &two.to_string())?;
    let job = |more: Value| {
        let mut job = json!({"command": ["/bin/true"], "cluster": "two-slots", "cores": 1, "memory_mib": 256});
        if let (Some(job), Some(more)) = (job.as_object_mut(), more.as_object()) {
            job.extend(more.clone());
        }
        job
    };
    step("Starting the node", || {
        let first = api.submit(&job(json!({})))?;
        expect_completed(&api.wait(&first)?)
    })?;

    pause(IDLE);
    report.add("an idle agent's resident memory", AtMost(10.0), agent_memory(folder)?, "MB");
    let before = step("Starting processes without a server", || spawn::limit(BARE))?;
    let spent = Spent::so_far(&server, folder)?;
    let array = step(&format!("Running an array of {ARRAY} jobs"), || {
        run_array(&mut api, &job(json!({"array": ARRAY})), ARRAY)
    })?;
    report.add("array of /bin/true on two slots", AtLeast(1_500.0), array, "/s");
    spent.report(&server, folder, ARRAY, report)?;
    let after = step("Starting processes without a server", || spawn::limit(BARE))?;
    let limit = f64::midpoint(before, after);
    report.add("posix_spawn of /bin/true by two threads", Context, limit, "/s");
    report.add("array against posix_spawn", AtLeast(0.7), array / limit, "×");
    turn.pass()?;
    let singles = step(&format!("Submitting {SINGLES} jobs one by one over {SUBMITTERS} connections"), || {
        run_singles(server.port(), &token, &mut api, &job(json!({})))
    })?;
    report.add("single submissions of /bin/true over HTTP", AtLeast(900.0), singles, "/s");
    turn.pass()?;
    let spent = Spent::so_far(&server, folder)?;
    let fresh = step(&format!("Running {SANDBOXED} jobs in sandboxes of their own"), || {
        run_array(&mut api, &job(json!({"array": SANDBOXED, "own_sandbox": true})), SANDBOXED)
    })?;
    report.add("array of /bin/true, each in a fresh sandbox", AtLeast(200.0), fresh, "/s");
    spent.report(&server, folder, SANDBOXED, report)?;
    turn.pass()?;

    let mut took = step("Running jobs one at a time", || {
        let mut took = Vec::with_capacity(ONE_BY_ONE);
        for _ in 0..ONE_BY_ONE {
            let began = now();
            let id = api.submit(&job(json!({})))?;
            expect_completed(&api.wait(&id)?)?;
            took.push(began.elapsed());
        }
        Ok(took)
    })?;
    took.sort_unstable();
    let one = milliseconds(percentile(&took, 0.5));
    report.add("one at a time, submitted over HTTP to finished: median", AtMost(5.0), one, "ms");
    report.add("one at a time: p99", Context, milliseconds(percentile(&took, 0.99)), "ms");
    turn.pass()?;

    let mut cold = step("Going from zero nodes to a running job", || cold_starts(&mut api))?;
    cold.sort_unstable();
    report.add("zero nodes to a running job: median", AtMost(300.0), milliseconds(percentile(&cold, 0.5)), "ms");
    report.add("zero nodes to a running job: worst", AtMost(300.0), milliseconds(percentile(&cold, 1.0)), "ms");
    turn.pass()?;

    let rate = step(&format!("Printing {LOG_MEGABYTES} MB"), || print_much(&mut api, &server, &token))?;
    report.add("log of one job, kept whole", AtLeast(50.0), rate, "MB/s");
    turn.pass()?;

    let late = step("Following a log", || {
        let script = json!({"script": log_lines::SCRIPT, "cluster": "two-slots", "cores": 1, "memory_mib": 256});
        let id = api.submit(&script)?;
        log_lines::follow(server.port(), &token, &id)
    })?;
    report.add("a line of a log to who follows it: median", AtMost(100.0), milliseconds(percentile(&late, 0.5)), "ms");
    report.add("a line of a log to who follows it: worst", AtMost(100.0), milliseconds(percentile(&late, 1.0)), "ms");

    pause(IDLE);
    report.add("the agent's resident memory after all that", Context, agent_memory(folder)?, "MB");
    server.stop()?;
    studio.stop_nodes()?;
    Ok(peers::Ours { array, singles, one_ms: one })
}

/// Agents that only exist in this tree's sources, not in its program.
pub fn measure_agents(workspace: &Workspace, report: &mut Report) -> Result<()> {
    let agents = step("Leaving a thousand simulated agents alone", || {
        engine::example(workspace, "atelier-engine", "bench_agents", &["1000", "20"])
    })?;
    for figures in agents {
        let name = format!("{} idle agents: ", figures.number("agents"));
        report.add(format!("{name}the server's resident memory"), AtMost(100.0), figures.number("resident_mb"), "MB");
        report.add(format!("{name}of a core"), AtMost(5.0), figures.number("percent_of_a_core"), "%");
    }
    Ok(())
}

pub(super) fn expect_completed(job: &Value) -> Result<()> {
    if job["state"] == "completed" { Ok(()) } else { Err(Failure::new(format!("a job was not completed: {job}"))) }
}

/// Submits an array and waits for the last of it.
fn run_array(api: &mut Api, job: &Value, count: u64) -> Result<f64> {
    let began = now();
    let first = api.submit(job)?;
    let number: u64 =
        first.trim_start_matches("job-").parse().map_err(|_| Failure::new(format!("a strange id {first}")))?;
    // Jobs start in order, so the last ones are over last; a few may overtake each other.
    for number in number + count.saturating_sub(8)..number + count {
        expect_completed(&api.wait(&format!("job-{number}"))?)?;
    }
    Ok(count as f64 / began.elapsed().as_secs_f64())
}

/// Many connections submit one job after another; the time ends when all are over.
fn run_singles(port: u16, token: &str, api: &mut Api, job: &Value) -> Result<f64> {
    let began = now();
    let each = SINGLES / SUBMITTERS;
    let last = thread::scope(|scope| {
        let submit = || -> Result<Vec<String>> {
            let mut api = Api::open(port, token)?;
            (0..each).map(|_| api.submit(job)).collect()
        };
        let submitters: Vec<_> = (0..SUBMITTERS).map(|_| scope.spawn(submit)).collect();
        let mut ids = Vec::new();
        for submitter in submitters {
            ids.extend(submitter.join().map_err(|_| Failure::new("a submitter panicked"))??);
        }
        Ok::<_, Failure>(ids)
    })?;
    for id in last.iter().rev().take(64) {
        expect_completed(&api.wait(id)?)?;
    }
    let took = began.elapsed();
    // All of them, not only the last.
    for id in &last {
        expect_completed(&api.wait(id)?)?;
    }
    Ok(last.len() as f64 / took.as_secs_f64())
}

/// From the submission to a cluster without nodes until the job's own clock says that it runs.
fn cold_starts(api: &mut Api) -> Result<Vec<Duration>> {
    let cold = json!({"name": "from-zero", "size": "local-1", "min": 0, "max": 1, "idle_seconds": 0});
    api.ask("POST", "/clusters", &cold.to_string())?;
    let mut took = Vec::new();
    for _ in 0..COLD_STARTS {
        let began = now();
        let id = api.submit(&json!({"command": ["/bin/true"], "cluster": "from-zero"}))?;
        // Until it is over: a little more than until it runs.
        expect_completed(&api.wait(&id)?)?;
        took.push(began.elapsed());
        loop {
            let nodes = api.ask("GET", "/clusters/from-zero/nodes", "")?;
            let count = nodes["nodes"].as_array().or(nodes["items"].as_array()).map_or(0, Vec::len);
            if count == 0 {
                break;
            }
            pause(Duration::from_millis(20));
        }
    }
    api.ask("DELETE", "/clusters/from-zero", "")?;
    Ok(took)
}

/// One job prints much; its log must have every byte.
fn print_much(api: &mut Api, server: &Running, token: &str) -> Result<f64> {
    let began = now();
    let script = format!("head -c {LOG_MEGABYTES}000000 /dev/zero | tr '\\0' 'x'");
    let id = api.submit(&json!({"script": script, "cluster": "two-slots", "cores": 1, "memory_mib": 256}))?;
    expect_completed(&api.wait(&id)?)?;
    let took = began.elapsed();
    let headers = [("authorization", format!("Bearer {token}"))];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    // The last byte is there and nothing comes after it.
    let from = LOG_MEGABYTES * 1_000_000 - 10;
    let answer = server.ask("GET", &format!("/api/v1/jobs/{id}/log?from={from}"), &headers, "")?;
    if answer.text() != "x".repeat(10) {
        return Err(Failure::new(format!("the log does not end as it should: {:?}", answer.text())));
    }
    Ok(LOG_MEGABYTES as f64 / took.as_secs_f64())
}

/// The resident memory of the largest agent that runs from that folder, in MB.
fn agent_memory(folder: &Path) -> Result<f64> {
    let mut most = None;
    for pid in agents(folder)? {
        let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) else { continue };
        let kilobytes = super::running::parse_kilobytes(&status, "VmRSS").unwrap_or_default();
        most = Some(most.unwrap_or(0.0_f64).max(kilobytes * 1_024.0 / 1e6));
    }
    most.ok_or_else(|| Failure::new("no agent runs"))
}
