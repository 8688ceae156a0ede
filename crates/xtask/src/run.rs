//! `cargo xtask run`: builds, then becomes the server, so that Ctrl-C and the exit code are the server's own.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use std::{env, fs, io};

use crate::failure::{Failure, Result};
use crate::progress::announce;
use crate::server::{self, Profile};
use crate::setup::system;
use crate::workspace::Workspace;

pub fn run(workspace: &Workspace, arguments: &[OsString]) -> Result<()> {
    // Its absence is no reason not to start: the first page then says what is shared.
    system::try_to_have(&system::BUBBLEWRAP);
    let binary = match released(workspace) {
        Some(binary) => {
            announce("Taking the release program, which is as new as its sources");
            binary
        }
        None => server::build_with_site(workspace, Profile::Dev)?,
    };
    let mut server = Command::new(&binary);
    server.arg("serve").args(arguments);
    if !chooses_data(arguments) {
        server.arg("--data").arg(workspace.root().join("data"));
    }
    announce("Starting Atelier");
    let error = server.exec();
    Err(Failure::new(format!("{} can't be started: {error}", binary.display())))
}

/// What the server is made of.
const SOURCES: [&str; 9] =
    ["Cargo.lock", "Cargo.toml", "build.rs", "crates", "migrations", "public", "src", "style", "terminal"];

/// The release program, where somebody has built one and nothing that it is made of has changed since.
fn released(workspace: &Workspace) -> Option<PathBuf> {
    let binary = server::release(workspace);
    let built_at = fs::metadata(&binary).and_then(|found| found.modified()).ok()?;
    let has_changed = SOURCES.iter().any(|name| changed_since(&workspace.root().join(name), built_at).unwrap_or(true));
    (!has_changed).then_some(binary)
}

/// Says whether a file, or anything in a folder, is newer than `since`.
fn changed_since(path: &Path, since: SystemTime) -> io::Result<bool> {
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() {
        return Ok(found.modified()? > since);
    }
    // Installed from the lock file beside it, as late as the first build.
    if path.ends_with("node_modules") {
        return Ok(false);
    }
    for entry in path.read_dir()? {
        if changed_since(&entry?.path(), since)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Says whether the person chose where the data lie, by a flag, the environment or a configuration file.
fn chooses_data(arguments: &[OsString]) -> bool {
    let by_flag = arguments.iter().filter_map(|argument| argument.to_str()).any(|argument| {
        ["--data", "--config"]
            .iter()
            .any(|flag| argument.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
    });
    by_flag || ["ATELIER_DATA", "ATELIER_CONFIG"].iter().any(|name| env::var_os(name).is_some())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn data_lie_in_the_repository_unless_said_otherwise() {
        let chooses = |arguments: &[&str]| chooses_data(&arguments.iter().map(OsString::from).collect::<Vec<_>>());
        assert!(!chooses(&["--listen", "127.0.0.1:4000"]));
        assert!(!chooses(&["--database-url", "postgres://x"]));
        assert!(chooses(&["--data", "/srv/atelier"]));
        assert!(chooses(&["--data=/srv/atelier"]));
        assert!(chooses(&["--config=atelier.toml"]));
    }

    #[test]
    fn a_program_is_old_once_one_of_its_sources_is_newer() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let file = folder.path().join("pages/home.rs");
        fs::create_dir(folder.path().join("pages")).expect("a folder can be made");
        fs::write(&file, "").expect("a file can be written");
        let written_at = fs::metadata(&file).and_then(|found| found.modified()).expect("it was just written");
        let second = Duration::from_secs(1);
        assert!(!changed_since(folder.path(), written_at + second).expect("it is there"));
        assert!(changed_since(folder.path(), written_at - second).expect("it is there"));
        assert!(changed_since(&folder.path().join("missing"), written_at).is_err());
        let installed = folder.path().join("node_modules");
        fs::create_dir(&installed).and_then(|()| fs::write(installed.join("late.js"), "")).expect("it can be written");
        assert!(!changed_since(&installed, written_at - second).expect("it is there"));
    }
}
