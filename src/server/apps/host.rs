//! Whose address a request was sent to: the portal's, or an application's own.
//!
//! An application lives at `<app>--<instance>--<workspace>.<apps domain>`. None of the three may contain two
//! hyphens in a row, so there is one way to read it; what does not read exactly so is nobody's address.

use std::fmt;

use axum::http::Uri;

/// The longest name of an application or workspace in an address, so that all fits into a DNS label.
const MAX_SHORT: usize = 16;
/// The longest name of an instance.
const MAX_NAME: usize = 24;

/// An application of an instance, by names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub app: String,
    pub instance: String,
    /// In which workspace, by its short name.
    pub workspace: String,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}--{}--{}", self.app, self.instance, self.workspace)
    }
}

/// What an address is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Portal,
    /// An application's, whether it exists or not.
    App(Place),
    /// Below the applications' domain, and no application's.
    Nobody,
}

/// Reads the host of a request.
pub fn read(host: &str, apps_domain: &str) -> Address {
    let name = without_port(host).trim_end_matches('.').to_ascii_lowercase();
    let Some(label) = name.strip_suffix(apps_domain).and_then(|rest| rest.strip_suffix('.')) else {
        return Address::Portal;
    };
    if !label.contains("--") {
        // The portal itself may live below the same domain.
        return Address::Portal;
    }
    read_label(label).map_or(Address::Nobody, Address::App)
}

/// Reads `<app>--<instance>--<workspace>`.
pub fn read_label(label: &str) -> Option<Place> {
    match label.split("--").collect::<Vec<_>>()[..] {
        [app, instance, workspace]
            if is_name(app, MAX_SHORT) && is_name(instance, MAX_NAME) && is_name(workspace, MAX_SHORT) =>
        {
            Some(Place { app: app.to_owned(), instance: instance.to_owned(), workspace: workspace.to_owned() })
        }
        _ => None,
    }
}

fn is_name(text: &str, most: usize) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty()
        && text.len() <= most
        && text.bytes().all(is_inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// The name without the port.
pub fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // Not the last part of an address in brackets.
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

/// The host that a request names: in its address under HTTP/2, in a header else.
pub fn of<'a>(uri: &'a Uri, headers: &'a axum::http::HeaderMap) -> &'a str {
    let named = headers.get(axum::http::header::HOST).and_then(|value| value.to_str().ok());
    uri.authority().map(axum::http::uri::Authority::as_str).or(named).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(app: &str, instance: &str, workspace: &str) -> Address {
        Address::App(Place { app: app.into(), instance: instance.into(), workspace: workspace.into() })
    }

    #[test]
    fn addresses_of_applications_are_read_exactly() {
        for (host, domain, address) in [
            ("jupyter--mara-fusion--main.localhost:3000", "localhost", app("jupyter", "mara-fusion", "main")),
            ("JUPYTER--Mara--MAIN.localhost", "localhost", app("jupyter", "mara", "main")),
            ("jupyter--mara--main.localhost.", "localhost", app("jupyter", "mara", "main")),
            ("jupyter--mara--main.apps.example.org", "apps.example.org", app("jupyter", "mara", "main")),
            ("localhost:3000", "localhost", Address::Portal),
            ("127.0.0.1:3000", "localhost", Address::Portal),
            ("[::1]:3000", "localhost", Address::Portal),
            ("atelier.localhost", "localhost", Address::Portal),
            ("jupyter--mara--main.example.org", "apps.example.org", Address::Portal),
            ("jupyter--mara--main.evilapps.example.org", "apps.example.org", Address::Portal),
            ("jupyter--mara--main.x.apps.example.org", "apps.example.org", Address::Nobody),
            ("x.jupyter--mara--main.localhost", "localhost", Address::Nobody),
            ("jupyter--mara.localhost", "localhost", Address::Nobody),
            ("a--b--c--d.localhost", "localhost", Address::Nobody),
            ("a----c.localhost", "localhost", Address::Nobody),
            ("--b--c.localhost", "localhost", Address::Nobody),
            ("a--b--.localhost", "localhost", Address::Nobody),
            ("a--b_c--d.localhost", "localhost", Address::Nobody),
            ("a---b--d.localhost", "localhost", Address::Nobody),
            ("aaaaaaaaaaaaaaaaa--b--d.localhost", "localhost", Address::Nobody),
        ] {
            assert_eq!(read(host, domain), address, "{host}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let place = Place { app: "terminal".into(), instance: "a-b-c".into(), workspace: "main".into() };
        assert_eq!(read(&format!("{place}.localhost:1"), "localhost"), Address::App(place));
    }
}
