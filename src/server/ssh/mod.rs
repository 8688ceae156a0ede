//! The way into instances by SSH: who is let in, and until when. What is spoken on the wire is in `crates/gateway`.

mod gate;
mod visit;

use std::sync::Arc;

use atelier_gateway::{HostKey, Limits};

use self::gate::Gate;
use super::state::AppState;

/// Where the server's own key is, in the data directory.
const KEY_FILE: &str = "ssh/host_key";

/// Reads the server's key, and makes it at the first time; nothing to do where there is no SSH.
pub fn prepare(state: &AppState) -> Result<(), String> {
    if state.config().ssh_listen.is_some() {
        let key = HostKey::open(&state.config().data.join(KEY_FILE), rand::random())
            .map_err(|why| format!("ssh_listen: {why}"))?;
        state.set_host_key(key);
    }
    Ok(())
}

/// Serves until the process ends.
pub fn listen(state: &AppState, listener: std::net::TcpListener) -> Result<(), String> {
    let Some(key) = state.host_key().cloned() else { return Ok(()) };
    let listener = tokio::net::TcpListener::from_std(listener).map_err(|error| format!("ssh_listen: {error}"))?;
    let address = listener.local_addr().map_err(|error| format!("ssh_listen: {error}"))?;
    tracing::info!("SSH is ready at {address}; the server’s key is {}", key.fingerprint());
    let gate = Arc::new(Gate::new(state.clone()));
    tokio::spawn(atelier_gateway::serve(listener, key, gate, Limits::default()));
    Ok(())
}

/// How people connect to an instance, as pages and the API say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directions {
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The server's key, as people compare it.
    pub fingerprint: String,
    /// The same for a file of known hosts.
    pub known_host: String,
}

impl Directions {
    /// Those of this server; nothing where there is no SSH.
    pub fn of(state: &AppState) -> Option<Self> {
        let (listen, key) = (state.config().ssh_listen?, state.host_key()?);
        let host = state.config().ssh_host();
        let known_host = if listen.port() == 22 {
            format!("{host} {}", key.public_line())
        } else {
            format!("[{host}]:{} {}", listen.port(), key.public_line())
        };
        Some(Self { host, port: listen.port(), fingerprint: key.fingerprint(), known_host })
    }

    /// The command that connects.
    pub fn command(&self, instance: &str) -> String {
        if self.port == 22 {
            format!("ssh {instance}@{}", self.host)
        } else {
            format!("ssh {instance}@{} -p {}", self.host, self.port)
        }
    }

    /// What belongs into `~/.ssh/config`, for editors and for a short name.
    pub fn snippet(&self, instance: &str) -> String {
        let (host, port) = (&self.host, self.port);
        format!(
            "Host {instance}\n    HostName {host}\n    Port {port}\n    User {instance}\n    ServerAliveInterval 30\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_can_be_copied() {
        let directions = Directions {
            host: "studio.example.org".into(),
            port: 2222,
            fingerprint: "SHA256:x".into(),
            known_host: String::new(),
        };
        assert_eq!(directions.command("desk"), "ssh desk@studio.example.org -p 2222");
        assert!(directions.snippet("desk").contains("Host desk\n    HostName studio.example.org\n    Port 2222\n"));
        assert_eq!(Directions { port: 22, ..directions }.command("desk"), "ssh desk@studio.example.org");
    }
}
