//! Security headers of every response.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::server::state::AppState;

/// The policy of a page whose inline scripts carry `nonce`. Nothing else inline runs, nothing comes from
/// elsewhere.
pub fn content_security_policy(nonce: Option<&str>) -> String {
    let scripts = nonce.map(|nonce| format!(" 'nonce-{nonce}'")).unwrap_or_default();
    format!(
        "default-src 'none'; script-src 'self'{scripts} 'wasm-unsafe-eval'; style-src 'self'; img-src 'self'; font-src \
         'self'; connect-src 'self'; manifest-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; \
         frame-ancestors 'none'"
    )
}

/// Browsers ignore a cookie of the host that lacks `Secure`, the one that takes it away included; not every
/// layer says it.
fn add_secure(headers: &mut HeaderMap) {
    let header::Entry::Occupied(mut cookies) = headers.entry(header::SET_COOKIE) else {
        return;
    };
    for cookie in cookies.iter_mut() {
        let text = cookie.to_str().unwrap_or_default();
        if !text.contains("; Secure")
            && let Ok(value) = HeaderValue::from_str(&format!("{text}; Secure"))
        {
            *cookie = value;
        }
    }
}

/// Adds what is missing; a page's own policy (with its nonce) stays.
pub async fn secure(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let fixed: [(HeaderName, &'static str); 5] = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY)
        && let Ok(policy) = HeaderValue::from_str(&content_security_policy(None))
    {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        // Pages hold what one person may see.
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    }
    if state.config().is_secure() {
        add_secure(headers);
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
    response
}
