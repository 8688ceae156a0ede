//! The few pages that this product shows at an application's address.

use atelier_studio::html::attribute as escape;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use crate::server::apps::host::Place;
use crate::server::state::AppState;

/// Goes on to another address.
pub fn go(address: &str) -> Response {
    match HeaderValue::from_str(address) {
        Ok(value) => {
            let headers = [(header::LOCATION, value), (header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

/// Its instance has no node.
pub fn not_running(state: &AppState, place: &Place) -> Response {
    unreachable(state, place, &format!("{} is not running.", place.instance))
}

/// It cannot be reached, and why.
pub fn unreachable(state: &AppState, place: &Place, why: &str) -> Response {
    let portal = state.config().address();
    let back = atelier_domain::paths::open_app(&place.workspace, &place.instance, &place.app, "/");
    let text = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light \
         dark\"><title>{app} cannot be reached</title></head><body><main><h1>{app} on {instance} cannot be \
         reached</h1><p>{why}</p><p><a href=\"{portal}{back}\">Start or look at it in \
         Atelier</a></p></main></body></html>",
        app = escape(&place.app),
        instance = escape(&place.instance),
        why = escape(why),
        portal = escape(&portal),
        back = escape(&back),
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (header::RETRY_AFTER, "1"),
    ];
    (StatusCode::SERVICE_UNAVAILABLE, headers, text).into_response()
}
