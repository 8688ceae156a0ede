//! What the tests of several crates share: a throw-away PostgreSQL, free ports, waiting for a condition.
//!
//! Nothing here skips: a test that needs PostgreSQL on a machine without it fails and says what to install.

pub mod http;
pub mod index;
pub mod postgres;
mod wait;

use std::fs::File;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Mutex, PoisonError};

pub use wait::{PATIENCE, TimedOut, poll_until, wait_until};

/// Ports below those that the system gives to whoever connects or asks for any.
const PORTS: std::ops::Range<u16> = 20_000..32_768;

/// Returns a free TCP port of 127.0.0.1 that no other test gets, of this process or another, for as long as
/// this process lives.
///
/// # Panics
/// When there is no free port left.
#[must_use]
pub fn free_port() -> u16 {
    static HELD: Mutex<Vec<File>> = Mutex::new(Vec::new());
    let folder = std::env::temp_dir().join("atelier-test-ports");
    // One that is there is as good.
    let _ = std::fs::create_dir(&folder);
    let count = u64::from(PORTS.end - PORTS.start);
    let start = RandomState::new().build_hasher().finish() % count;
    let ports = (0..count).map(|step| PORTS.start + u16::try_from((start + step) % count).expect("within the range"));
    for port in ports {
        // A lock ends with its process, however that ends. Where another user has the folder, luck decides.
        let file = File::options().create(true).append(true).open(folder.join(port.to_string()));
        let is_ours = file.as_ref().map_or(true, |file| file.try_lock().is_ok());
        if is_ours && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            HELD.lock().unwrap_or_else(PoisonError::into_inner).extend(file.ok());
            return port;
        }
    }
    panic!("no port of {PORTS:?} is free");
}

/// Asks a process to end, as `kill` does; through the shell's own `kill`, since not every machine has the
/// program.
pub fn terminate(process: u32) -> std::io::Result<()> {
    let status =
        std::process::Command::new("sh").args(["-c", "kill -TERM \"$1\"", "sh", &process.to_string()]).status()?;
    if status.success() { Ok(()) } else { Err(std::io::Error::other(format!("kill ended with {status}"))) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_free_port_can_be_bound() {
        let port = free_port();
        assert_ne!(port, 0);
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("nobody else took it in the meantime");
    }

    #[test]
    fn no_port_is_given_out_twice() {
        let ports: BTreeSet<u16> = (0..100).map(|_| free_port()).collect();
        assert_eq!(ports.len(), 100);
    }
}
