//! Node.js and the npm packages of the browser tests.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, iter};

use crate::failure::{Failure, Result};
use crate::process;
use crate::progress::step;
use crate::workspace::Workspace;

/// What the locked version of Playwright runs on. Debian 12 has Node.js 18.
const OLDEST: u32 = 20;

/// Installed from npm, where the system's own is too old.
const REPLACEMENT: &str = "22";

/// A Node.js that is new enough, with the test packages installed.
#[derive(Debug)]
pub struct Node {
    /// A directory to look in before PATH.
    directory: Option<PathBuf>,
}

impl Node {
    /// Provides Node.js and what `end2end/package-lock.json` names.
    pub fn ensure(workspace: &Workspace) -> Result<Self> {
        let node = Self::new_enough(workspace)?;
        node.install_packages(&workspace.end2end())?;
        Ok(node)
    }

    /// Returns a command that finds our Node.js first, as the scripts of npm do too.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        if let Some(directory) = &self.directory {
            let path = env::var_os("PATH").unwrap_or_default();
            let directories = iter::once(directory.clone()).chain(env::split_paths(&path));
            command.env("PATH", env::join_paths(directories).unwrap_or_else(|_| OsString::from(directory)));
        }
        command
    }

    fn new_enough(workspace: &Workspace) -> Result<Self> {
        let version = process::output(Command::new("node").arg("--version"))?;
        if major(&version).is_some_and(|major| major >= OLDEST) {
            return Ok(Self { directory: None });
        }
        let package = platform_package().ok_or_else(|| {
            Failure::new(format!(
                "Node.js {version} is too old for Playwright. Install version {OLDEST} or newer and run this again."
            ))
        })?;
        let tools = workspace.cache().join("tools");
        let directory = tools.join("node_modules").join(&package).join("bin");
        if !directory.join("node").is_file() {
            step(&format!("Installing Node.js {REPLACEMENT} from npm, as {version} is too old"), || {
                fs::create_dir_all(&tools).map_err(Failure::file("creating", &tools))?;
                process::run(
                    Command::new("npm")
                        .args(["install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--prefix"])
                        .arg(&tools)
                        .arg(format!("{package}@{REPLACEMENT}")),
                )
            })?;
        }
        Ok(Self { directory: Some(directory) })
    }

    fn install_packages(&self, directory: &Path) -> Result<()> {
        if is_newer(&directory.join("node_modules/.package-lock.json"), &directory.join("package-lock.json")) {
            return Ok(());
        }
        step("Installing the npm packages of the browser tests", || {
            process::run(self.command("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(directory))
        })
    }
}

/// Reads the major number of `v20.11.1`.
fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

/// Names the npm package that holds Node.js itself for this machine.
fn platform_package() -> Option<String> {
    let processor = match env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        _ => return None,
    };
    (env::consts::OS == "linux").then(|| format!("node-linux-{processor}"))
}

/// Says whether `made` exists and is at least as new as what it was `made` from.
fn is_newer(made: &Path, from: &Path) -> bool {
    let changed_at = |path| fs::metadata(path).and_then(|metadata| metadata.modified());
    matches!((changed_at(made), changed_at(from)), (Ok(made), Ok(from)) if made >= from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_node_versions() {
        assert_eq!(major("v20.20.2\n"), Some(20));
        assert_eq!(major("18.1.0"), None);
        assert_eq!(major(""), None);
    }

    #[test]
    fn packages_are_installed_once_until_the_lock_changes() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (made, from) = (directory.path().join("made"), directory.path().join("from"));
        fs::write(&from, "").expect("a file can be written");
        assert!(!is_newer(&made, &from));
        fs::write(&made, "").expect("a file can be written");
        assert!(is_newer(&made, &from));
        let later = fs::metadata(&made).and_then(|made| made.modified()).expect("it was just written")
            + std::time::Duration::from_secs(5);
        fs::File::options()
            .write(true)
            .open(&from)
            .and_then(|file| file.set_modified(later))
            .expect("its time can be set");
        assert!(!is_newer(&made, &from));
    }
}
