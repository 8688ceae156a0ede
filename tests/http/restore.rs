//! A database from a backup, put back under the newer data: the binary as an operator runs it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use atelier_testing::{PATIENCE, free_port, wait_until};
use serde_json::{Value, json};

use super::nodes::{Studio, atelier, nodes_alive};

/// Ends the server as an operator does.
fn stop(studio: &mut Studio) {
    let mut child = studio.child.take().expect("runs");
    atelier_testing::terminate(child.id()).expect("it runs");
    child.wait().expect("ends");
}

/// A start that is expected to be refused, or to only do what the word says.
fn start(data: &Path, more: &[&str]) -> Output {
    let address = format!("127.0.0.1:{}", free_port());
    let mut command: Command = atelier();
    command.args(["serve", "--listen", &address, "--data"]).arg(data).args(more).output().expect("runs")
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn copy_database(data: &Path, to: &Path) {
    std::fs::copy(data.join("atelier.db"), to).expect("copied");
}

fn put_back(data: &Path, from: &Path) {
    for left in ["atelier.db-wal", "atelier.db-shm"] {
        let _ = std::fs::remove_file(data.join(left));
    }
    std::fs::copy(from, data.join("atelier.db")).expect("copied");
}

fn quarantine(data: &Path) -> Vec<Value> {
    let listed = atelier().args(["quarantine", "list", "--json", "--data"]).arg(data).output().expect("runs");
    assert!(listed.status.success(), "{}", words(&listed));
    serde_json::from_slice::<Value>(&listed.stdout).expect("JSON")["quarantine"].as_array().expect("a list").clone()
}

fn marks(data: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(data.join("installation.json")).expect("is there")).expect("JSON")
}

fn uid(path: &Path) -> u32 {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).expect("is there").uid()
}

/// The agents whose command line names this data directory.
fn agents(data: &Path) -> usize {
    let needle = data.display().to_string();
    let processes = std::fs::read_dir("/proc").expect("is there").flatten();
    processes
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(" agent --config") && line.contains(&needle))
        .count()
}

fn run_job(studio: &Studio, text: &str) -> String {
    let made = studio.post("/jobs", &json!({"script": format!("echo {text}"), "cluster": "pool"}));
    let job = made["first"].as_str().or(made["id"].as_str()).expect("an id").to_owned();
    assert_eq!(studio.over(&job)["state"], "completed");
    job
}

/// What a lost afternoon leaves: an instance with files, a job with a log, nodes that run.
fn work(studio: &mut Studio) -> (PathBuf, u32) {
    studio.post("/clusters", &json!({"name": "pool", "size": "local-half", "min": 1, "max": 1, "idle_seconds": 600}));
    assert_eq!(run_job(studio, "from the lost afternoon"), "job-1");
    studio.post("/instances", &json!({"name": "desk", "size": "local-half"}));
    wait_until("desk runs", PATIENCE, || {
        Some(studio.get("/instances/desk?wait=5s")).filter(|instance| instance["state"] == "running")
    });
    let home = studio.data.path().join("instances/1/home");
    std::fs::write(home.join("work.txt"), "precious").expect("written");
    let user = uid(&home);
    (home, user)
}

#[test]
fn an_older_database_is_refused_and_taken_with_a_word_without_losing_or_repeating_anything() {
    let mut studio = Studio::start();
    let data = studio.data.path().to_owned();
    stop(&mut studio);
    let backup = data.join("backup.db");
    copy_database(&data, &backup);
    studio.serve();
    let (home, user) = work(&mut studio);
    assert_eq!(nodes_alive(&data), 2);
    stop(&mut studio);
    put_back(&data, &backup);

    let refused = start(&data, &[]);
    let text = words(&refused);
    assert_eq!(refused.status.code(), Some(1), "{text}");
    for part in ["older than the data", "instance-1", "job-1", "node-2", "has none", "--accept-restored-database"] {
        assert!(text.contains(part), "{text} lacks {part}");
    }
    assert_eq!(std::fs::read_to_string(home.join("work.txt")).expect("is there"), "precious", "nothing was changed");
    assert_eq!(agents(&data), 2, "nothing was ended");

    studio.accept();
    assert_eq!((nodes_alive(&data), agents(&data)), (0, 0), "processes that the database doesn't know are ended");
    assert!(!home.exists());
    let held = quarantine(&data);
    let labels: Vec<&str> = held.iter().filter_map(|held| held["label"].as_str()).collect();
    for label in ["instance-1", "job-1", "node-1", "node-2", "files-ines"] {
        assert!(labels.contains(&label), "{labels:?} lacks {label}");
    }
    let name = held.iter().find(|held| held["label"] == "instance-1").expect("is held");
    assert!(name["bytes"].as_u64() >= Some(8) && name["at"].as_i64().is_some(), "{name}");
    let name = name["name"].as_str().expect("a name");
    let kept = data.join("quarantine").join(name).join("content/instances/1/home/work.txt");
    assert_eq!(std::fs::read_to_string(&kept).expect("is there"), "precious");

    // Nobody signed in before, and no id comes back.
    studio.post("/clusters", &json!({"name": "pool", "size": "local-half", "min": 0, "max": 1, "idle_seconds": 600}));
    let job = run_job(&studio, "new");
    assert!(job != "job-1" && studio.log(&job) == "new\n", "{job}: {}", studio.log(&job));
    assert_eq!(studio.send("GET", "/jobs/job-1", &Value::Null).0, 404);
    let nodes: Vec<String> = std::fs::read_dir(data.join("nodes"))
        .expect("is there")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert!(!nodes.iter().any(|node| node == "node-1" || node == "node-2"), "{nodes:?}");
    studio.post("/instances", &json!({"name": "desk", "size": "local-half"}));
    wait_until("desk runs", PATIENCE, || {
        Some(studio.get("/instances/desk?wait=5s")).filter(|instance| instance["state"] == "running")
    });
    assert!(!home.exists(), "another number");
    let now = std::fs::read_dir(data.join("instances")).expect("is there").flatten().next().expect("a folder");
    if user != 0 {
        assert!(uid(&now.path().join("home")) > user, "a user of their own again");
    }

    // An operator gives the files back, and the next start is an ordinary one.
    let restored = atelier()
        .args(["quarantine", "restore", name, "--user", "ines@example.org", "--data"])
        .arg(&data)
        .output()
        .expect("runs");
    assert!(restored.status.success(), "{}", words(&restored));
    let there = studio.shared().join("Users/ines/restored").join(name).join("instances/1/home/work.txt");
    assert_eq!(std::fs::read_to_string(there).expect("is there"), "precious");
    stop(&mut studio);
    studio.serve();
}

#[test]
fn a_killed_server_repeats_no_id_and_its_older_database_is_refused() {
    let mut studio = Studio::start();
    let data = studio.data.path().to_owned();
    stop(&mut studio);
    let backup = data.join("backup.db");
    copy_database(&data, &backup);
    studio.serve();
    studio.post("/clusters", &json!({"name": "pool", "size": "local-half", "min": 0, "max": 1, "idle_seconds": 600}));
    assert_eq!(run_job(&studio, "one"), "job-1");
    // A block is reserved and not used up: the next id is still the next.
    assert!(marks(&data)["reserved"]["jobs"].as_u64() >= Some(1_024));
    studio.kill();
    studio.serve();
    assert_eq!(run_job(&studio, "two"), "job-2");
    wait_until("both jobs are noted", PATIENCE, || (marks(&data)["seen"]["jobs"] == 2).then_some(()));
    studio.kill();
    put_back(&data, &backup);
    let text = words(&start(&data, &[]));
    assert!(text.contains("job-2"), "{text}");
    studio.accept();
    studio.post("/clusters", &json!({"name": "pool", "size": "local-half", "min": 0, "max": 1, "idle_seconds": 600}));
    let job = run_job(&studio, "three");
    assert!(!["job-1", "job-2"].contains(&job.as_str()), "{job}");
}

#[test]
fn another_installations_database_and_none_at_all_are_refused() {
    let (mut one, mut other) = (Studio::start(), Studio::start());
    stop(&mut one);
    stop(&mut other);
    let (own, others) = (one.data.path().join("own.db"), one.data.path().join("others.db"));
    copy_database(one.data.path(), &own);
    copy_database(other.data.path(), &others);
    put_back(one.data.path(), &others);
    for word in [&[][..], &["--accept-restored-database"]] {
        let refused = start(one.data.path(), word);
        let text = words(&refused);
        assert!(refused.status.code() == Some(1) && text.contains("belongs to another installation"), "{text}");
    }
    std::fs::remove_file(one.data.path().join("atelier.db")).expect("removed");
    let text = words(&start(one.data.path(), &[]));
    assert!(text.contains("its database is missing"), "{text}");
    assert!(!one.data.path().join("atelier.db").exists(), "no empty one is made");
    put_back(one.data.path(), &own);
    one.serve();
}

#[test]
fn data_of_an_older_version_is_adopted() {
    let mut studio = Studio::start();
    stop(&mut studio);
    std::fs::remove_file(studio.data.path().join("installation.json")).expect("removed");
    studio.serve();
    assert!(studio.data.path().join("installation.json").exists());
}

impl Studio {
    /// Starts once with the word, which stays up as any other start.
    fn accept(&mut self) {
        let flags = std::mem::replace(&mut self.flags, &["--accept-restored-database"]);
        self.serve();
        self.flags = flags;
        // Its token was made before the backup; if not, it's made again.
        let made = atelier()
            .args(["token", "create", "--user", "ines@example.org", "--data"])
            .arg(self.data.path())
            .stderr(Stdio::null())
            .output()
            .expect("runs");
        let text = String::from_utf8_lossy(&made.stdout).into_owned();
        self.token = text.split_whitespace().find(|word| word.starts_with("atl_")).expect("a token").to_owned();
    }
}
