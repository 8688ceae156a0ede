//! What the tests of several crates share: a throw-away PostgreSQL, free ports, waiting for a condition.
//!
//! Nothing here skips: a test that needs PostgreSQL on a machine without it fails and says what to install.

pub mod http;
pub mod index;
pub mod postgres;
mod wait;

use std::net::{Ipv4Addr, TcpListener};

pub use wait::{TimedOut, poll_until, wait_until};

/// Returns a TCP port of 127.0.0.1 that was free a moment ago.
///
/// Another process can take it before the caller does; whoever starts a server on it should try again with a
/// fresh one.
///
/// # Panics
/// When the system has no free port left.
#[must_use]
pub fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .expect("the system gives out a free port of 127.0.0.1")
        .port()
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
    use super::*;

    #[test]
    fn a_free_port_can_be_bound() {
        let port = free_port();
        assert_ne!(port, 0);
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("nobody else took it in the meantime");
    }
}
