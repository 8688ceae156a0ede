//! `/healthz`, `/readyz` and `/metrics`, for machines.

use std::net::SocketAddr;
use std::time::Duration;

use atelier_studio::caller::RequestInfo;
use axum::extract::{ConnectInfo, Extension, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use secrecy::ExposeSecret as _;
use sha2::{Digest as _, Sha256};

use crate::server::state::AppState;

/// How long the database may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(5);

pub async fn healthz() -> &'static str {
    "ok\n"
}

/// The process can work: its database answers and its engine runs.
pub async fn readyz(State(state): State<AppState>) -> Response {
    // A database that hangs is one that does not answer.
    let ping = tokio::time::timeout(PATIENCE, state.store().ping()).await;
    match ping.map_err(|_| "no answer in time".to_owned()).and_then(|ping| ping.map_err(|error| error.to_string())) {
        Ok(()) => {
            let engine = state.engine().status();
            let complaint = engine.phase.complaint();
            let body = serde_json::json!({
                "ready": complaint.is_none(),
                "store": "ok",
                "engine": complaint.unwrap_or("ok"),
                "paused": engine.is_paused,
                "disk_low": engine.is_disk_low,
            });
            let status = if complaint.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            (status, axum::Json(body)).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "not ready: the database does not answer");
            let body = serde_json::json!({ "ready": false, "store": "the database does not answer; the log says why" });
            (StatusCode::SERVICE_UNAVAILABLE, axum::Json(body)).into_response()
        }
    }
}

/// Prometheus' text. With a token only for its bearer; without one only for this machine itself, and never
/// through a proxy, which would make everybody look local.
pub async fn metrics(
    State(state): State<AppState>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    Extension(info): Extension<RequestInfo>,
    headers: HeaderMap,
) -> Response {
    let is_allowed = match &state.config().metrics_token {
        Some(token) => {
            let given = headers
                .get(header::AUTHORIZATION)
                .and_then(|value| value.to_str().ok())
                .and_then(|value| value.strip_prefix("Bearer "));
            given.is_some_and(|given| same(given, token.expose_secret()))
        }
        // Behind a proxy everybody may look local.
        None if state.config().public_url.is_some() => false,
        None => peer.is_some_and(|peer| peer.0.0.ip().to_canonical().is_loopback()) && !info.is_forwarded,
    };
    if !is_allowed {
        let text = "Metrics are for the bearer of the token set with --metrics-token; without one, only for this \
                    machine itself.\n";
        return (StatusCode::FORBIDDEN, text).into_response();
    }
    state.engine().status().measure();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], state.metrics_text()).into_response()
}

/// Compares hashes, so that the time taken tells nothing about the token.
fn same(given: &str, expected: &str) -> bool {
    Sha256::digest(given) == Sha256::digest(expected)
}
