//! Files over HTTP, beside their pages: downloads, archives, pictures, uploads, the editor's text. The API uses the same parts.

pub mod download;
pub mod pieces;
pub mod save;
pub mod take;

use axum::extract::Request;
use axum::http::request::Parts;

use super::state::AppState;
use crate::api::caller::Caller;
use crate::error::AppError;

/// A parameter of an address; empty if there is none.
fn parameter(parts: &Parts, name: &str) -> String {
    let query = parts.uri.query().unwrap_or_default();
    let mut all = url::form_urlencoded::parse(query.as_bytes());
    all.find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
}

/// Who asks, and the rest of the request.
fn caller(state: AppState, request: Request) -> (Result<Caller, AppError>, Parts, axum::body::Body) {
    let (parts, body) = request.into_parts();
    (Caller::of(state, parts.clone()), parts, body)
}
