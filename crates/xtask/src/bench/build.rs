//! `cargo xtask bench build`: how long people wait for the compiler, in a clone of its own: from the clone to
//! the first page, from an edit of a page to the restarted server, and for a release.
//!
//! Crates are downloaded before anything is timed. The time of processors is what two trees are best compared
//! by: it hardly depends on what else the machine does.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use atelier_testing::{free_port, poll_until};
use clap::{Args, ValueEnum};

use super::http::{self, Connection};
use super::load::now;
use super::report::Report;
use super::report::Wanted::{AtMost, Context};
use super::running::processor_seconds;
use super::scratch;
use crate::failure::{Failure, Result};
use crate::process;
use crate::progress::step;
use crate::workspace::Workspace;

#[derive(Debug, Args)]
pub struct BuildOptions {
    /// Print JSON in place of the table
    #[arg(long)]
    pub json: bool,
    /// Also measure the clone in this folder, after this one, and print both and their ratio
    #[arg(long, value_name = "FOLDER")]
    before: Option<PathBuf>,
    /// Measure only these, with commas between them
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// From a clone to the first page, then from an edit to the restarted server
    Start,
    /// `cargo xtask build --release`
    Release,
}

/// The page that is edited.
const PAGE: &str = "src/home.rs";
/// No build takes that long; a bound, so that nothing waits for ever.
const PATIENCE: Duration = Duration::from_secs(3_600);

pub fn measure(workspace: &Workspace, options: &BuildOptions, report: &mut Report) -> Result<()> {
    tree(workspace.root(), &options.only, report)?;
    if let Some(before) = &options.before {
        let mut report_before = Report::default();
        tree(before, &options.only, &mut report_before)?;
        report.compare(&report_before);
    }
    Ok(())
}

/// Measures what is committed in a clone.
fn tree(from: &Path, only: &[Part], report: &mut Report) -> Result<()> {
    let has = |part| only.is_empty() || only.contains(&part);
    let folder = scratch()?;
    let clone = folder.path().join("clone");
    process::run(Command::new("git").args(["clone", "--quiet", "--local"]).arg(from).arg(&clone))?;
    step("Downloading crates", || process::run(cargo(&clone).args(["fetch", "--quiet"])))?;
    if has(Part::Start) {
        let (took, used) = step("From a clone to the first page", || start(&clone, folder.path()))?;
        report.add("from a clone to the first page", AtMost(8.0), took / 60.0, "min");
        report.add("… processor time", Context, used / 60.0, "min");
        // At the top, so that every line of the page moves.
        let page = clone.join(PAGE);
        let text = fs::read_to_string(&page).map_err(Failure::file("reading", &page))?;
        fs::write(&page, format!("// Edited.\n{text}")).map_err(Failure::file("writing", &page))?;
        let (took, used) = step("From an edit to the restarted server", || start(&clone, folder.path()))?;
        report.add("from an edit of a page to the restarted server", AtMost(20.0), took, "s");
        report.add("… processor time", Context, used, "s");
    }
    if has(Part::Release) {
        // Nothing that was built for the start may help.
        let target = clone.join("target");
        if target.exists() {
            fs::remove_dir_all(&target).map_err(Failure::file("removing", &target))?;
        }
        let (took, used) = step("A release", || {
            let (began, before) = (now(), of_children()?);
            process::run(cargo(&clone).args(["xtask", "build", "--release"]))?;
            Ok((began.elapsed().as_secs_f64(), of_children()? - before))
        })?;
        report.add("a release build", Context, took / 60.0, "min");
        report.add("… processor time", Context, used / 60.0, "min");
    }
    Ok(())
}

/// Calls cargo as somebody who has just cloned would: settings of this run are not theirs.
fn cargo(clone: &Path) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(clone);
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let is_ours = name.starts_with("ATELIER_") || (name.starts_with("CARGO") && name != "CARGO_HOME");
        if is_ours {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// Runs `cargo xtask run` until the server answers, then stops it. Gives the seconds that passed and those of
/// processors.
fn start(clone: &Path, folder: &Path) -> Result<(f64, f64)> {
    let port = free_port();
    let mut run = cargo(clone);
    run.args(["xtask", "run", "--", "--environment=off"]).arg(format!("--listen=127.0.0.1:{port}"));
    run.arg("--data").arg(folder.join("data")).stdin(Stdio::null());
    let began = now();
    let mut child = Ended(run.spawn().map_err(|error| process::not_started(&run, &error))?);
    let request = http::request("GET", "/healthz", port, &[], "");
    let answered = poll_until("the first page", PATIENCE, || {
        let answer = Connection::open(port).and_then(|mut connection| connection.send(&request));
        let has_ended = child.0.try_wait().is_ok_and(|status| status.is_some());
        (has_ended || answer.is_ok_and(|answer| answer.status == 200)).then_some(!has_ended)
    });
    let took = began.elapsed().as_secs_f64();
    match answered {
        Ok(true) => {}
        Ok(false) => return Err(Failure::new("`cargo xtask run` ended before its server answered")),
        Err(timed_out) => return Err(Failure::new(timed_out.to_string())),
    }
    // cargo became xtask and xtask the server, so it is one process with all of its children.
    let (own, children) = processor_seconds(Path::new(&format!("/proc/{}/stat", child.0.id())))?;
    atelier_testing::terminate(child.0.id()).map_err(|error| Failure::new(format!("it did not stop: {error}")))?;
    child.0.wait().map_err(|error| Failure::new(format!("it did not stop: {error}")))?;
    Ok((took, own + children))
}

/// Ends with whoever started it.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        if self.0.try_wait().is_ok_and(|status| status.is_none()) {
            let _ = atelier_testing::terminate(self.0.id());
            let _ = self.0.wait();
        }
    }
}

fn of_children() -> Result<f64> {
    processor_seconds(Path::new("/proc/self/stat")).map(|(_, children)| children)
}
