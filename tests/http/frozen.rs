//! A node whose agent does not answer.

use std::path::Path;

use atelier_testing::http::ask;
use atelier_testing::{PATIENCE, wait_until};
use serde_json::json;

use crate::nodes::Studio;

/// Longer than a node may be silent before anybody says so.
const LONG: std::time::Duration = std::time::Duration::from_secs(90);

/// The process that runs with the configuration of that node.
fn agent(data: &Path, node: &str) -> rustix::process::Pid {
    let config = data.join("nodes").join(node).join("agent.json").display().to_string();
    let pids = std::fs::read_dir("/proc").expect("processes").flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse::<i32>().ok()?;
        let command = std::fs::read(entry.path().join("cmdline")).ok()?;
        String::from_utf8_lossy(&command).split('\0').any(|word| word == config).then_some(pid)
    });
    // The oldest: what it starts may have its words.
    rustix::process::Pid::from_raw(pids.min().expect("the agent runs")).expect("a process")
}

/// However the test ends, the agent goes on.
struct Frozen(rustix::process::Pid);

impl Frozen {
    fn new(agent: rustix::process::Pid) -> Self {
        rustix::process::kill_process(agent, rustix::process::Signal::STOP).expect("stopped");
        Self(agent)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(self.0, rustix::process::Signal::CONT);
    }
}

#[test]
fn a_job_on_a_node_that_does_not_answer_says_so_until_it_does() {
    let studio = Studio::start();
    studio.post("/clusters", &json!({"name": "pool", "size": "local-1", "min": 0, "max": 1, "idle_seconds": 600}));
    let job = json!({"command": ["sleep", "600"], "cluster": "pool", "cores": 0.1, "memory_mib": 32});
    let made = studio.post("/jobs", &job);
    let path = format!("/jobs/{}", made["id"].as_str().expect("an id"));
    let state = |wanted: &str| {
        wait_until(&format!("the job is {wanted}"), LONG, || {
            Some(studio.get(&path)).filter(|job| job["state"] == wanted)
        })
    };
    state("running");
    let frozen = Frozen::new(agent(studio.data.path(), "node-1"));
    let silent = state("not-responding");
    assert_eq!(silent["reason"]["code"], "node-silent", "{silent}");
    let sentence = silent["reason"]["sentence"].as_str().unwrap_or_default();
    assert!(sentence.contains("node-1 hasn’t been heard from for"), "{silent}");
    assert!(silent["reason"]["next_step"].is_string(), "{silent}");
    let listed = studio.get("/jobs?state=not-responding");
    assert_eq!(listed["jobs"].as_array().map(Vec::len), Some(1), "{listed}");
    let nodes = studio.get("/clusters/pool/nodes");
    assert_eq!(nodes["nodes"][0]["reason"]["code"], "node-silent", "{nodes}");
    let said = crate::cli::atelier()
        .args(["jobs"])
        .env("ATELIER_URL", format!("http://127.0.0.1:{}", studio.port))
        .env("ATELIER_TOKEN", &studio.token)
        .output()
        .expect("runs");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("not-responding"), "{said}");
    drop(frozen);
    let back = state("running");
    assert!(back["reason"].is_null(), "{back}");
    let answer = ask("GET", "/healthz", studio.port, &[], "").expect("answers");
    assert_eq!(answer.status, 200);
    let canceled = studio.send("POST", &format!("{path}/cancel"), &json!({}));
    assert!(canceled.0 < 300, "{}", canceled.1);
    wait_until("it is over", PATIENCE, || Some(studio.get(&path)).filter(|job| job["is_over"] == true));
}
