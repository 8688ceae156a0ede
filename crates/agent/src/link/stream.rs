//! A connection to the server that carries the bytes of one stream.

use atelier_pipe::Wire;
use atelier_protocol::{HANDOVER, STREAM, STREAM_PATH, TICKET};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use super::dial;
use crate::config::AgentConfig;

/// The longest head of an answer.
const LONGEST_HEAD: usize = 16 << 10;

/// A stream, as the server has taken it.
pub struct Stream {
    pub wire: Wire,
    /// Whether the server would rather have the connection to what is wanted itself, given over this one.
    pub is_for_handover: bool,
}

/// Dials the server and shows a ticket. What the server has sent behind its answer is not lost. What can be
/// given away is offered to a server on this machine; one that does not know of that says nothing of it.
pub async fn open(config: &AgentConfig, ticket: &str, can_be_given: bool) -> Result<Stream, String> {
    let (host, path) = address(config)?;
    let mut wire = dial::connect(config).await?;
    let offer = if can_be_given && wire.is_local() { format!("{HANDOVER}: 1\r\n") } else { String::new() };
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: upgrade\r\nupgrade: {STREAM}\r\n{TICKET}: {ticket}\r\n\
         {offer}\r\n"
    );
    let cannot = |error: std::io::Error| error.to_string();
    wire.write_all(request.as_bytes()).await.map_err(cannot)?;
    wire.flush().await.map_err(cannot)?;
    let mut head = Vec::with_capacity(512);
    let end = loop {
        if let Some(at) = head.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break at + 4;
        }
        if head.len() > LONGEST_HEAD || wire.read_buf(&mut head).await.map_err(cannot)? == 0 {
            return Err("the server's answer has no end".to_owned());
        }
    };
    let (head, early) = head.split_at(end);
    let head = String::from_utf8_lossy(head);
    let mut lines = head.lines();
    let first = lines.next().unwrap_or_default();
    if first.split(' ').nth(1) == Some("101") {
        let is_for_handover = !offer.is_empty()
            && lines.filter_map(|line| line.split_once(':')).any(|(name, _)| name.eq_ignore_ascii_case(HANDOVER));
        Ok(Stream { wire: wire.with_early(early), is_for_handover })
    } else {
        Err(format!("it answers “{first}”"))
    }
}

/// The server's name, and where streams are: beside where agents call.
fn address(config: &AgentConfig) -> Result<(String, String), String> {
    if config.server.starts_with("unix:") {
        return Ok(("localhost".to_owned(), STREAM_PATH.to_owned()));
    }
    let request = config.server.as_str().into_client_request().map_err(|error| error.to_string())?;
    let host = request.uri().authority().ok_or("the server's address names no host")?.to_string();
    let before = request.uri().path().strip_suffix("/agent").unwrap_or_default();
    Ok((host, format!("{before}{STREAM_PATH}")))
}
