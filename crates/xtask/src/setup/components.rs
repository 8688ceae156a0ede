//! rustfmt and clippy, which a minimal installation of Rust leaves out.

use std::process::Command;

use crate::failure::Result;
use crate::process;
use crate::progress::step;
use crate::workspace::Workspace;

/// Provides what `lint` calls.
pub fn ensure(workspace: &Workspace) -> Result<()> {
    for (component, subcommand) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        if process::output(workspace.cargo().args([subcommand, "--version"])).is_err() {
            step(&format!("Adding {component} by rustup"), || {
                process::run(Command::new("rustup").current_dir(workspace.root()).args(["component", "add", component]))
            })?;
        }
    }
    Ok(())
}
