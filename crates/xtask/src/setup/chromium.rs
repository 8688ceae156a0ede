//! The browser of the tests: a Chromium of the system, else Playwright's own.

use std::env;
use std::path::PathBuf;

use super::{Node, system};
use crate::failure::{Failure, Result};
use crate::process;
use crate::progress::step;
use crate::workspace::Workspace;

/// What a Chromium is called. The headless shell comes first: it is Chromium without the windows that nobody
/// sees in tests, and on two cores it makes them take about half the time.
const NAMES: [&str; 4] = ["chromium-headless-shell", "chromium", "google-chrome-stable", "google-chrome"];

/// Returns the system's Chromium, or the one that the person named in `CHROMIUM`.
pub fn find() -> Option<PathBuf> {
    env::var_os("CHROMIUM").map(PathBuf::from).or_else(|| NAMES.iter().find_map(|name| process::find(name)))
}

/// Provides a Chromium: nothing is returned when Playwright has downloaded one, which it then finds by
/// itself.
pub fn ensure(workspace: &Workspace, node: &Node) -> Result<Option<PathBuf>> {
    if let Some(chromium) = find() {
        return Ok(Some(chromium));
    }
    step("Downloading Playwright's Chromium", || {
        let mut install = node.command("npx");
        install.current_dir(workspace.end2end()).args(["--no-install", "playwright", "install", "chromium"]);
        if system::can_install() {
            install.arg("--with-deps");
        }
        process::run(&mut install).map_err(|failure| {
            Failure::new(format!(
                "{failure}. The browser tests need Chromium and found none on PATH. Install one, on Debian with \
                 `sudo apt-get install chromium`, or name it: CHROMIUM=/path/to/chromium cargo xtask test"
            ))
        })
    })?;
    Ok(None)
}
