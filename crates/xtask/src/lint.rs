//! Formatting and clippy, for both halves: the server's with its tests, the browser's as wasm.

use crate::{
    failure::Result,
    process,
    progress::step,
    setup::{self, wasm::Toolchain},
    workspace::{PRODUCT, Workspace},
};

pub fn lint(workspace: &Workspace, toolchain: &Toolchain) -> Result<()> {
    setup::for_lint(workspace)?;
    step("Checking the formatting", || process::run(workspace.cargo().args(["fmt", "--all", "--check"])))?;
    for (what, packages) in [("the product", PRODUCT.as_slice()), ("xtask", &["--package=xtask"])] {
        step(&format!("Clippy on {what}"), || {
            let mut clippy = workspace.cargo();
            clippy.args(["clippy", "--all-targets"]).args(packages).args(["--", "--deny=warnings"]);
            process::run(&mut clippy)
        })?;
    }
    // Debian's compiler, the fallback, comes without clippy; the other half has been checked all the same.
    if matches!(toolchain, Toolchain::Stock) {
        step("Clippy on the browser's half", || {
            let mut clippy = workspace.cargo();
            clippy.arg("clippy").args(toolchain.library_arguments(workspace)).args(["--", "--deny=warnings"]);
            process::run(&mut clippy)
        })?;
    }
    Ok(())
}
