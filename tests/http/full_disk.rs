//! A disk that gets full, by a program that keeps writing and by whoever else: what stops and cancels works
//! all the time, the program is stopped, and all goes on by itself when there is room again.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use atelier_testing::http::ask;
use atelier_testing::{PATIENCE, wait_until};
use serde_json::{Value, json};

use crate::nodes::Studio;

/// More than the disk has.
const MEMORY_MIB: u64 = 1_300;

/// A small file system of its own.
struct Small(tempfile::TempDir);

impl Small {
    /// None where this user may not mount; says so.
    fn mount(bytes: u64) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let size = format!("size={bytes}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()).output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self(folder)),
            Ok(output) => {
                let why = String::from_utf8_lossy(&output.stderr).into_owned();
                eprintln!("skipped: a small file system cannot be mounted here: {why}");
                None
            }
            Err(error) => {
                eprintln!("skipped: a small file system cannot be mounted here: {error}");
                None
            }
        }
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // Lazily: what was ended a moment ago may still hold it.
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

/// As long as the whole disk was free: what the server's program, its ballast and the programs of nodes need,
/// and room to fill.
fn size() -> u64 {
    let program = std::fs::metadata(env!("CARGO_BIN_EXE_atelier")).expect("the program").len();
    2 * program + (700 << 20)
}

fn ready(studio: &Studio) -> Value {
    let answer = ask("GET", "/readyz", studio.port, &[], "").expect("answers");
    let value: Value = serde_json::from_str(&answer.text()).expect("JSON");
    assert!(!answer.text().contains("taken over"), "nobody has: {value}");
    value
}

/// Takes all room there is, also what is given free meanwhile.
fn fill(path: &Path) -> PathBuf {
    let path = path.join("filled-by-somebody");
    let mut file = std::fs::File::create(&path).expect("made");
    let block = vec![7_u8; 1 << 20];
    let mut refusals = 0;
    wait_until("the disk is full", PATIENCE, || {
        match file.write_all(&block) {
            Ok(()) => refusals = 0,
            // Byte by byte to the end, and again when the server has thrown off what it kept for this.
            Err(_) => refusals += usize::from((&file).write_all(&block[..512]).is_err()),
        }
        (refusals > 50).then_some(())
    });
    path
}

#[test]
fn a_full_disk_stops_who_fills_it_and_nothing_else() {
    let Some(disk) = Small::mount(size()) else { return };
    let data = tempfile::TempDir::new_in(disk.path()).expect("a folder");
    let studio = Studio::start_at(data, &[], Vec::new());
    studio.post("/clusters", &json!({"name": "pool", "size": "local-2", "min": 0, "max": 1, "idle_seconds": 600}));
    // What is written to this file system is memory of whoever writes it.
    let submit = |script: &str, memory_mib: u64| {
        let job = json!({"script": script, "cluster": "pool", "cores": 0.1, "memory_mib": memory_mib});
        studio.post("/jobs", &job)["id"].as_str().expect("an id").to_owned()
    };
    let small = |script: &str| submit(script, 32);
    let running = |job: &str| {
        wait_until(&format!("{job} runs"), PATIENCE, || {
            Some(studio.get(&format!("/jobs/{job}"))).filter(|job| job["state"] == "running")
        });
    };
    let quiet = [small("sleep 600"), small("sleep 600")];
    quiet.iter().for_each(|job| running(job));

    // A program that does not stop by itself, whatever the disk says.
    let filler = submit("while :; do cat /dev/zero >> filler 2>/dev/null; done", MEMORY_MIB);
    let over = wait_until("the program that fills the disk is stopped", PATIENCE, || {
        ready(&studio);
        Some(studio.get(&format!("/jobs/{filler}"))).filter(|job| job["is_over"] == true)
    });
    let sentence = over["verdict"]["sentence"].as_str().unwrap_or_default().to_owned();
    assert_eq!(over["state"], "failed", "{over}");
    assert!(sentence.contains("the server’s disk was filling up") && sentence.contains("it had written"), "{over}");
    assert!(over["verdict"]["next_step"].as_str().is_some_and(|step| step.contains("Delete")), "{over}");
    for job in &quiet {
        assert_eq!(studio.get(&format!("/jobs/{job}"))["state"], "running", "who does not write goes on");
    }
    wait_until("there is room again", PATIENCE, || Some(ready(&studio)).filter(|it| it["disk_low"] == false));

    // Somebody else takes all there is, ballast included.
    let filled = fill(disk.path());
    wait_until("the server notices", PATIENCE, || Some(ready(&studio)).filter(|it| it["disk_low"] == true));
    let refused = studio.send("POST", "/jobs", &json!({"command": ["true"], "cluster": "pool", "cores": 0.1}));
    assert_eq!((refused.0, refused.1["code"].as_str()), (507, Some("disk-full")), "{}", refused.1);
    let canceled = studio.send("POST", &format!("/jobs/{}/cancel", quiet[0]), &json!({}));
    assert!(canceled.0 < 300, "a cancel is taken on a full disk: {} {}", canceled.0, canceled.1);
    assert_eq!(studio.over(&quiet[0])["state"], "canceled");
    assert_eq!(ready(&studio)["ready"], true);
    std::fs::remove_file(filled).expect("removed");

    // Without a restart.
    wait_until("there is room again", PATIENCE, || Some(ready(&studio)).filter(|it| it["disk_low"] == false));
    let after = small("echo again");
    assert_eq!(studio.over(&after)["state"], "completed");
    assert_eq!(studio.get(&format!("/jobs/{}", quiet[1]))["state"], "running");
}
