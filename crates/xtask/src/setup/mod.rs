//! What the tasks need on the machine: found, installed where we can, otherwise named with the command that
//! does.

mod chromium;
mod components;
mod debian_wasm;
mod node;
pub mod system;
pub mod wasm;

use std::path::PathBuf;

pub use components::ensure as for_lint;
pub use node::Node;

use crate::failure::Result;
use crate::workspace::Workspace;

/// What runs the browser tests.
#[derive(Debug)]
pub struct BrowserTools {
    pub node: Node,
    /// Absent when Playwright brings its own.
    pub chromium: Option<PathBuf>,
}

/// Provides OpenSSH's clients and its server, to measure beside.
pub fn sshd() -> Result<()> {
    system::ensure(&[system::SSH, system::SSHD])
}

/// Provides what the native tests call: PostgreSQL's programs, and bubblewrap.
pub fn for_native_tests() -> Result<()> {
    system::ensure(&[system::POSTGRES, system::BUBBLEWRAP, system::SSH, system::VENV])
}

/// Provides everything that `cargo xtask test` calls, besides the compiler.
pub fn for_tests(workspace: &Workspace) -> Result<BrowserTools> {
    let mut needs = vec![system::POSTGRES, system::BUBBLEWRAP, system::SSH, system::VENV, system::NODE, system::NPM];
    if system::is_debian() {
        needs.push(system::CHROMIUM);
    }
    system::ensure(&needs)?;
    let node = Node::ensure(workspace)?;
    let chromium = chromium::ensure(workspace, &node)?;
    Ok(BrowserTools { node, chromium })
}
