//! Frames of a session, read and written.

use std::io;

use atelier_protocol::remote::{HEAD, Kind, head, read_head};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// The next frame; nothing once the other end is gone or says nonsense.
pub async fn read(from: &mut (impl AsyncRead + Unpin)) -> Option<(Kind, Vec<u8>)> {
    let mut first = [0; HEAD];
    from.read_exact(&mut first).await.ok()?;
    let (kind, length) = read_head(first).ok()?;
    // Whoever says nothing holds no buffer.
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes).await.ok()?;
    Some((kind, bytes))
}

/// Writes a frame whose bytes follow room for its head.
pub async fn write_in_place(to: &mut (impl AsyncWrite + Unpin), kind: Kind, bytes: &mut [u8]) -> io::Result<()> {
    let length = bytes.len() - HEAD;
    bytes[..HEAD].copy_from_slice(&head(kind, length));
    to.write_all(bytes).await
}
