//! From the wish to JupyterLab's page, beside a bare `jupyter lab` of the same environment.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use atelier_testing::free_port;

use super::super::load::{milliseconds, now, pause, percentile};
use super::super::report::Report;
use super::super::report::Wanted::{AtMost, Context};
use super::super::running::Running;
use super::super::turns::Turn;
use super::desk::{Desk, LAB};
use super::door::Door;
use crate::bench::http::Connection;
use crate::failure::{Failure, Result};
use crate::progress::step;

const ROUNDS: usize = 7;
/// What is there when somebody can begin to work.
const PAGE: &str = "/lab";
/// Between two tries; what is waited for takes seconds.
const AGAIN: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(120);

/// As the product starts it (`engine/src/fleet/instances.rs`), but for the socket.
const OPTIONS: [&str; 9] = [
    "--no-browser",
    "--ServerApp.base_url=/",
    "--ServerApp.allow_remote_access=True",
    "--ServerApp.quit_button=False",
    "--IdentityProvider.token=",
    "--PasswordIdentityProvider.hashed_password=",
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--ServerApp.ip=127.0.0.1",
];

pub fn measure(desk: &Desk, base: &Path, folder: &Path, turn: &Turn<'_>, report: &mut Report) -> Result<()> {
    let door = desk.enter(LAB)?;
    desk.stop()?;
    let (mut ours, mut before, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    step(&format!("Starting the instance and a bare JupyterLab, {ROUNDS} times each"), || {
        // Once without counting, so that nobody's files are read from the disk in one and from memory in the
        // other.
        start_bare(base, folder)?;
        for _ in 0..ROUNDS {
            ours.push(start_ours(desk, &door)?);
            before.extend(desk.last_start()?);
            desk.stop()?;
            bare.push(start_bare(base, folder)?);
            turn.pass()?;
        }
        // The next measurement finds it running.
        start_ours(desk, &door).map(|_| ())
    })?;
    for times in [&mut ours, &mut before, &mut bare] {
        times.sort_unstable();
    }
    let median = |times: &[Duration]| milliseconds(percentile(times, 0.5));
    let ratio = median(&ours) / median(&bare);
    report.add("from the wish to JupyterLab's page: median", Context, median(&ours), "ms");
    report.add("… of that until the instance can be used", Context, median(&before), "ms");
    report.add("from the wish to JupyterLab's page: worst", Context, milliseconds(percentile(&ours, 1.0)), "ms");
    report.add("bare jupyter lab: median", Context, median(&bare), "ms");
    report.add("bare jupyter lab: worst", Context, milliseconds(percentile(&bare, 1.0)), "ms");
    report.add("from the wish to JupyterLab's page, in bare ones", AtMost(1.1), ratio, "×");
    Ok(())
}

/// From the wish until the page comes through the proxy.
fn start_ours(desk: &Desk, door: &Door) -> Result<Duration> {
    let failed = |error: std::io::Error| Failure::new(format!("asking for JupyterLab failed: {error}"));
    let request = door.request(PAGE, &[]);
    let began = now();
    desk.start()?;
    let mut connection = Connection::open(door.port()).map_err(failed)?;
    loop {
        let answer = connection.send(&request).map_err(failed)?;
        let took = began.elapsed();
        match answer.status {
            200 => return Ok(took),
            _ if took > PATIENCE => {
                let (seconds, status) = (PATIENCE.as_secs(), answer.status);
                let text = answer.text();
                return Err(Failure::new(format!("no JupyterLab after {seconds} s: status {status}: {text}")));
            }
            _ => pause(AGAIN),
        }
    }
}

/// From the process until the page comes; it has ended when this is done.
fn start_bare(base: &Path, folder: &Path) -> Result<Duration> {
    let home = folder.join("bare");
    fs::create_dir_all(&home).map_err(Failure::file("making", &home))?;
    let port = free_port();
    let mut command = Command::new(base.join("bin/python"));
    command.args(["-m", "jupyterlab"]).args(OPTIONS).arg(format!("--ServerApp.port={port}"));
    command.arg(format!("--ServerApp.root_dir={}", home.display()));
    if fs::metadata(&home).map_err(Failure::file("looking at", &home))?.uid() == 0 {
        // The product never runs it as root and so never says this.
        command.arg("--allow-root");
    }
    // Nothing of whoever runs this: instances have a clean environment too.
    let path = env::var_os("PATH").unwrap_or_default();
    command.current_dir(&home).env_clear().env("PATH", path).env("HOME", &home).env("LANG", "C.UTF-8");
    let (running, took) = Running::start(&mut command, port, PAGE, &folder.join("bare.log"))?;
    drop(running);
    Ok(took)
}
