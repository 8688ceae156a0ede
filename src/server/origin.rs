//! Unsafe methods only from our own pages: the defence against forged requests that does not depend on
//! cookies alone.
//!
//! Browsers say where a request comes from in `Sec-Fetch-Site` (on trustworthy origins) and in `Origin` (on
//! every POST). One of them must be there and say "same origin"; a request with neither did not come from a
//! form of ours.

use axum::extract::{Request, State};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tracing::Instrument as _;

use crate::server::downloads::request_id;
use crate::server::plain_page;
use crate::server::state::AppState;

/// Refuses unsafe requests of foreign pages.
pub async fn check(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let is_safe = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let public = state.config().public_url.as_ref().map(|url| url.origin().ascii_serialization());
    if is_safe {
        return next.run(request).await;
    }
    if is_same_origin(&request, public.as_deref(), state.config().is_secure()) {
        // A task of its own: a browser that hangs up must not stop a change between its commit and the news
        // of it.
        return match tokio::spawn(next.run(request).in_current_span()).await {
            Ok(response) => response,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
    }
    let id = request_id(&request);
    tracing::warn!(path = request.uri().path(), "refused: the request did not come from a page of this site");
    plain_page::forbidden(
        "This request did not come from a page of this site",
        "Nothing was changed. Open Atelier at its own address and try again there. If you did, the address you use \
         differs from the one the server knows; an operator sets it with --public-url.",
        &id,
    )
    .into_response()
}

/// Whether the headers prove that the request came from our own origin.
fn is_same_origin(request: &Request, public: Option<&str>, is_secure: bool) -> bool {
    let headers = request.headers();
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match text("sec-fetch-site") {
        Some("same-origin") => return true,
        Some(_) => return false,
        None => {}
    }
    let Some(origin) = text(header::ORIGIN.as_str()) else {
        return false;
    };
    if let Some(public) = public {
        return origin == public;
    }
    let scheme = if is_secure { "https" } else { "http" };
    // HTTP/2 has the host in the address and no such header.
    let host = text(header::HOST.as_str()).or_else(|| request.uri().authority().map(|authority| authority.as_str()));
    host.is_some_and(|host| origin == format!("{scheme}://{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(pairs: &[(&'static str, &'static str)]) -> Request {
        let mut request = Request::default();
        for (name, value) in pairs {
            request.headers_mut().insert(*name, value.parse().expect("a value"));
        }
        request
    }

    #[test]
    fn only_our_own_origin_passes() {
        let host = ("host", "localhost:3000");
        for (pairs, public, allowed) in [
            (&[host, ("sec-fetch-site", "same-origin")][..], None, true),
            (&[host, ("sec-fetch-site", "cross-site"), ("origin", "http://localhost:3000")], None, false),
            (&[host, ("sec-fetch-site", "same-site")], None, false),
            (&[host, ("sec-fetch-site", "none")], None, false),
            (&[host, ("origin", "http://localhost:3000")], None, true),
            (&[host, ("origin", "http://lab--x.localhost:3000")], None, false),
            (&[host, ("origin", "https://localhost:3000")], None, false),
            (&[host, ("origin", "null")], None, false),
            (&[host], None, false),
            (&[host, ("origin", "https://atelier.example")], Some("https://atelier.example"), true),
            (&[host, ("origin", "http://localhost:3000")], Some("https://atelier.example"), false),
        ] {
            assert_eq!(is_same_origin(&request(pairs), public, false), allowed, "{pairs:?}");
        }
    }
}
