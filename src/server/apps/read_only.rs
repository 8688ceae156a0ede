//! What passes at an application for somebody who may only look.
//!
//! Looking is asking without changing anything: the methods that HTTP calls safe. What comes over a WebSocket
//! cannot be told apart from here, so none is opened; the terminal is our own and drops what is typed
//! instead.

use axum::http::{HeaderMap, HeaderName, Method, header};

/// Why a request is refused, for people.
pub type Refusal = &'static str;

/// Headers with which some frameworks let a request pass for one of another method.
const OVERRIDES: [&str; 3] = ["x-http-method-override", "x-http-method", "x-method-override"];

/// Judges by method, headers and whether a body follows, and takes away what would make an application see
/// another method. Some frameworks read a form from the body of whatever comes.
pub fn check(method: &Method, headers: &mut HeaderMap, has_body: bool) -> Result<(), Refusal> {
    if headers.contains_key(header::UPGRADE) {
        return Err("This is shared with you to read. Live connections could change something and are not opened.");
    }
    if !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return Err("This is shared with you to read. Nothing can be run, changed or saved here.");
    }
    if has_body {
        return Err("This is shared with you to read. Requests that carry something are not passed on.");
    }
    for name in OVERRIDES {
        headers.remove(HeaderName::from_static(name));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_safe_methods_pass_and_none_in_disguise() {
        for (method, passes) in [
            ("GET", true),
            ("HEAD", true),
            ("OPTIONS", true),
            ("POST", false),
            ("PUT", false),
            ("PATCH", false),
            ("DELETE", false),
            ("PROPFIND", false),
            ("CONNECT", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("x-http-method-override", HeaderValue::from_static("DELETE"));
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let with_body = check(&method, &mut headers.clone(), true);
            assert!(with_body.is_err(), "{method} with a body");
            let judged = check(&method, &mut headers, false);
            assert_eq!(judged.is_ok(), passes, "{method}");
            assert!(!passes || headers.is_empty(), "{method}");
        }
        let mut socket = HeaderMap::new();
        socket.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        assert!(check(&Method::GET, &mut socket, false).is_err_and(|why| why.contains("Live connections")));
    }
}
