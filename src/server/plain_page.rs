//! The few pages that are made without the app: refusals before a request has got that far, and the page
//! after a crash.

use atelier_studio::html::attribute as escape;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

/// A page with a heading, a sentence and the request's id.
pub fn page(status: StatusCode, heading: &str, text: &str, request: &str) -> Response {
    let style = crate::server::assets::url("/pkg/atelier.css");
    let (heading, text, request) = (escape(heading), escape(text), escape(request));
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light \
         dark\"><title>{heading} · Atelier</title><link rel=\"stylesheet\" href=\"{style}\"></head><body><main \
         class=\"plain\"><h1>{heading}</h1><p>{text}</p><p class=\"faint\">Request <code>{request}</code></p><p><a \
         class=\"btn\" href=\"/\">Go to Atelier</a></p></main></body></html>"
    );
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response()
}

pub fn forbidden(heading: &str, text: &str, request: &str) -> Response {
    page(StatusCode::FORBIDDEN, heading, text, request)
}

/// 500, after a bug or when the store does not answer.
pub fn broken(request: &str) -> Response {
    page(
        StatusCode::INTERNAL_SERVER_ERROR,
        "The server could not finish this",
        "Try again in a moment; if you were changing something, look first whether it was done. If it happens again, \
         tell an administrator the request id: the server’s log holds the rest under it.",
        request,
    )
}

/// 503, while the database is away.
pub fn away(request: &str) -> Response {
    let text = "The database does not answer right now. Try again in a moment; if you were changing something, look \
                first whether it was done.";
    let mut page = page(StatusCode::SERVICE_UNAVAILABLE, "Not available right now", text, request);
    page.headers_mut().insert(header::RETRY_AFTER, axum::http::HeaderValue::from_static("5"));
    page
}
