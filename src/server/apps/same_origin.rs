//! Whether a request at an application's address comes from there.
//!
//! The cookie says who somebody is; these headers, which no script can set, say which page sent them. What an
//! application's own pages do passes; what any other page does in their name does not.

use axum::http::{HeaderMap, Method, header};

/// Why a request is refused, for people.
pub type Refusal = &'static str;

/// Judges by method and headers. `origin` is the application's own, as its browser writes it.
pub fn check(method: &Method, headers: &HeaderMap, origin: &str) -> Result<(), Refusal> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_own_origin = || text(header::ORIGIN.as_str()).is_some_and(|sent| sent == origin);
    if headers.contains_key(header::UPGRADE) {
        // Other pages may open sockets to anywhere; only this header says so.
        return if is_own_origin() {
            Ok(())
        } else {
            Err("Only this application's own pages open connections of this kind.")
        };
    }
    let site = text("sec-fetch-site");
    if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return match site {
            None | Some("same-origin" | "none") => Ok(()),
            // Somebody follows a link; but not into a frame.
            Some(_) if text("sec-fetch-mode") == Some("navigate") && text("sec-fetch-dest") == Some("document") => {
                Ok(())
            }
            Some(_) => Err("Other pages do not load anything from this application."),
        };
    }
    match site {
        Some("same-origin" | "none") => Ok(()),
        None if is_own_origin() => Ok(()),
        _ => Err("Only this application's own pages change anything here."),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    const OWN: &str = "http://jupyter--mara--main.localhost:3000";

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn every_method_and_every_site_are_judged() {
        let sites = [None, Some("same-origin"), Some("none"), Some("same-site"), Some("cross-site"), Some("strange")];
        let methods = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "PURGE"];
        let origins = [
            None,
            Some(OWN),
            Some("http://localhost:3000"),
            Some("null"),
            Some("http://jupyter--x--main.localhost:3000"),
        ];
        for method in methods {
            for site in sites {
                for origin in origins {
                    let mut sent = HeaderMap::new();
                    site.map(|site| sent.insert("sec-fetch-site", HeaderValue::from_static(site)));
                    origin.map(|origin| sent.insert("origin", HeaderValue::from_static(origin)));
                    let is_safe = matches!(method, "GET" | "HEAD" | "OPTIONS");
                    let allowed = match site {
                        Some("same-origin" | "none") => true,
                        None => is_safe || origin == Some(OWN),
                        Some(_) => false,
                    };
                    let judged = check(&Method::from_bytes(method.as_bytes()).unwrap(), &sent, OWN).is_ok();
                    assert_eq!(judged, allowed, "{method} {site:?} {origin:?}");
                }
            }
        }
    }

    #[test]
    fn links_from_elsewhere_are_followed_but_not_into_frames() {
        let from = |dest, mode| {
            let sent = headers(&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", mode), ("sec-fetch-dest", dest)]);
            check(&Method::GET, &sent, OWN).is_ok()
        };
        assert!(from("document", "navigate"));
        assert!(!from("iframe", "navigate"));
        assert!(!from("image", "no-cors"));
        assert!(!from("empty", "cors"));
    }

    #[test]
    fn sockets_need_our_own_origin() {
        for (origin, allowed) in [
            (Some(OWN), true),
            (Some("http://localhost:3000"), false),
            (Some("https://jupyter--mara--main.localhost:3000"), false),
            (None, false),
        ] {
            let mut sent = headers(&[("upgrade", "websocket"), ("sec-fetch-site", "same-origin")]);
            origin.map(|origin| sent.insert("origin", HeaderValue::from_static(origin)));
            assert_eq!(check(&Method::GET, &sent, OWN).is_ok(), allowed, "{origin:?}");
        }
    }
}
