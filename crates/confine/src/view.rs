//! Private views of the system: whether bubblewrap can make them here.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where bubblewrap is looked for; not in `PATH`, which may hold anything.
const PLACES: [&str; 3] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];

/// The program that makes private views, if it is there and works: inside a container it often does not.
///
/// # Errors
/// Why there are none, to be put behind a colon.
pub fn bubblewrap() -> Result<PathBuf, String> {
    let found = PLACES.iter().map(Path::new).find(|file| file.is_file());
    let program = found.ok_or("bubblewrap (bwrap) is not installed")?;
    let mut command = Command::new(program);
    command.args(["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--as-pid-1", "--die-with-parent"]);
    command.args(["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "/bin/sh", "-c", ":"]);
    let cannot = |why: &str| format!("bubblewrap does not work here ({why})");
    let output = command.stdin(Stdio::null()).output().map_err(|error| cannot(&error.to_string()))?;
    if output.status.success() {
        return Ok(program.to_owned());
    }
    let complaint: String = String::from_utf8_lossy(&output.stderr).trim().chars().take(300).collect();
    Err(cannot(if complaint.is_empty() { "it says nothing" } else { &complaint }))
}
