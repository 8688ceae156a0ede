//! Where things are, from whatever directory of the repository a task was started.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::process;

/// Selects the product's crates, for build, tests and clippy alike.
///
/// Cargo picks the features of every dependency for all selected packages together. One selection for
/// everything means that no dependency is compiled twice; xtask stays out of it, because it is built on its
/// own before it can run.
pub const PRODUCT: [&str; 3] = ["--workspace", "--exclude=xtask", "--features=atelier/ssr"];

/// The repository's directory and cargo's target directory.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    target: PathBuf,
}

impl Workspace {
    /// Asks cargo, which also knows a target directory from the environment or a configuration file.
    pub fn find() -> Result<Self> {
        let metadata = process::output(Command::new(cargo()).args(["metadata", "--format-version=1", "--no-deps"]))?;
        let metadata: Value = serde_json::from_str(&metadata)
            .map_err(|error| Failure::new(format!("`cargo metadata` printed no JSON: {error}")))?;
        let path = |key: &str| {
            metadata[key]
                .as_str()
                .map(PathBuf::from)
                .ok_or_else(|| Failure::new(format!("`cargo metadata` has no {key}")))
        };
        Ok(Self { root: path("workspace_root")?, target: path("target_directory")? })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Where the site is built. The server embeds exactly this directory, so it does not follow the target
    /// directory.
    pub fn site(&self) -> PathBuf {
        self.root.join("target/site")
    }

    /// Where tools are kept that take long to get and that no clone changes: they outlive this one.
    pub fn cache(&self) -> PathBuf {
        let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
        let folder = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
        folder.or_else(home).map_or_else(|| self.target.join("cache"), |folder| folder.join("atelier"))
    }

    pub fn end2end(&self) -> PathBuf {
        self.root.join("end2end")
    }

    /// Returns a cargo command that runs at the root.
    pub fn cargo(&self) -> Command {
        let mut command = Command::new(cargo());
        command.current_dir(&self.root);
        // What `cargo run` says about xtask itself. Build scripts that watch these (ring's) would run again,
        // and with them half of the dependencies, whenever somebody called cargo by hand in between.
        for (name, _) in env::vars_os() {
            if name
                .to_str()
                .is_some_and(|name| ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|ours| name.starts_with(ours)))
            {
                command.env_remove(name);
            }
        }
        command
    }
}

/// The cargo that started us, so that one toolchain does everything.
fn cargo() -> PathBuf {
    env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}
