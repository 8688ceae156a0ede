//! Bytes between a channel and a stream, as they are: files, and what listens in an instance.

use std::sync::Arc;

use atelier_pipe::Wire;
use russh::ChannelWriteHalf;
use russh::server::Msg;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::handler::Connection;
use crate::intake::Inbox;

/// As much is read at once; the library cuts it into packets.
const PIECE: usize = 256 << 10;

/// Carries bytes until both sides have said all, or one is gone.
pub async fn carry(connection: &Connection, inbox: Arc<Inbox>, write: &ChannelWriteHalf<Msg>, wire: Wire) {
    let (mut read, mut to) = tokio::io::split(wire);
    let inward = async {
        let mut is_taken = true;
        while let Some(bytes) = inbox.take(usize::MAX).await {
            connection.count(bytes.len(), 0);
            // Whoever takes nothing any more may still have something to say; what comes meanwhile is let go.
            is_taken = is_taken && to.write_all(&bytes).await.is_ok();
        }
        let _ = to.shutdown().await;
    };
    let outward = async {
        loop {
            let mut piece = Vec::with_capacity(PIECE);
            match read.read_buf(&mut piece).await {
                Ok(1..) => {}
                _ => return,
            }
            connection.count(0, piece.len());
            if write.data_bytes(piece).await.is_err() {
                return;
            }
        }
    };
    let inward = async {
        inward.await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = outward => {}
        () = inward => {}
    }
}
