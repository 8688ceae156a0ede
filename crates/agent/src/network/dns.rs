//! Names, for networks that lead out: what is asked inside is asked again of those whom the machine asks,
//! which may listen on its own loopback alone.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use atelier_pipe::{Wire, join};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::Semaphore;

/// So many questions are open at once for one network.
const MOST: usize = 128;
/// One that was not answered for so long is asked of the next.
const PATIENCE: Duration = Duration::from_secs(4);
/// The longest message over UDP.
const LONGEST: usize = 4_096;

/// Whom the machine asks, in turn.
fn servers() -> Vec<SocketAddr> {
    let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let named = text.lines().filter_map(|line| line.strip_prefix("nameserver")?.trim().parse::<IpAddr>().ok());
    named.map(|address| SocketAddr::new(address, 53)).collect()
}

/// What a network's own list of those says: us. What names are completed with stays.
pub fn settings() -> String {
    let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let kept = text.lines().filter(|line| line.starts_with("search ") || line.starts_with("domain "));
    kept.chain(["nameserver 127.0.0.1"]).map(|line| format!("{line}\n")).collect()
}

/// Answers over UDP.
pub async fn answer(socket: UdpSocket) {
    let (socket, room) = (Arc::new(socket), Arc::new(Semaphore::new(MOST)));
    let mut question = vec![0; LONGEST];
    while let Ok((length, from)) = socket.recv_from(&mut question).await {
        // Whoever has no room is not answered, and asks again.
        let Ok(permit) = Arc::clone(&room).try_acquire_owned() else { continue };
        let (socket, question) = (Arc::clone(&socket), question[..length].to_vec());
        tokio::spawn(async move {
            for server in servers() {
                if let Ok(Ok(answer)) = tokio::time::timeout(PATIENCE, ask(server, &question)).await {
                    let _ = socket.send_to(&answer, from).await;
                    break;
                }
            }
            drop(permit);
        });
    }
}

async fn ask(server: SocketAddr, question: &[u8]) -> io::Result<Vec<u8>> {
    let any: SocketAddr = if server.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
    // A port of its own for each: nobody can guess where an answer is awaited.
    let socket = UdpSocket::bind(any).await?;
    socket.connect(server).await?;
    socket.send(question).await?;
    let mut answer = vec![0; LONGEST];
    let length = socket.recv(&mut answer).await?;
    answer.truncate(length);
    Ok(answer)
}

/// Answers over TCP, which long answers need.
pub async fn answer_at_length(listener: TcpListener) {
    super::serve(listener, |stream| async move {
        for server in servers() {
            if let Ok(Ok(to)) = tokio::time::timeout(PATIENCE, TcpStream::connect(server)).await {
                return drop(join(Wire::from(stream), Wire::from(to)).await);
            }
        }
    })
    .await;
}
