//! Two people on one node: one leaves everything lying about that a job can, the other tries to get at it.
//! What is promised is read from the table in `docs/security.md`, and nothing is tried that is not in it.
//!
//! `cargo xtask test --only attacks` runs these, and what else shows a promise.

use std::collections::BTreeMap;
use std::time::Duration;

use atelier_testing::{PATIENCE, wait_until};
use serde_json::{Value, json};

use crate::nodes::Studio;

const VICTIM: &str = include_str!("victim.py");
const ATTACKER: &str = include_str!("attacker.py");
const DOCS: &str = include_str!("../../../docs/security.md");
/// All attempts together take seconds, more on a machine that is busy.
const LONG: Duration = Duration::from_secs(180);

/// How the server keeps people apart, by the column of the table.
#[derive(Clone, Copy)]
enum Mode {
    View = 0,
    Users = 1,
}

/// What the docs say of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promise {
    Kept,
    /// Kept where people have networks of their own.
    WithNetworks,
    Shared,
}

/// The promises by their attempts, in each mode.
fn promises() -> BTreeMap<&'static str, [Promise; 2]> {
    let table = DOCS.split("<!-- attempts -->").nth(1).expect("the docs have a table of attempts");
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let read = |row: &'static str| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let promise = |cell: &str| match cell {
            "kept" => Promise::Kept,
            "with networks" => Promise::WithNetworks,
            "shared" => Promise::Shared,
            other => panic!("“{other}” in {row}"),
        };
        (cells[0].trim_matches('`'), [promise(cells[2]), promise(cells[3])])
    };
    rows.map(read).collect()
}

/// Whether this may be left out. What shows a promise is never left out in silence.
fn is_left_out(has: bool, what: &str, variable: &str) -> bool {
    let is_meant = std::env::var_os(variable).is_some();
    assert!(has || is_meant, "this test needs {what}; set {variable}=1 if it is meant to be left out");
    !has
}

fn is_root() -> bool {
    let is_root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").expect("is there")) == 0;
    !is_left_out(is_root, "root", "ATELIER_TEST_WITHOUT_ROOT")
}

/// A Python program as the script of a job.
fn python(text: &str, argument: &str) -> String {
    // In a file, since the text is longer than an argument may be.
    format!("cat > program.py <<'PROGRAM'\n{text}\nPROGRAM\nexec /usr/bin/python3 -I program.py '{argument}'")
}

/// What came of each attempt.
fn attack(mut studio: Studio) -> BTreeMap<String, String> {
    let pool = json!({"name": "pool", "size": "local-1", "min": 0, "max": 1, "idle_seconds": 600});
    studio.post("/clusters", &pool);
    let (_, owner) = studio.form("", "sign_in", &[("email", "ines@example.org"), ("password", "kettle-orbit-violin")]);
    let (id, victim) = studio.add(&owner, "mara");
    let (_, attacker) = studio.add(&owner, "bela");
    let submit = |studio: &Studio, script: String| {
        let job = json!({"script": script, "cluster": "pool", "cores": 0.2, "memory_mib": 128});
        studio.post("/jobs", &job)["id"].as_str().expect("an id").to_owned()
    };
    studio.token = victim.clone();
    let first = submit(&studio, python(VICTIM, "mara"));
    let facts = studio.shared().join("facts.json");
    wait_until("the first has begun", PATIENCE, || {
        assert_ne!(studio.get(&format!("/jobs/{first}"))["is_over"], true, "{}", studio.log(&first));
        facts.exists().then_some(())
    });
    let facts: Value = serde_json::from_slice(&std::fs::read(&facts).expect("reads")).expect("facts");

    studio.token = attacker;
    let calls = numbers_of_calls();
    let given = json!({"data": studio.data.path(), "port": studio.port, "job": first, "victim": id, "calls": calls});
    let second = submit(&studio, python(ATTACKER, &given.to_string()));
    let ended = wait_until("the attempts are over", LONG, || {
        Some(studio.get(&format!("/jobs/{second}?wait=10s"))).filter(|job| job["is_over"] == true)
    });
    let text = studio.log(&second);
    assert_eq!(ended["state"], "completed", "{text}");
    assert_ne!(facts["uid"], 0, "the first is not root");

    std::fs::write(studio.shared().join("over"), "").expect("written");
    studio.token = victim;
    assert_eq!(studio.over(&first)["state"], "completed");
    assert_eq!(studio.log(&first), "untouched\n");
    text.lines().filter_map(|line| line.split_once(": ")).map(|(name, what)| (name.into(), what.into())).collect()
}

/// The numbers of calls that Python has no names for.
fn numbers_of_calls() -> Value {
    #[cfg(target_arch = "x86_64")]
    let (add_key, keyctl) = (248, 250);
    #[cfg(not(target_arch = "x86_64"))]
    let (add_key, keyctl) = (217, 219);
    json!({"add_key": add_key, "keyctl": keyctl})
}

fn assert_kept(found: &BTreeMap<String, String>, mode: Mode) {
    let promises = promises();
    let has_networks = found.get("network").is_some_and(|network| network == "own");
    let tried: Vec<&str> = found.keys().map(String::as_str).filter(|name| *name != "network").collect();
    assert_eq!(tried, promises.keys().copied().collect::<Vec<_>>(), "the docs name what is tried, and nothing else");
    let is_promised = |name: &str| match promises[name][mode as usize] {
        Promise::Kept => true,
        Promise::WithNetworks => has_networks,
        Promise::Shared => false,
    };
    let broken: Vec<_> =
        found.iter().filter(|(name, what)| *name != "network" && *what != "held" && is_promised(name)).collect();
    assert_eq!(broken, Vec::new());
}

#[test]
fn with_bubblewrap_each_promise_is_kept() {
    let has_view = std::path::Path::new("/usr/bin/bwrap").exists();
    if !is_root() || is_left_out(has_view, "bubblewrap", "ATELIER_TEST_WITHOUT_BUBBLEWRAP") {
        return;
    }
    assert_kept(&attack(Studio::start()), Mode::View);
}

#[test]
fn with_users_alone_each_promise_is_kept() {
    if is_root() {
        assert_kept(&attack(Studio::start_with(&["--local-isolation", "users"])), Mode::Users);
    }
}
