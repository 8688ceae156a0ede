//! `cargo xtask run`: builds, then becomes the server, so that Ctrl-C and the exit code are the server's own.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::failure::{Failure, Result};
use crate::progress::announce;
use crate::server::{self, Profile};
use crate::workspace::Workspace;

pub fn run(workspace: &Workspace, arguments: &[OsString]) -> Result<()> {
    let binary = server::build_with_site(workspace, Profile::Dev)?;
    let mut server = Command::new(&binary);
    server.arg("serve").args(arguments);
    if !chooses_data(arguments) {
        server.arg("--data").arg(workspace.root().join("data"));
    }
    announce("Starting Atelier");
    let error = server.exec();
    Err(Failure::new(format!("{} can't be started: {error}", binary.display())))
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
}
