//! The way into instances by SSH: who is let in, and until when. What is spoken on the wire is in
//! `crates/gateway`.

mod gate;
mod visit;

use std::sync::Arc;

use atelier_gateway::{HostKey, Limits};
use atelier_studio::instances::ssh::Directions;
use tokio::task::JoinHandle;

use crate::server::config::Config;
use crate::server::ssh::gate::Gate;
use crate::server::state::AppState;

/// Where the server's own key is, in the data directory.
const KEY_FILE: &str = "ssh/host_key";

/// Reads the server's key, and makes it at the first time; nothing to do where there is no SSH.
pub fn prepare(state: &AppState) -> Result<(), String> {
    if state.config().ssh_listen.is_some() {
        let key = HostKey::open(&state.config().data.join(KEY_FILE), rand::random())
            .map_err(|why| format!("ssh_listen: {why}"))?;
        if let Some(directions) = directions(state.config(), &key) {
            state.set_directions(directions);
        }
        state.set_host_key(key);
    }
    Ok(())
}

/// Serves until the server stops, and sees everybody off.
pub fn listen(state: &AppState, listener: std::net::TcpListener) -> Result<Option<JoinHandle<()>>, String> {
    let Some(key) = state.host_key().cloned() else { return Ok(None) };
    let listener = tokio::net::TcpListener::from_std(listener).map_err(|error| format!("ssh_listen: {error}"))?;
    let address = listener.local_addr().map_err(|error| format!("ssh_listen: {error}"))?;
    tracing::info!("SSH is ready at {address}; the server’s key is {}", key.fingerprint());
    let gate = Arc::new(Gate::new(state.clone()));
    let stops = state.live().stops();
    Ok(Some(tokio::spawn(atelier_gateway::serve(listener, key, gate, Limits::default(), stops))))
}

/// How people connect to instances of this server.
fn directions(config: &Config, key: &HostKey) -> Option<Directions> {
    let (host, port) = (config.ssh_host(), config.ssh_listen?.port());
    let line = key.public_line();
    let known_host = if port == 22 { format!("{host} {line}") } else { format!("[{host}]:{port} {line}") };
    Some(Directions { host, port, fingerprint: key.fingerprint(), known_host })
}
