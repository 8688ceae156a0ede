//! The first words of an agent: short until it is known who speaks, then all that it has.

use std::pin::Pin;
use std::time::Duration;

use atelier_protocol::{DecodeError, Hello, ToServer, decode_first, decode_to_server};
use futures_util::{Stream, StreamExt as _};

use super::Frame;

/// How long an agent may take to say who it is, and then to say each of the rest.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most parts of jobs that one agent may have.
const MOST_PARTS: usize = 70_000;

/// Waits for the first message; nothing if none comes.
pub(super) async fn first<I: Stream<Item = Frame>>(mut incoming: Pin<&mut I>) -> Option<Result<ToServer, DecodeError>> {
    match tokio::time::timeout(PATIENCE, incoming.next()).await {
        Ok(Some(Frame::Text(text))) => Some(decode_first(&text)),
        _ => None,
    }
}

/// Waits for the parts that the hello had no room for.
///
/// # Errors
/// What came in their place, for people.
pub(super) async fn rest<I: Stream<Item = Frame>>(hello: &mut Hello, mut incoming: Pin<&mut I>) -> Result<(), String> {
    while hello.more {
        let text = match tokio::time::timeout(PATIENCE, incoming.next()).await {
            Ok(Some(Frame::Text(text))) => text,
            Ok(Some(Frame::Ping)) => continue,
            _ => return Err("it did not say all of its parts".into()),
        };
        match decode_to_server(&text) {
            Ok(ToServer::Parts { parts, more }) if hello.parts.len() + parts.len() <= MOST_PARTS => {
                hello.parts.extend(parts);
                hello.more = more;
            }
            Ok(ToServer::Parts { .. }) => return Err(format!("an agent has at most {MOST_PARTS} parts of jobs")),
            Ok(_) => return Err("say all of your parts first".into()),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}
