//! Which headers go on to an application, and which come back from it.

use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::server::request::list;

/// Headers that are about one connection only.
const ONE_HOP: [HeaderName; 8] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

/// Takes away what is about one connection only, and what `Connection` says to be.
pub fn drop_one_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = list(headers, header::CONNECTION, ',').filter_map(|name| name.parse().ok()).collect();
    for name in named.iter().chain(&ONE_HOP) {
        headers.remove(name);
    }
}

/// Makes the headers of a request fit for an application: without our cookies, with what a proxy says.
pub fn for_app(headers: &mut HeaderMap, address: std::net::IpAddr, host: &str, is_secure: bool) {
    drop_our_cookies(headers);
    let said = [
        ("x-forwarded-for", address.to_string()),
        ("x-forwarded-host", host.to_owned()),
        ("x-forwarded-proto", if is_secure { "https" } else { "http" }.to_owned()),
    ];
    headers.remove(header::FORWARDED);
    for (name, value) in said {
        match HeaderValue::from_str(&value) {
            Ok(value) => drop(headers.insert(HeaderName::from_static(name), value)),
            Err(_) => drop(headers.remove(name)),
        }
    }
    if let (false, Ok(host)) = (headers.contains_key(header::HOST), HeaderValue::from_str(host)) {
        headers.insert(header::HOST, host);
    }
    // A token of this product is nothing for an application; its own kinds of authorisation are its own
    // business.
    let is_ours = |value: &HeaderValue| {
        let is_token = |word: &str| {
            [atelier_domain::token::PREFIX, atelier_domain::workload::PREFIX]
                .iter()
                .any(|start| word.starts_with(start))
        };
        value.to_str().is_ok_and(|text| text.split_whitespace().any(is_token))
    };
    if headers.get(header::AUTHORIZATION).is_some_and(is_ours) {
        headers.remove(header::AUTHORIZATION);
    }
}

/// Whether a cookie is one of this product's.
fn is_ours(name: &str) -> bool {
    name.starts_with("atelier") || name.starts_with("__Host-atelier") || name.starts_with("__Secure-atelier")
}

fn drop_our_cookies(headers: &mut HeaderMap) {
    let is_kept = |pair: &&str| !pair.is_empty() && !is_ours(pair.split_once('=').map_or(*pair, |(name, _)| name));
    let kept: Vec<&str> = list(headers, header::COOKIE, ';').filter(is_kept).collect();
    let kept = kept.join("; ");
    headers.remove(header::COOKIE);
    if let (false, Ok(value)) = (kept.is_empty(), HeaderValue::from_str(&kept)) {
        headers.insert(header::COOKIE, value);
    }
}

/// Makes the headers of an answer fit for the browser: an application sets cookies for its own address alone,
/// and not ours.
pub fn from_app(headers: &mut HeaderMap) {
    let header::Entry::Occupied(entry) = headers.entry(header::SET_COOKIE) else { return };
    let (_, cookies) = entry.remove_entry_mult();
    let kept: Vec<HeaderValue> = cookies.filter_map(|cookie| own_cookie(&cookie)).collect();
    for cookie in kept {
        headers.append(header::SET_COOKIE, cookie);
    }
}

fn own_cookie(cookie: &HeaderValue) -> Option<HeaderValue> {
    let text = cookie.to_str().ok()?;
    let name = text.split(['=', ';']).next().unwrap_or_default().trim();
    if is_ours(name) {
        return None;
    }
    let is_domain = |part: &str| {
        part.trim().get(..6).is_some_and(|start| start.eq_ignore_ascii_case("domain"))
            && part.trim()[6..].trim_start().starts_with('=')
    };
    let parts: Vec<&str> = text.split(';').filter(|part| !is_domain(part)).collect();
    HeaderValue::from_str(&parts.join(";")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn our_cookies_and_tokens_never_reach_an_application() {
        let mut sent = headers(&[
            ("host", "jupyter--mara--main.localhost:3000"),
            ("cookie", "atelier_session=1; _xsrf=2|x; __Host-atelier=3; atelier_app=4; theme=dark"),
            ("authorization", "Bearer atl_abc"),
            ("x-forwarded-for", "1.2.3.4"),
        ]);
        for_app(&mut sent, "127.0.0.1".parse().unwrap(), "jupyter--mara--main.localhost:3000", false);
        assert_eq!(sent["cookie"], "_xsrf=2|x; theme=dark");
        assert!(!sent.contains_key("authorization"));
        assert_eq!(sent["x-forwarded-for"], "127.0.0.1", "what a browser says is not passed on");
        assert_eq!(sent["host"], "jupyter--mara--main.localhost:3000");
        let mut workload = headers(&[("authorization", "Bearer atw_user-7.3.2.1000001.5f")]);
        for_app(&mut workload, "127.0.0.1".parse().unwrap(), "x", false);
        assert!(!workload.contains_key("authorization"), "a token of an instance is ours too");
        let mut own = headers(&[("authorization", "token abc"), ("cookie", "atelier=1")]);
        for_app(&mut own, "127.0.0.1".parse().unwrap(), "x", true);
        assert_eq!(own["authorization"], "token abc");
        assert!(!own.contains_key("cookie"));
    }

    #[test]
    fn an_application_sets_cookies_for_itself_alone() {
        let mut answer = HeaderMap::new();
        for cookie in [
            "_xsrf=1; Path=/",
            "a=1; Domain=localhost; Path=/",
            "b=2; domain = .example.org",
            "atelier_app=stolen",
            "__Host-atelier=x; Secure; Path=/",
            "domains=3",
        ] {
            answer.append("set-cookie", HeaderValue::from_static(cookie));
        }
        from_app(&mut answer);
        let kept: Vec<_> = answer.get_all("set-cookie").iter().map(|cookie| cookie.to_str().unwrap()).collect();
        assert_eq!(kept, ["_xsrf=1; Path=/", "a=1; Path=/", "b=2", "domains=3"]);
    }

    #[test]
    fn what_is_about_one_connection_stays_there() {
        let mut sent = headers(&[
            ("connection", "close, X-Secret"),
            ("x-secret", "1"),
            ("keep-alive", "5"),
            ("te", "trailers"),
            ("accept", "*/*"),
        ]);
        drop_one_hop(&mut sent);
        assert_eq!(sent, headers(&[("accept", "*/*")]));
    }
}
