//! The way without rustup's server: Debian's `rustc-web` and a standard library for wasm built from its
//! sources.
//!
//! Debian ships the compiler and the sources of `std`, but no `std` compiled for wasm32-unknown-unknown. We
//! build it once with `-Zbuild-std` in an empty crate and put it where the compiler looks for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::system;
use super::wasm::{TARGET, holds_standard_library};
use crate::failure::{Failure, Result};
use crate::process;
use crate::progress::step;
use crate::workspace::Workspace;

const PACKAGES: [&str; 5] = ["rustc-web", "cargo-web", "rust-web-src", "libstd-rust-web-dev", "lld-19"];
const RUSTC: &str = "/usr/bin/rustc";
const CARGO: &str = "/usr/bin/cargo";

/// Debian's compiler has no linker of its own for wasm.
const LINKER: &str = "wasm-ld-19";

/// Installs Debian's compiler and builds its standard library, unless both are there.
pub fn ensure(workspace: &Workspace) -> Result<()> {
    let library = PathBuf::from("/usr/lib/rustlib").join(TARGET).join("lib");
    if !Path::new(CARGO).exists() || !Path::new(RUSTC).exists() || process::find(LINKER).is_none() {
        if !system::can_install() {
            return Err(Failure::new("Debian's compiler can only be installed from here as root on Debian or Ubuntu"));
        }
        system::install(&PACKAGES)?;
    }
    if holds_standard_library(&library) {
        return Ok(());
    }
    step("Building the standard library for wasm", || {
        let crate_directory = workspace.target().join("wasm-std");
        build_standard_library(&crate_directory)?;
        let built = crate_directory.join("target").join(TARGET).join("release/deps");
        install_standard_library(&built, &library)
    })
}

/// Returns Debian's cargo with its own compiler, running in `directory`.
pub fn cargo(directory: &Path) -> Command {
    let mut cargo = Command::new(CARGO);
    cargo
        .current_dir(directory)
        .env("RUSTC", RUSTC)
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", LINKER)
        // set by the cargo that runs us, for its own toolchain
        .env_remove("CARGO")
        .env_remove("LD_LIBRARY_PATH")
        .env_remove("RUSTUP_TOOLCHAIN");
    cargo
}

fn build_standard_library(directory: &Path) -> Result<()> {
    let sources = directory.join("src");
    fs::create_dir_all(&sources).map_err(Failure::file("creating", &sources))?;
    for (name, text) in [
        (
            "Cargo.toml",
            "[package]\nname = \"wasm-std\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n\
             [profile.release]\npanic = \"abort\"\n",
        ),
        ("src/lib.rs", "//! Empty: this crate exists to have its standard library built.\n"),
    ] {
        let file = directory.join(name);
        fs::write(&file, text).map_err(Failure::file("writing", &file))?;
    }
    process::run(
        cargo(directory)
            .args(["build", "--release", "-Zbuild-std=std,panic_abort", "--target", TARGET, "--target-dir", "target"])
            // -Zbuild-std is for nightly compilers; Debian's is a stable one that has it all the same
            .env("RUSTC_BOOTSTRAP", "1"),
    )
}

fn install_standard_library(built: &Path, library: &Path) -> Result<()> {
    fs::create_dir_all(library).map_err(Failure::file("creating", library))?;
    for entry in built.read_dir().map_err(Failure::file("reading", built))? {
        let entry = entry.map_err(Failure::file("reading", built))?.path();
        let is_library = entry.extension().is_some_and(|extension| extension == "rlib" || extension == "rmeta");
        // our own empty crate is no part of it
        if let (true, Some(name)) = (is_library, entry.file_name().and_then(|name| name.to_str()))
            && !name.starts_with("libwasm_std")
        {
            fs::copy(&entry, library.join(name)).map_err(Failure::file("installing", &entry))?;
        }
    }
    Ok(())
}
