//! Where agents dial for a stream that was asked of them: after the handshake the connection is theirs to
//! carry bytes.

use std::sync::Arc;
use std::time::Duration;

use atelier_engine::fleet::Fleet;
use atelier_pipe::Wire;
use atelier_protocol::{HANDOVER, STREAM, TICKET};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::upgrade::downcast;
use tokio::net::{TcpStream, UnixStream};

use crate::server::connections::{Place, Quiet};
use crate::server::state::AppState;

/// How long an agent may take to give a connection; nobody waits longer for a stream.
const GIVING: Duration = Duration::from_secs(8);

/// Takes a stream. The ticket is all that counts: it was told to one agent, over a connection that was let
/// in.
pub async fn connect(State(state): State<AppState>, mut request: Request) -> Response {
    let Some(ticket) = ticket(request.headers()) else {
        return (StatusCode::BAD_REQUEST, "a stream needs an upgrade and a ticket").into_response();
    };
    let fleet = state.fleet().clone();
    if !fleet.awaits_stream(&ticket) {
        return (StatusCode::NOT_FOUND, "nobody waits for this stream").into_response();
    }
    if let Some(place) = request.extensions().get::<Arc<Place>>() {
        place.known_agent();
    }
    let Some(upgrade) = request.extensions_mut().remove::<OnUpgrade>() else {
        return (StatusCode::UPGRADE_REQUIRED, "this connection cannot become a stream").into_response();
    };
    // Agents offer it on the socket of this machine only, over which it works.
    let is_given = request.headers().contains_key(HANDOVER);
    tokio::spawn(hand_over(fleet, ticket, upgrade, is_given));
    let mut answer = StatusCode::SWITCHING_PROTOCOLS.into_response();
    let headers = answer.headers_mut();
    if is_given {
        headers.insert(HANDOVER, HeaderValue::from_static("1"));
    }
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static(STREAM));
    answer
}

fn ticket(headers: &HeaderMap) -> Option<String> {
    let is_ours = headers.get(header::UPGRADE).is_some_and(|value| value == STREAM);
    let ticket = headers.get(TICKET)?.to_str().ok()?;
    (is_ours && ticket.len() == 32).then(|| ticket.to_owned())
}

async fn hand_over(fleet: Fleet, ticket: String, upgrade: OnUpgrade, is_given: bool) {
    let wire = match upgrade.await {
        Ok(upgraded) => bare(upgraded),
        Err(error) => return tracing::debug!(%error, "a stream went away before it began"),
    };
    if !is_given {
        return fleet.stream_arrived(&ticket, wire);
    }
    match tokio::time::timeout(GIVING, atelier_pipe::take(wire)).await {
        Ok(Ok(wire)) => fleet.stream_arrived(&ticket, wire),
        Ok(Err(error)) => tracing::info!(%error, "an agent offered a connection and did not give it"),
        Err(_) => tracing::info!("an agent offered a connection and did not give it in time"),
    }
}

/// The connection itself, without what has read its head.
pub fn bare(upgraded: Upgraded) -> Wire {
    let upgraded = match downcast::<TokioIo<UnixStream>>(upgraded) {
        Ok(parts) => return Wire::from(parts.io.into_inner()).with_early(&parts.read_buf),
        Err(upgraded) => upgraded,
    };
    match downcast::<TokioIo<Quiet<TcpStream>>>(upgraded) {
        Ok(parts) => Wire::from(parts.io.into_inner().into_inner()).with_early(&parts.read_buf),
        Err(upgraded) => Wire::other(TokioIo::new(upgraded)),
    }
}
