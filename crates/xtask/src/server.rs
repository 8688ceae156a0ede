//! Building the server's binary.

use std::path::PathBuf;
use std::thread;

use crate::failure::{Failure, Result};
use crate::progress::step;
use crate::site::{self, Site};
use crate::workspace::{PRODUCT, Workspace};
use crate::{compile, setup};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Quick to build; reads the site from disk.
    Dev,
    /// Optimised, with the site and the agent inside.
    Release,
}

/// Builds the site and the server that serves it, and returns the binary's path.
pub fn build_with_site(workspace: &Workspace, profile: Profile) -> Result<PathBuf> {
    let toolchain = setup::wasm::ensure(workspace)?;
    match profile {
        // Side by side: either half has stretches in which it keeps one core busy only.
        Profile::Dev => thread::scope(|scope| {
            let server = scope.spawn(|| build_dev(workspace));
            let site = site::build(workspace, &toolchain);
            let server = server.join().unwrap_or_else(|_| Err(Failure::new("building the server panicked")));
            site.and(server)
        }),
        Profile::Release => {
            let agent = build_agent(workspace)?;
            let site = site::build(workspace, &toolchain)?;
            build_release(workspace, &site, &agent)
        }
    }
}

/// Builds the server alone.
pub fn build_dev(workspace: &Workspace) -> Result<PathBuf> {
    let what = "Building the server";
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--bin=atelier"]).args(PRODUCT);
    step(what, || compile::run(&mut cargo, what))?;
    Ok(workspace.target().join("debug/atelier"))
}

fn build_release(workspace: &Workspace, site: &Site, agent: &PathBuf) -> Result<PathBuf> {
    let what = "Building the server, optimised";
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--bin=atelier", "--package=atelier", "--features=ssr", "--release"]);
    cargo.env("ATELIER_SITE", site.fingerprint()).env("ATELIER_AGENT", agent);
    step(what, || compile::run(&mut cargo, what))?;
    Ok(release(workspace))
}

/// Where `cargo xtask build --release` leaves the program.
pub fn release(workspace: &Workspace) -> PathBuf {
    workspace.target().join("release/atelier")
}

/// Builds the agent as a program of its own, which a released server carries, and returns its path.
fn build_agent(workspace: &Workspace) -> Result<PathBuf> {
    let what = "Building the agent that it carries";
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--package=atelier-agent", "--bin=atelier-agent", "--profile=agent"]);
    step(what, || compile::run(&mut cargo, what))?;
    Ok(workspace.target().join("agent").join("atelier-agent"))
}
