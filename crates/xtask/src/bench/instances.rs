//! `cargo xtask bench instances`: workstations as people use them, beside what they would have without
//! Atelier.
//!
//! One real instance of this machine, at its real addresses: each request goes from a browser's connection
//! through the server and the agent to the application's socket and back. Who is compared with is measured in
//! the same run, in turn.

mod desk;
mod door;
mod lab;
pub mod nginx;
mod page;
mod proxy;
mod sockets;
mod terminal;
mod upload;
mod websocket;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::ValueEnum;

use self::desk::Desk;
use super::Program;
use super::report::Report;
use super::studio::Studio;
use crate::failure::Result;
use crate::process;
use crate::progress::step;
use crate::workspace::Workspace;

/// What can be measured alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// From the wish to JupyterLab, beside a bare one
    Lab,
    /// A terminal's first prompt and its echo
    Terminal,
    /// Memory of many idle WebSockets
    Sockets,
    /// The way to an application, beside nginx
    Proxy,
    /// The page with the list of instances
    Page,
}

/// What is to be measured, and with what.
#[derive(Debug)]
pub struct Plan<'a> {
    /// How long each load lasts.
    pub lasting: Duration,
    /// Only these; all if there are none.
    pub only: &'a [Part],
    /// The nginx to measure with; else the one of this machine.
    pub nginx: Option<&'a Path>,
}

impl Plan<'_> {
    fn has(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

pub fn measure(workspace: &Workspace, program: &Program<'_>, plan: &Plan<'_>, report: &mut Report) -> Result<()> {
    let environments = workspace.target().join("environments");
    let base = step("The Python environment of instances", || environment(program.binary, &environments))?;
    desk::configure(program.folder, &environments)?;
    let studio = program.studio()?;
    let measured = all(&studio, program, &base, plan, report);
    if measured.is_err() {
        // Nodes outlive their server. Why it failed says more than whether they could be stopped.
        let _ = studio.stop_nodes();
    }
    measured
}

fn all(studio: &Studio, program: &Program<'_>, base: &Path, plan: &Plan<'_>, report: &mut Report) -> Result<()> {
    let (folder, turn) = (program.folder, program.turn);
    let desk = step("Making an instance", || Desk::create(studio, folder))?;
    turn.pass()?;
    if plan.has(Part::Lab) {
        lab::measure(&desk, base, folder, turn, report)?;
        turn.pass()?;
    }
    if plan.has(Part::Terminal) {
        step("Opening terminals and typing", || terminal::measure(&desk, report))?;
        turn.pass()?;
    }
    // What was kept from earlier work would hide what sockets need: server and agent begin anew.
    let desk = step("Starting the server and the instance again", || desk.anew(studio))?;
    if plan.has(Part::Sockets) {
        sockets::measure(&desk, folder, report)?;
        turn.pass()?;
    }
    if plan.has(Part::Proxy) {
        proxy::measure(&desk, folder, plan, report)?;
        turn.pass()?;
    }
    if plan.has(Part::Page) {
        desk.stop()?;
        page::measure(&desk, plan.lasting, turn, report)?;
    }
    desk.close()
}

/// Builds the environment unless it is there, as the browser tests do, and gives its folder.
fn environment(binary: &Path, environments: &Path) -> Result<PathBuf> {
    let mut build = Command::new(binary);
    build.args(["environment", "build", "--environments"]).arg(environments);
    // No server's: the list that comes with Atelier.
    let printed = process::output(build.arg("--data").arg(environments.join("no-data")))?;
    Ok(PathBuf::from(printed.lines().last().unwrap_or_default()))
}
