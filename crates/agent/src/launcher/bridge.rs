//! `atelier launcher bridge <socket> <port> <name> <program> …`: runs a program that listens on a port of
//! loopback, and joins a socket to it. It runs where the program does, so that it finds the port also where
//! the program has a network of its own, which nobody else can reach.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
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
    // Some programs take “localhost” for the other address that it has.
    let connected = match connect(Ipv4Addr::LOCALHOST.into(), port).await {
        Some(connected) => Some(connected),
        None => connect(Ipv6Addr::LOCALHOST.into(), port).await,
    };
    if let Some(connected) = connected {
        // What cannot be set costs only time.
        let _ = connected.set_nodelay(true);
        drop(join(Wire::from(stream), Wire::from(connected)).await);
    }
}

/// A connection to what listens there, if that runs as the same user.
///
/// Where the network is shared with others of the machine, anybody could listen at the port before the
/// program does, and would be handed everything that is meant for it.
async fn connect(address: IpAddr, port: u16) -> Option<TcpStream> {
    let is_ours = || {
        let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
        let (v4, v6) = (read("/proc/self/net/tcp"), read("/proc/self/net/tcp6"));
        listens(address, port, &v4, &v6, rustix::process::geteuid().as_raw())
    };
    if !is_ours() {
        return None;
    }
    let connected = TcpStream::connect((address, port)).await.ok()?;
    // Asked again: it may have ended in between, and somebody else have taken its place.
    is_ours().then_some(connected)
}

/// Whether all that listens at an address and a port belongs to that user, and something does. The tables are
/// those of the kernel.
fn listens(address: IpAddr, port: u16, v4: &str, v6: &str, user: u32) -> bool {
    let words = |bytes: &[u8]| -> String {
        let words = bytes.chunks(4).filter_map(|word| <[u8; 4]>::try_from(word).ok());
        words.map(|word| format!("{:08X}", u32::from_ne_bytes(word))).collect()
    };
    // What listens everywhere listens here too, and what listens everywhere over IPv6 listens over IPv4 as
    // well.
    let addresses = match address {
        IpAddr::V4(v4) => [
            words(&v4.octets()),
            words(&Ipv4Addr::UNSPECIFIED.octets()),
            words(&v4.to_ipv6_mapped().octets()),
            words(&Ipv6Addr::UNSPECIFIED.octets()),
        ]
        .to_vec(),
        IpAddr::V6(v6) => [words(&v6.octets()), words(&Ipv6Addr::UNSPECIFIED.octets())].to_vec(),
    };
    let mut owners = v4.lines().chain(v6.lines()).filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (host, at) = fields.next()?.split_once(':')?;
        // 0A: it listens. The user is the fourth after that.
        let is_it = fields.nth(1)? == "0A"
            && u16::from_str_radix(at, 16) == Ok(port)
            && addresses.iter().any(|one| one == host);
        if is_it { fields.nth(3)?.parse::<u32>().ok() } else { None }
    });
    let first = owners.next();
    first == Some(user) && owners.all(|owner| owner == user)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

    fn line(local: &str, state: &str, user: u32) -> String {
        format!("   0: {local} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  {user}        0 20064 1\n")
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn only_what_the_same_user_listens_with_is_joined() {
        let (v4, v6) = (IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST));
        let everywhere = "00000000000000000000000000000000:1F90";
        for (table4, table6, to, is_ours) in [
            (line("0100007F:1F90", "0A", 7), String::new(), v4, true),
            (line("00000000:1F90", "0A", 7), String::new(), v4, true),
            (String::new(), line(everywhere, "0A", 7), v4, true),
            (String::new(), line("00000000000000000000000001000000:1F90", "0A", 7), v6, true),
            // Somebody else's, another port, another address, only a connection, and nothing at all.
            (line("0100007F:1F90", "0A", 8), String::new(), v4, false),
            (line("0100007F:1F91", "0A", 7), String::new(), v4, false),
            (line("0200007F:1F90", "0A", 7), String::new(), v4, false),
            (line("0100007F:1F90", "01", 7), String::new(), v4, false),
            (String::new(), String::new(), v4, false),
            // Beside somebody else's it is not known which of them answers.
            (line("0100007F:1F90", "0A", 8), line(everywhere, "0A", 7), v4, false),
        ] {
            let (table4, table6) = (format!("{HEAD}{table4}"), format!("{HEAD}{table6}"));
            assert_eq!(listens(to, 8_080, &table4, &table6, 7), is_ours, "{to} {table4}{table6}");
        }
    }

    #[tokio::test]
    async fn what_listens_here_is_found_in_the_tables_of_the_kernel() {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        assert!(connect(Ipv4Addr::LOCALHOST.into(), port).await.is_some());
        drop(listener);
        assert!(connect(Ipv4Addr::LOCALHOST.into(), port).await.is_none());
    }
}
