//! Building the server's binary.

use std::path::{Path, PathBuf};
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
        Profile::Dev => {
            let (server, _) = beside(|| build_dev(workspace), || site::build(workspace, &toolchain))?;
            Ok(server)
        }
        Profile::Release => {
            let (agent, site) = beside(|| build_agent(workspace), || site::build(workspace, &toolchain))?;
            build_release(workspace, &site, &agent)
        }
    }
}

fn beside<A: Send, B>(one: impl FnOnce() -> Result<A> + Send, other: impl FnOnce() -> Result<B>) -> Result<(A, B)> {
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        let one = one.join().unwrap_or_else(|_| Err(Failure::new("a build panicked")))?;
        Ok((one, other?))
    })
}

/// Builds the server alone.
fn build_dev(workspace: &Workspace) -> Result<PathBuf> {
    let what = "Building the server";
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--bin=atelier"]).args(PRODUCT);
    step(what, || compile::run(&mut cargo, what))?;
    Ok(workspace.target().join("debug/atelier"))
}

fn build_release(workspace: &Workspace, site: &Site, agent: &Path) -> Result<PathBuf> {
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
