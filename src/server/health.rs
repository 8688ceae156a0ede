//! `/healthz`, `/readyz` and `/metrics`, for machines.

use std::net::IpAddr;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use secrecy::ExposeSecret as _;
use sha2::{Digest as _, Sha256};

use crate::server::apps::host;
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

/// Prometheus' text, for the bearer of the token. Without one it is at the socket in the data directory
/// alone: any program on this machine, and any page in a browser on it, could ask as this machine.
pub async fn metrics(State(state): State<AppState>, request: Request) -> Response {
    let headers = request.headers();
    let given = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "));
    let token = state.config().metrics_token.as_ref();
    let is_allowed = given.zip(token).is_some_and(|(given, token)| same(given, token.expose_secret()));
    if !is_allowed {
        let text = "Metrics are for the bearer of the token that is set with --metrics-token. Without a token, read \
                    them on the server itself: curl --unix-socket DATA/agents.sock http://localhost/metrics\n";
        return (StatusCode::FORBIDDEN, text).into_response();
    }
    if !is_own_name(&state, host::without_port(host::of(request.uri(), headers))) {
        let text = "Ask for metrics by this server’s own name or address.\n";
        return (StatusCode::MISDIRECTED_REQUEST, text).into_response();
    }
    metrics_text(&state)
}

/// The same at the socket in the data directory, which only the server's own user can open.
pub async fn metrics_here(State(state): State<AppState>) -> Response {
    metrics_text(&state)
}

fn metrics_text(state: &AppState) -> Response {
    state.engine().status().measure();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], state.metrics_text()).into_response()
}

/// Whether a name is this server's: an address, `localhost`, or what people type.
fn is_own_name(state: &AppState, name: &str) -> bool {
    let public = state.config().public_url.as_ref().and_then(|url| url.host_str());
    name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || public.is_some_and(|public| public.eq_ignore_ascii_case(name))
}

/// Compares hashes, so that the time taken tells nothing about the token.
fn same(given: &str, expected: &str) -> bool {
    Sha256::digest(given) == Sha256::digest(expected)
}
