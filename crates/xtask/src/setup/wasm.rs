//! The compiler for the browser's half: the one in use with rustup's wasm target, else Debian's.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::debian_wasm;
use crate::failure::{Failure, Result};
use crate::process;
use crate::progress::step;
use crate::workspace::Workspace;

pub const TARGET: &str = "wasm32-unknown-unknown";

/// Its settings are in the root `Cargo.toml`.
const PROFILE: &str = "wasm-release";

/// Which compiler builds for wasm.
#[derive(Debug)]
pub enum Toolchain {
    /// The same that builds everything else.
    Stock,
    /// Debian's `rustc-web`, with a standard library that we built.
    Debian,
}

impl Toolchain {
    pub fn cargo(&self, workspace: &Workspace) -> Command {
        match self {
            Self::Stock => workspace.cargo(),
            Self::Debian => debian_wasm::cargo(workspace.root()),
        }
    }

    /// Returns the arguments that select the browser's half, for `cargo rustc` and `cargo clippy` alike.
    pub fn library_arguments(&self, workspace: &Workspace) -> Vec<OsString> {
        let mut arguments: Vec<OsString> =
            ["--lib", "--package=atelier", "--no-default-features", "--features=hydrate"].map(OsString::from).into();
        arguments.extend([format!("--target={TARGET}"), format!("--profile={PROFILE}")].map(OsString::from));
        // a directory of its own, so that the two halves do not rebuild each other's dependencies or wait for
        // a lock
        arguments.extend([OsString::from("--target-dir"), target_directory(workspace).into()]);
        arguments
    }

    /// Where `cargo rustc` with [`Self::library_arguments`] leaves its result.
    pub fn library(&self, workspace: &Workspace) -> PathBuf {
        target_directory(workspace).join(TARGET).join(PROFILE).join("atelier.wasm")
    }
}

fn target_directory(workspace: &Workspace) -> PathBuf {
    workspace.target().join("wasm")
}

/// Provides a compiler for wasm.
pub fn ensure(workspace: &Workspace) -> Result<Toolchain> {
    if has_standard_library(workspace) {
        return Ok(Toolchain::Stock);
    }
    let by_rustup = step(&format!("Adding the target {TARGET} by rustup"), || {
        process::run(Command::new("rustup").current_dir(workspace.root()).args(["target", "add", TARGET]))
    });
    match by_rustup {
        Ok(()) => Ok(Toolchain::Stock),
        Err(failure) => {
            eprintln!("  {failure}; trying Debian's compiler instead");
            debian_wasm::ensure(workspace).map(|()| Toolchain::Debian).map_err(|second| {
                Failure::new(format!(
                    "there is no compiler for {TARGET}. {second}. Run `rustup target add {TARGET}` where it can reach \
                     its server, and then this again."
                ))
            })
        }
    }
}

fn has_standard_library(workspace: &Workspace) -> bool {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.current_dir(workspace.root()).args(["--print=target-libdir", &format!("--target={TARGET}")]);
    process::output(&mut rustc).is_ok_and(|directory| holds_standard_library(Path::new(&directory)))
}

/// Says whether a directory holds a compiled `std`.
pub fn holds_standard_library(directory: &Path) -> bool {
    let entries = directory.read_dir().into_iter().flatten().filter_map(Result::ok);
    entries
        .map(|entry| entry.file_name())
        .any(|name| name.to_str().is_some_and(|name| name.starts_with("libstd-") && name.ends_with(".rlib")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_or_missing_directory_holds_no_standard_library() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        assert!(!holds_standard_library(directory.path()));
        assert!(!holds_standard_library(&directory.path().join("missing")));
        std::fs::write(directory.path().join("libstd-0f1e.rlib"), "").expect("a file can be written");
        assert!(holds_standard_library(directory.path()));
    }
}
