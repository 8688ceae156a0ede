//! `atelier launcher bridge <socket> <port> <name> <program> …`: runs a program that listens on a port of loopback, and joins a
//! socket to it. It runs where the program does, so that it finds the port also where the program has a network of its own,
//! which nobody else can reach.

use std::ffi::OsString;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use atelier_pipe::{Wire, join};
use rustix::process::{Signal, set_parent_process_death_signal};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};

/// Runs until the program has ended, and ends as it did. Returns only if it cannot begin.
pub fn serve(mut arguments: impl Iterator<Item = OsString>) -> Result<(), String> {
    let usage = "use: bridge SOCKET PORT NAME PROGRAM …";
    let socket = PathBuf::from(arguments.next().ok_or(usage)?);
    let port = arguments.next().and_then(|port| port.to_str()?.parse::<u16>().ok()).ok_or(usage)?;
    let name = arguments.next().ok_or(usage)?;
    let program = arguments.next().ok_or(usage)?;
    let mut command = Command::new(program);
    command.arg0(name).args(arguments).stdin(Stdio::null());
    let cannot =
        |error: std::io::Error| format!("The socket {} cannot be joined to port {port}: {error}.", socket.display());
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| cannot(error.into()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
    let status = runtime.block_on(run(&socket, port, command)).map_err(cannot)?;
    std::process::exit(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)));
}

async fn run(socket: &Path, port: u16, mut command: Command) -> std::io::Result<ExitStatus> {
    // The program hears of the end as well. It decides when that is, and this goes on until then.
    let _polite = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?);
    let listener = UnixListener::bind(socket)?;
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600))?;
    let mut child = command.spawn()?;
    let (tell, mut ended) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || tell.send(child.wait()));
    loop {
        tokio::select! {
            status = &mut ended => return status.unwrap_or_else(|_| Err(std::io::ErrorKind::BrokenPipe.into())),
            accepted = listener.accept() => {
                // Where there are too many open files, the next one may find room.
                if let Ok((stream, _)) = accepted {
                    tokio::spawn(carry(stream, port));
                } else {
                    tokio::task::yield_now().await;
                }
            }
        }
    }
}

/// One connection. One that the program does not take is closed, as the program itself would.
async fn carry(stream: UnixStream, port: u16) {
    let connected = match TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
        Ok(connected) => Ok(connected),
        // Some programs take “localhost” for the other address that it has.
        Err(_) => TcpStream::connect((Ipv6Addr::LOCALHOST, port)).await,
    };
    if let Ok(connected) = connected {
        // What cannot be set costs only time.
        let _ = connected.set_nodelay(true);
        drop(join(Wire::from(stream), Wire::from(connected)).await);
    }
}
