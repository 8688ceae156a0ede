//! Where agents call: the same WebSocket on the server's own address and, for agents on this machine, on a
//! socket in the data directory, which needs neither a port nor a certificate.

use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atelier_engine::fleet::{Fleet, Folders, Frame};
use atelier_protocol::MAX_FRAME;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use futures::{Sink, SinkExt as _, Stream, StreamExt as _};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::server::connections::Place;
use crate::server::read_limit::ReadLimited;
use crate::server::request::says;
use crate::server::state::AppState;

/// Agents are many and mostly quiet: what each of them holds all the time is small. Larger frames are read in
/// pieces.
const READ_BUFFER: usize = 8 << 10;

/// Lets an agent in. Who it is, it says in its first message; without that nothing is told to it.
pub async fn connect(State(state): State<AppState>, mut request: Request) -> Response {
    let Some(accept) = accept(request.headers()) else {
        return (StatusCode::BAD_REQUEST, "agents call with a WebSocket").into_response();
    };
    let Some(upgrade) = request.extensions_mut().remove::<OnUpgrade>() else {
        return (StatusCode::UPGRADE_REQUIRED, "this connection cannot become a WebSocket").into_response();
    };
    let (fleet, place) = (state.fleet().clone(), request.extensions_mut().remove::<Arc<Place>>());
    tokio::spawn(async move {
        match upgrade.await {
            Ok(upgraded) => serve(fleet, TokioIo::new(upgraded), place).await,
            Err(error) => tracing::debug!(%error, "an agent went away before it said anything"),
        }
    });
    let mut answer = StatusCode::SWITCHING_PROTOCOLS.into_response();
    let headers = answer.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    answer
}

/// The answer to a handshake, if it is one.
fn accept(headers: &HeaderMap) -> Option<HeaderValue> {
    let is_handshake = says(headers, header::CONNECTION, "upgrade")
        && says(headers, header::UPGRADE, "websocket")
        && says(headers, header::SEC_WEBSOCKET_VERSION, "13");
    let key = headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| is_handshake)?;
    HeaderValue::from_str(&derive_accept_key(key.as_bytes())).ok()
}

async fn serve(fleet: Fleet, connection: impl AsyncRead + AsyncWrite + Unpin + Send, place: Option<Arc<Place>>) {
    let (incoming, outgoing) = frames(connection, place).await;
    fleet.serve(incoming, outgoing).await;
}

/// A connection as frames. Until the first of them is there, no more of it is held than a first message may
/// have.
async fn frames<S: AsyncRead + AsyncWrite + Unpin + Send>(
    connection: S,
    place: Option<Arc<Place>>,
) -> (impl Stream<Item = Frame> + Send, impl Sink<Frame, Error = Error> + Send) {
    let (limited, mut limit) = ReadLimited::new(connection);
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_FRAME))
        .max_frame_size(Some(MAX_FRAME))
        .read_buffer_size(READ_BUFFER);
    let socket = WebSocketStream::from_raw_socket(limited, Role::Server, Some(config)).await;
    let (outgoing, incoming) = socket.split();
    let mut has_said_hello = false;
    let incoming = incoming.map(move |message| {
        // The fleet asks for more only of those that it knows.
        if std::mem::replace(&mut has_said_hello, true)
            && let Some(place) = &place
        {
            place.known_agent();
        }
        let frame = match message {
            Ok(Message::Text(text)) => Frame::Text(text.as_str().to_owned()),
            Ok(Message::Binary(bytes)) => Frame::Binary(bytes.to_vec()),
            Ok(Message::Ping(_) | Message::Pong(_)) => Frame::Ping,
            Ok(Message::Close(_) | Message::Frame(_)) | Err(_) => return None,
        };
        // What comes next is read once the fleet asks for it, and it asks no strangers.
        limit.lift();
        Some(frame)
    });
    // What is closed or broken is over.
    let incoming = incoming.take_while(|frame| std::future::ready(frame.is_some())).filter_map(std::future::ready);
    let outgoing = outgoing.with(|frame: Frame| async move {
        Ok::<_, Error>(match frame {
            Frame::Text(text) => Message::Text(text.into()),
            Frame::Binary(bytes) => Message::Binary(bytes.into()),
            Frame::Ping => Message::Ping(Vec::new().into()),
        })
    });
    (incoming, outgoing)
}

/// Opens the socket for agents on this machine, for us alone. One that is left from a server that was killed
/// is replaced: the lock on the data directory says that there is no other server.
pub fn listen(state: &AppState, folders: &Folders) -> Result<(), String> {
    let path = folders.socket();
    let cannot = |error: std::io::Error| format!("data: the socket {} cannot be made: {error}", path.display());
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(cannot(error)),
        _ => {}
    }
    let (folder, place) = short(&path).map_err(cannot)?;
    let listener = tokio::net::UnixListener::bind(&place).map_err(cannot)?;
    drop(folder);
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).map_err(cannot)?;
    let router = Router::new()
        .route("/agent", get(connect))
        .route("/metrics", get(crate::server::health::metrics_here))
        .route(atelier_protocol::STREAM_PATH, get(crate::server::agent_streams::connect))
        .with_state(state.clone());
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!(%error, "agents on this machine cannot call any more");
        }
    });
    Ok(())
}

/// A name for the socket that is short enough for the system, whatever the data directory is called.
fn short(path: &Path) -> std::io::Result<(std::fs::File, PathBuf)> {
    let (folder, name) = (path.parent().unwrap_or(Path::new(".")), path.file_name().unwrap_or_default());
    let folder = std::fs::File::open(folder)?;
    let place = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
    Ok((folder, place))
}

#[cfg(test)]
mod tests {
    use atelier_protocol::MAX_HELLO;
    use tokio::io::DuplexStream;

    use super::*;

    /// A server's end, and an agent's that sends all of these.
    fn agent(messages: Vec<String>) -> (DuplexStream, tokio::task::JoinHandle<usize>) {
        let (ours, theirs) = tokio::io::duplex(4 << 10);
        let sending = tokio::spawn(async move {
            let mut socket = WebSocketStream::from_raw_socket(theirs, Role::Client, None).await;
            let mut sent = 0;
            for message in messages {
                if socket.send(Message::text(message)).await.is_err() {
                    break;
                }
                sent += 1;
            }
            sent
        });
        (ours, sending)
    }

    #[tokio::test]
    async fn a_stranger_who_talks_too_long_is_not_listened_to() {
        let (ours, sending) = agent(vec!["x".repeat(MAX_FRAME - 1)]);
        let (incoming, outgoing) = frames(ours, None).await;
        assert_eq!(std::pin::pin!(incoming).next().await, None);
        drop(outgoing);
        // It could not send it all, since nobody took it.
        assert_eq!(sending.await.expect("ends"), 0);
    }

    #[tokio::test]
    async fn after_the_first_message_there_may_be_longer_ones() {
        let messages = vec!["h".repeat(MAX_HELLO), "x".repeat(MAX_FRAME - 1), "y".repeat(MAX_FRAME - 1)];
        let (ours, sending) = agent(messages.clone());
        let (incoming, _outgoing) = frames(ours, None).await;
        let frames: Vec<Frame> = incoming.take(3).collect().await;
        assert_eq!(frames, messages.into_iter().map(Frame::Text).collect::<Vec<_>>());
        assert_eq!(sending.await.expect("ends"), 3);
    }

    #[test]
    fn only_a_handshake_is_answered_as_one() {
        let headers = |pairs: &[(&'static str, &'static str)]| -> HeaderMap {
            let pair = |(name, value): &(&'static str, &'static str)| {
                (header::HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            pairs.iter().map(pair).collect()
        };
        let (connection, upgrade) = (("connection", "keep-alive, Upgrade"), ("upgrade", "WebSocket"));
        let (version, key) = (("sec-websocket-version", "13"), ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="));
        // The example of RFC 6455.
        let answer = accept(&headers(&[connection, upgrade, version, key])).expect("is one");
        assert_eq!(answer, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        for missing in 0..4 {
            let mut all = vec![connection, upgrade, version, key];
            all.remove(missing);
            assert_eq!(accept(&headers(&all)), None);
        }
    }
}
