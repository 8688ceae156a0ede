//! Each request gets an id, a log line and a count.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use atelier_studio::caller::RequestInfo;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::header::{self, AsHeaderName};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use futures::FutureExt as _;
use tracing::Instrument as _;

use crate::server::downloads::request_id;
use crate::server::state::AppState;

/// The header that carries the id back.
pub static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Gives the request its id and writes one line when it is done.
pub async fn trace(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let started = atelier_engine::clock::instant();
    let info = RequestInfo {
        id: format!("{:08x}", rand::random::<u32>()),
        address: client(request.extensions(), request.headers(), &state.config().trusted_proxies),
        is_forwarded: ["x-forwarded-for", "forwarded", "x-real-ip"]
            .iter()
            .any(|name| request.headers().contains_key(*name)),
    };
    request.extensions_mut().insert(info.clone());
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let route =
        request.extensions().get::<MatchedPath>().map_or_else(|| "other".to_owned(), |path| path.as_str().to_owned());
    let span = tracing::info_span!("request", request.id = %info.id, %method, %path);
    let mut response = next.run(request).instrument(span.clone()).await;
    let took = started.elapsed();
    let status = response.status();
    span.in_scope(|| report(status.as_u16(), took));
    metrics::counter!(
        "atelier_http_requests_total",
        "method" => method_label(&method),
        "route" => route.clone(),
        "status" => status_class(status.as_u16())
    )
    .increment(1);
    metrics::histogram!("atelier_http_request_seconds", "route" => route).record(took.as_secs_f64());
    if let Ok(value) = HeaderValue::from_str(&info.id) {
        response.headers_mut().insert(REQUEST_ID.clone(), value);
    }
    response
}

/// Turns a panic of one request into an error page; the rest of the server goes on.
pub async fn survive_panics(request: Request, next: Next) -> Response {
    let id = request_id(&request);
    match std::panic::AssertUnwindSafe(next.run(request)).catch_unwind().await {
        // The session layer answers with nothing when it cannot save.
        Ok(response) if response.status().as_u16() == 500 && !response.headers().contains_key(header::CONTENT_TYPE) => {
            crate::server::plain_page::broken(&id)
        }
        Ok(response) => response,
        Err(panic) => {
            tracing::error!(panic = panic_text(&*panic), "a request panicked");
            crate::server::plain_page::broken(&id)
        }
    }
}

/// Text with a NUL names nothing: databases and file systems take none, and would say so as their own fault.
pub async fn refuse_nul(request: Request, next: Next) -> Response {
    let uri = request.uri();
    let (in_path, in_query) = (uri.path().contains("%00"), uri.query().is_some_and(|query| query.contains("%00")));
    if !in_path && !in_query {
        return next.run(request).await;
    }
    let id = request.extensions().get::<RequestInfo>().map(|info| info.id.clone()).unwrap_or_default();
    let status = if in_path { StatusCode::NOT_FOUND } else { StatusCode::BAD_REQUEST };
    let text = "There is nothing at this address: it holds a NUL character.";
    if uri.path().starts_with(crate::server::rest::ROOT) {
        let code = if in_path { "not-found" } else { "not-understood" };
        return crate::server::rest::problem::Refusal::new(status, code, text).written(&id);
    }
    crate::server::plain_page::page(status, "Nothing here", text, &id)
}

fn report(status: u16, took: Duration) {
    let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    if status >= 500 {
        tracing::error!(status, duration_ms, "request failed");
    } else {
        tracing::debug!(status, duration_ms, "request done");
    }
}

/// Labels are a closed set, so that nobody can fill the metrics with made-up methods.
fn method_label(method: &axum::http::Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        _ => "other",
    }
}

const fn status_class(status: u16) -> &'static str {
    match status {
        0..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        _ => "5xx",
    }
}

/// Where a request comes from.
pub fn client(extensions: &axum::http::Extensions, headers: &HeaderMap, trusted: &[IpAddr]) -> IpAddr {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>().map_or(IpAddr::from([127, 0, 0, 1]), |info| info.0.ip());
    client_address(peer, headers, trusted)
}

/// The address that failures are counted under. Only a trusted proxy may speak for somebody else, and then
/// the last address that is not itself a trusted proxy counts.
pub fn client_address(peer: IpAddr, headers: &HeaderMap, trusted: &[IpAddr]) -> IpAddr {
    if !trusted.contains(&peer.to_canonical()) {
        return peer.to_canonical();
    }
    let forwarded = headers.get_all("x-forwarded-for").iter().map(|value| value.to_str().unwrap_or_default());
    let entries: Vec<&str> = forwarded.flat_map(|value| value.split(',')).map(str::trim).collect();
    // From the right: each trusted proxy has added who it heard from. What cannot be read ends the walk,
    // since everything to its left may have been written by the client.
    for entry in entries.into_iter().rev() {
        let address =
            entry.parse::<IpAddr>().ok().or_else(|| entry.parse::<SocketAddr>().ok().map(|socket| socket.ip()));
        match address.map(|address| address.to_canonical()) {
            Some(address) if trusted.contains(&address) => {}
            Some(address) => return address,
            None => break,
        }
    }
    peer.to_canonical()
}

/// What a panic said.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("without a message")
}

/// The parts of a header that is a list, which may also come as several lines.
pub fn list(headers: &HeaderMap, name: impl AsHeaderName, between: char) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(move |line| line.split(between)).map(str::trim)
}

/// Whether a header that is a list has that word.
pub fn says(headers: &HeaderMap, name: HeaderName, word: &str) -> bool {
    list(headers, name, ',').any(|said| said.eq_ignore_ascii_case(word))
}

/// The name of a cookie of ours; under TLS the prefix makes browsers tie it to this very host.
pub fn cookie_name(name: &str, is_secure: bool) -> String {
    if is_secure { format!("__Host-{name}") } else { name.to_owned() }
}

pub fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let mut pairs = list(headers, header::COOKIE, ';').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn only_a_trusted_proxy_may_speak_for_others() {
        let mut headers = HeaderMap::new();
        headers.insert("x-forwarded-for", HeaderValue::from_static("203.0.113.9, 198.51.100.2, 10.0.0.2"));
        assert_eq!(client_address(ip("192.0.2.1"), &headers, &[]), ip("192.0.2.1"));
        assert_eq!(client_address(ip("10.0.0.1"), &headers, &[ip("10.0.0.1"), ip("10.0.0.2")]), ip("198.51.100.2"));
        assert_eq!(client_address(ip("10.0.0.1"), &HeaderMap::new(), &[ip("10.0.0.1")]), ip("10.0.0.1"));
        headers.insert("x-forwarded-for", HeaderValue::from_static("203.0.113.9, 198.51.100.2:4711"));
        assert_eq!(client_address(ip("10.0.0.1"), &headers, &[ip("10.0.0.1")]), ip("198.51.100.2"));
        headers.insert("x-forwarded-for", HeaderValue::from_static("203.0.113.9, unknown"));
        assert_eq!(client_address(ip("10.0.0.1"), &headers, &[ip("10.0.0.1")]), ip("10.0.0.1"));
        assert_eq!(client_address(ip("::ffff:192.0.2.1"), &headers, &[]), ip("192.0.2.1"));
    }
}
