//! Redirects go to paths of this site only.

/// A path on this site, with its query: it starts with one `/` and cannot name another host.
pub fn parse(text: &str) -> Option<String> {
    // A browser strips tabs and line ends and takes `\` for `/`: refuse what it would rewrite.
    if !text.starts_with('/') || text.starts_with("//") || text.len() > 2_000 {
        return None;
    }
    if text.chars().any(|c| c.is_control() || c == '\\') || !text.is_ascii() {
        return None;
    }
    let base = url::Url::parse("http://local.invalid/").ok()?;
    let joined = base.join(text).ok()?;
    if joined.host_str() != Some("local.invalid") || joined.scheme() != "http" {
        return None;
    }
    let path = joined.path();
    if path.starts_with("//") {
        return None;
    }
    Some(joined.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}")))
}

/// The path of the page that a form was on, from the Referer header. Only its path is used, so a foreign page
/// can at most name a page of ours.
pub fn from_referer(referer: &str) -> Option<String> {
    let url = url::Url::parse(referer).ok()?;
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    parse(&format!("{}{query}", url.path()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_local_paths_pass() {
        for path in ["/", "/w/studio", "/w/studio/admin/people?q=a%20b&sort=name"] {
            assert_eq!(parse(path).as_deref(), Some(path));
        }
        for path in [
            "",
            "w",
            "//evil.example",
            "/\\evil.example",
            "\\/evil",
            "https://evil.example",
            "/\t/evil.example",
            "/a\nb",
            "javascript:alert(1)",
            "/..//evil.example",
        ] {
            assert_eq!(parse(path), None, "{path:?}");
        }
        assert_eq!(
            from_referer("http://localhost:3000/profile?tab=password#x").as_deref(),
            Some("/profile?tab=password")
        );
        assert_eq!(from_referer("about:blank"), None);
    }

    proptest! {
        #[test]
        fn whatever_passes_stays_on_this_host(text in "[/\\\\a-z:.@%?#\t]{0,40}") {
            if let Some(path) = parse(&text) {
                let base = url::Url::parse("https://atelier.example").expect("a url");
                let joined = base.join(&path).expect("joins");
                prop_assert_eq!(joined.host_str(), Some("atelier.example"));
            }
        }
    }
}
