//! Where the server is.

use crate::Failure;

/// The address of a server, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub is_secure: bool,
    pub host: String,
    pub port: u16,
    /// What stands before every path, without a slash at its end.
    pub path: String,
}

impl Address {
    /// Reads `https://host:port/path`.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let wrong = || {
            let example = "an address such as https://studio.example.org";
            Failure::usage(format!("ATELIER_URL is not {example}, but “{text}”"))
        };
        let (is_secure, rest) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return Err(wrong()),
        };
        let (host, path) = rest.split_once('/').map_or((rest, ""), |(host, path)| (host, path));
        let (name, port) = match host.rsplit_once(':') {
            // The colons of an IPv6 address stand in brackets.
            Some((name, port)) if !port.contains(']') => (name, port.parse().map_err(|_| wrong())?),
            _ => (host, if is_secure { 443 } else { 80 }),
        };
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '@') {
            return Err(wrong());
        }
        let path = path.trim_end_matches('/');
        let path = if path.is_empty() { String::new() } else { format!("/{path}") };
        Ok(Self { is_secure, host: name.to_owned(), port, path })
    }

    /// The name to connect to.
    pub fn name(&self) -> &str {
        self.host.trim_matches(['[', ']'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        for (text, is_secure, host, port, path) in [
            ("http://localhost:3000", false, "localhost", 3_000, ""),
            ("https://studio.example.org/", true, "studio.example.org", 443, ""),
            ("https://example.org/atelier/", true, "example.org", 443, "/atelier"),
            ("http://[::1]:80", false, "[::1]", 80, ""),
            ("http://[::1]", false, "[::1]", 80, ""),
        ] {
            let read = Address::parse(text).expect(text);
            assert_eq!(read, Address { is_secure, host: host.into(), port, path: path.into() });
        }
        for wrong in
            ["", "localhost:3000", "ftp://x", "http://", "http://:80", "http://a:b", "http://a b", "http://me@x"]
        {
            assert!(Address::parse(wrong).is_err_and(|why| why.words.contains("ATELIER_URL")), "{wrong}");
        }
    }
}
