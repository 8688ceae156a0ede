//! Connecting from inside a sandbox, as its person: what they may reach is decided by the system, not by the
//! agent.

use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use atelier_protocol::remote::Endpoint;

use crate::wire::{Outcome, Said, send};

/// How long one address may take; a port of this machine answers at once.
const PATIENCE: Duration = Duration::from_secs(5);

/// Connects, gives the connection to the agent, and ends.
pub fn serve(socket: &OwnedFd, to: &Endpoint) -> io::Result<()> {
    match connect(to) {
        Ok(connection) => send(socket, &Said::Spawned, &[connection.as_fd()], true),
        Err(why) => send(socket, &Said::Ended(Outcome::Refused(why)), &[], true),
    }
}

fn connect(to: &Endpoint) -> Result<OwnedFd, String> {
    match to {
        Endpoint::Socket(path) => {
            UnixStream::connect(path).map(OwnedFd::from).map_err(|error| format!("{path} cannot be reached: {error}"))
        }
        Endpoint::Tcp { host, port } => {
            let cannot = |error: io::Error| format!("{host}:{port} cannot be reached: {error}");
            let addresses = (host.as_str(), *port).to_socket_addrs().map_err(cannot)?;
            let mut last = format!("there is no host “{host}”");
            for address in addresses {
                match TcpStream::connect_timeout(&address, PATIENCE) {
                    Ok(stream) => {
                        // Small pieces leave at once; without that it works too.
                        let _ = stream.set_nodelay(true);
                        return Ok(stream.into());
                    }
                    Err(error) => last = cannot(error),
                }
            }
            Err(last)
        }
    }
}
