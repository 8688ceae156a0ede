//! The product with real nodes: the binary as an operator runs it, jobs as people submit them.
#![cfg(all(feature = "ssr", unix))]
#![allow(missing_docs, reason = "tests")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use atelier_testing::http::{Connection, request};
use atelier_testing::{free_port, wait_until};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(60);

fn atelier() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("ATELIER_")) {
        command.env_remove(name);
    }
    // It would be built from the network in each of them.
    command.env("ATELIER_ENVIRONMENT", "off");
    command
}

/// A server on data of its own. What it leaves behind is ended with it.
struct Studio {
    data: tempfile::TempDir,
    child: Option<Child>,
    port: u16,
    token: String,
    flags: &'static [&'static str],
}

impl Studio {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(flags: &'static [&'static str]) -> Self {
        let data = tempfile::tempdir().expect("a folder");
        std::fs::write(data.path().join("password"), "kettle-orbit-violin").expect("written");
        let mut studio = Self { data, child: None, port: 0, token: String::new(), flags };
        studio.serve();
        let made = atelier()
            .args(["token", "create", "--user", "ines@example.org", "--data"])
            .arg(studio.data.path())
            .output()
            .expect("runs");
        let text = String::from_utf8_lossy(&made.stdout).into_owned();
        studio.token = text.split_whitespace().find(|word| word.starts_with("atl_")).expect("a token").to_owned();
        wait_until("there are sizes", PATIENCE, || {
            let sizes = studio.get("/sizes");
            sizes["sizes"].as_array().filter(|sizes| !sizes.is_empty()).map(|_| ())
        });
        studio
    }

    /// Starts the server, again.
    fn serve(&mut self) {
        self.port = free_port();
        let child = atelier()
            .args(["serve", "--listen", &format!("127.0.0.1:{}", self.port), "--data"])
            .arg(self.data.path())
            .args(["--local-overcommit", "8", "--admin-email", "ines@example.org", "--admin-password-file"])
            .arg(self.data.path().join("password"))
            .args(self.flags)
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        self.child = Some(child);
        let ask = request("GET", "/readyz", self.port, &[], "");
        wait_until("the server is ready", PATIENCE, || {
            let answer = Connection::open(self.port).and_then(|mut connection| connection.send(&ask)).ok()?;
            (answer.status == 200).then_some(())
        });
    }

    /// As a power cut would end it.
    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it runs");
            child.wait().expect("ends");
        }
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let token = format!("Bearer {}", self.token);
        let headers = [("authorization", token.as_str()), ("content-type", "application/json")];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let ask = request(method, &format!("/api/v1{path}"), self.port, &headers, &body);
        let answer = Connection::open(self.port).and_then(|mut connection| connection.send(&ask)).expect("answers");
        (answer.status, serde_json::from_str(&answer.text()).unwrap_or(Value::Null))
    }

    fn get(&self, path: &str) -> Value {
        let (status, value) = self.send("GET", path, &Value::Null);
        assert!(status < 300, "{path}: {status} {value}");
        value
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let (status, value) = self.send("POST", path, body);
        assert!(status < 300, "{path}: {status} {value}");
        value
    }

    fn over(&self, job: &str) -> Value {
        wait_until(&format!("{job} is over"), PATIENCE, || {
            Some(self.get(&format!("/jobs/{job}?wait=10s"))).filter(|job| job["is_over"] == true)
        })
    }

    fn log(&self, job: &str) -> String {
        let token = format!("Bearer {}", self.token);
        let path = format!("/api/v1/jobs/{job}/log");
        let ask = request("GET", &path, self.port, &[("authorization", token.as_str())], "");
        let answer = Connection::open(self.port).and_then(|mut connection| connection.send(&ask)).expect("answers");
        assert_eq!(answer.status, 200);
        answer.text()
    }

    fn shared(&self) -> std::path::PathBuf {
        self.data.path().join("files/shared")
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = atelier().args(["stop-all", "--data"]).arg(self.data.path()).stdout(Stdio::null()).status();
    }
}

fn nodes_alive(data: &Path) -> usize {
    let entries = std::fs::read_dir(data.join("nodes")).into_iter().flatten().flatten();
    entries
        .filter(|entry| {
            let lock = std::fs::File::open(entry.path().join("lock"));
            lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock)))
        })
        .count()
}

#[test]
fn two_hundred_jobs_survive_the_server() {
    let mut studio = Studio::start();
    studio.post("/clusters", &json!({"name": "pool", "size": "local-1", "min": 0, "max": 2, "idle_seconds": 600}));
    let script = "echo start $ATELIER_ARRAY_INDEX\n\
                  until [ -e $ATELIER_SHARED_DIR/go ]; do sleep 0.2; done\n\
                  echo end $ATELIER_ARRAY_INDEX";
    let made = studio
        .post("/jobs", &json!({"script": script, "cluster": "pool", "cores": 0.01, "memory_mib": 8, "array": 200}));
    assert_eq!((made["first"].as_str(), made["count"].as_u64()), (Some("job-1"), Some(200)));
    wait_until("all run", PATIENCE, || {
        let nodes = studio.get("/clusters/pool");
        let running = studio.get("/jobs?state=running&limit=200");
        let count = running["jobs"].as_array().map_or(0, Vec::len);
        (count == 200).then_some(nodes)
    });
    studio.kill();
    assert!(nodes_alive(studio.data.path()) > 0, "nodes outlive the server");
    std::fs::write(studio.shared().join("go"), "").expect("written");
    studio.serve();
    for number in 1..=200 {
        let name = format!("job-{number}");
        let job = studio.over(&name);
        assert_eq!(job["state"], "completed", "{job}");
        assert_eq!(job["attempt"], 1, "{job}");
        let index = number - 1;
        assert_eq!(studio.log(&name), format!("start {index}\nend {index}\n"));
    }
}

#[test]
fn nodes_outlive_a_stopped_server_until_stop_all() {
    let mut studio = Studio::start();
    studio.post("/clusters", &json!({"name": "pool", "size": "local-half", "min": 1, "max": 1, "idle_seconds": 600}));
    wait_until("the node is up", PATIENCE, || {
        let nodes = studio.get("/clusters/pool");
        (nodes["nodes"]["idle"] == 1).then_some(())
    });
    let refused = atelier().args(["stop-all", "--data"]).arg(studio.data.path()).output().expect("runs");
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && words.contains("stop it first"), "{words}");
    atelier_testing::terminate(studio.child.as_ref().expect("runs").id()).expect("it runs");
    studio.child.take().expect("runs").wait().expect("ends");
    assert_eq!(nodes_alive(studio.data.path()), 1);
    let ended = atelier().args(["stop-all", "--data"]).arg(studio.data.path()).output().expect("runs");
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "node-1 has ended.\n");
    assert_eq!(nodes_alive(studio.data.path()), 0);
    let again = atelier().args(["stop-all", "--data"]).arg(studio.data.path()).output().expect("runs");
    assert_eq!(String::from_utf8_lossy(&again.stdout), "No node runs on this machine.\n");
}

#[test]
fn impossible_and_unknown_things_are_said_at_once() {
    let studio = Studio::start();
    studio.post("/clusters", &json!({"name": "pool", "size": "local-half", "min": 0, "max": 1, "idle_seconds": 600}));
    let (status, problem) = studio.send("POST", "/jobs", &json!({"command": ["true"], "cluster": "pool", "cores": 64}));
    assert_eq!(status, 409, "{problem}");
    let words = problem["detail"].as_str().unwrap_or_default();
    assert!(words.contains("64 cores") && words.contains("0.5 cores"), "{words}");
    let made = studio.post("/jobs", &json!({"command": ["no-such-program"], "cluster": "pool"}));
    let job = studio.over(made["id"].as_str().expect("an id"));
    assert_eq!(job["state"], "failed");
    let phrase = job["verdict"]["phrase"].as_str().unwrap_or_default();
    assert!(phrase.contains("“no-such-program” was not found"), "{phrase}");
    let (status, problem) = studio.send(
        "POST",
        "/jobs",
        &json!({"command": ["true"], "cluster": "pool", "files": [{"path": "../x", "blob": "00", "size": 1}]}),
    );
    assert_eq!(status, 422, "{problem}");
}

/// Everything in a folder, however deep.
fn everything(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        found.push(entry.path());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            everything(&entry.path(), found);
        }
    }
}

#[test]
fn without_bubblewrap_people_reach_their_own_folders_and_nothing_else_of_the_servers() {
    let is_root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").expect("is there")) == 0;
    if !is_root {
        println!("skipped: needs root");
        return;
    }
    let studio = Studio::start_with(&["--local-isolation", "users"]);
    let data = studio.data.path();
    let config = data.join("atelier.toml");
    std::fs::write(&config, "metrics_token = \"a-token-of-some-length\"").expect("written");
    std::fs::set_permissions(&config, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("closed");
    studio.post("/clusters", &json!({"name": "pool", "size": "local-half", "min": 0, "max": 1, "idle_seconds": 600}));
    let first =
        studio.post("/jobs", &json!({"script": "echo a secret; echo x > $ATELIER_OUTPUT_DIR/x", "cluster": "pool"}));
    let first = first["id"].as_str().expect("an id").to_owned();
    assert_eq!(studio.over(&first)["state"], "completed");
    assert_eq!(studio.log(&first), "a secret\n");

    let mut all = vec![data.to_owned()];
    everything(data, &mut all);
    let lines: Vec<String> = all.iter().map(|path| path.display().to_string()).collect();
    for name in ["atelier.db", "atelier.toml", "engine.lock", "agents.sock", "agent.json", "secret", ".log"] {
        assert!(lines.iter().any(|line| line.ends_with(name)), "{name} is looked for");
    }
    std::fs::write(studio.shared().join("list"), lines.join("\n") + "\n").expect("written");
    let look = "id -u
        while read -r path; do
            if [ -d \"$path\" ]; then ls \"$path\" >/dev/null 2>&1 && echo \"$path\"; else head -c 1 \"$path\" >/dev/null 2>&1 && echo \"$path\"; fi
            [ -w \"$path\" ] && echo \"$path\"
        done < $ATELIER_SHARED_DIR/list
        echo $HOME; pwd";
    let second = studio.post("/jobs", &json!({"script": look, "cluster": "pool"}));
    let second = second["id"].as_str().expect("an id").to_owned();
    assert_eq!(studio.over(&second)["state"], "completed");
    let text = studio.log(&second);
    let mut found: Vec<&str> = text.lines().collect();
    assert!(found.remove(0).parse::<u32>().expect("a user") >= 200_000, "{text}");
    let own_jobs = Path::new(found.pop().expect("a folder")).parent().expect("of a person").to_owned();
    let home = Path::new(found.pop().expect("a home")).to_owned();
    assert!(home.starts_with(data.join("files/homes")) && own_jobs.starts_with(data.join("jobs")), "{text}");
    let of_others = |path: &&Path| {
        let own = [&home, &own_jobs, &studio.shared(), &data.join("bin")];
        !own.iter().any(|own| path.starts_with(own))
    };
    let leaks: Vec<&Path> = found.iter().map(|path| Path::new(*path)).filter(of_others).collect();
    assert_eq!(leaks, Vec::<&Path>::new(), "can be read or written by a job");
    assert!(found.iter().any(|path| path.ends_with("outputs/x")), "its own outputs are: {text}");
}
