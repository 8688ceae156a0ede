//! Building the server's binary.

use std::path::PathBuf;

use crate::failure::Result;
use crate::progress::step;
use crate::site::{self, Site};
use crate::workspace::{PRODUCT, Workspace};
use crate::{process, setup};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Quick to build; reads the site from disk.
    Dev,
    /// Optimised, with the site and the agent inside.
    Release,
}

/// Builds the site, then the server that carries it, and returns the binary's path.
pub fn build_with_site(workspace: &Workspace, profile: Profile) -> Result<PathBuf> {
    let toolchain = setup::wasm::ensure(workspace)?;
    let site = site::build(workspace, &toolchain)?;
    build(workspace, profile, &site)
}

fn build(workspace: &Workspace, profile: Profile, site: &Site) -> Result<PathBuf> {
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--bin=atelier"]);
    let (what, directory) = match profile {
        Profile::Dev => {
            cargo.args(PRODUCT);
            ("Building the server", "debug")
        }
        Profile::Release => {
            cargo.args(["--package=atelier", "--features=ssr", "--release"]).env("ATELIER_SITE", site.fingerprint());
            ("Building the server, optimised", "release")
        }
    };
    if profile == Profile::Release {
        cargo.env("ATELIER_AGENT", build_agent(workspace)?);
    }
    step(what, || process::run(&mut cargo))?;
    Ok(workspace.target().join(directory).join("atelier"))
}

/// Builds the agent as a program of its own, which a released server carries, and returns its path.
fn build_agent(workspace: &Workspace) -> Result<PathBuf> {
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--package=atelier-agent", "--bin=atelier-agent", "--profile=agent"]);
    step("Building the agent that it carries", || process::run(&mut cargo))?;
    Ok(workspace.target().join("agent").join("atelier-agent"))
}
