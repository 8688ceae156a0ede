//! Files over HTTP, beside their pages: downloads, archives, pictures, uploads, the editor's text. The API
//! uses the same parts.

use atelier_studio::caller::Caller;
use axum::extract::Request;
use axum::http::request::Parts;

use crate::error::AppError;
use crate::server::caller;
use crate::server::state::AppState;

/// A parameter of an address; empty if there is none.
pub fn parameter(parts: &Parts, name: &str) -> String {
    let query = parts.uri.query().unwrap_or_default();
    let mut all = url::form_urlencoded::parse(query.as_bytes());
    all.find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
}

/// Who asks, and the rest of the request.
pub fn asked(state: AppState, request: Request) -> (Result<Caller, AppError>, Parts, axum::body::Body) {
    let (parts, body) = request.into_parts();
    (caller::of(&state, &parts), parts, body)
}
