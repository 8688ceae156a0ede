//! The terminal page: its own script and style from `terminal/`, and xterm.js from npm, at the locked
//! version.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::Site;
use crate::failure::{Failure, Result};
use crate::process;
use crate::progress::step;
use crate::setup::system;
use crate::workspace::Workspace;

/// Files by their names in the site, and where they come from below `terminal/`.
const FILES: [(&str, &str); 5] = [
    ("terminal.js", "terminal.js"),
    ("terminal.css", "terminal.css"),
    ("xterm.js", "node_modules/@xterm/xterm/lib/xterm.js"),
    ("xterm.css", "node_modules/@xterm/xterm/css/xterm.css"),
    ("addon-fit.js", "node_modules/@xterm/addon-fit/lib/addon-fit.js"),
];

pub fn add(site: &mut Site, workspace: &Workspace) -> Result<()> {
    let folder = workspace.root().join("terminal");
    install(&folder)?;
    for (name, path) in FILES {
        let file = folder.join(path);
        let bytes = fs::read(&file).map_err(Failure::file("reading", &file))?;
        site.add_hashed(&format!("terminal/{name}"), without_map(bytes));
    }
    Ok(())
}

/// Whether npm has put there what the lock names; it writes its own copy of the lock last.
fn install(folder: &Path) -> Result<()> {
    let is_there = |path: &str| folder.join(path).metadata().and_then(|found| found.modified()).ok();
    if is_there("node_modules/.package-lock.json") >= is_there("package-lock.json")
        && is_there("node_modules/.package-lock.json").is_some()
    {
        return Ok(());
    }
    system::ensure(&[system::NODE, system::NPM])?;
    step("Installing xterm.js from npm", || {
        let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
        process::run(Command::new("npm").args(arguments).current_dir(folder))
    })
}

/// Without the last line that names a map which is not served.
fn without_map(bytes: Vec<u8>) -> Vec<u8> {
    let mark: &[u8] = b"//# sourceMappingURL=";
    match bytes.windows(mark.len()).rposition(|window| window == mark) {
        Some(at) if bytes.len() - at < 200 => bytes[..at].to_vec(),
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_last_line_is_cut() {
        assert_eq!(without_map(b"code();\n//# sourceMappingURL=xterm.js.map".to_vec()), b"code();\n");
        assert_eq!(without_map(b"code();".to_vec()), b"code();");
        let early = [b"//# sourceMappingURL=x\n".to_vec(), vec![b'a'; 500]].concat();
        assert_eq!(without_map(early.clone()), early);
    }
}
