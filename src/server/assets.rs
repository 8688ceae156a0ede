//! The site's files – wasm, script, styles, fonts, icons – served from the binary itself.
//!
//! `cargo xtask` writes them to `target/site`: nearly all with a hash of their content in the name, so that a
//! browser may keep them for ever, and with a brotli sibling made once at build time. `manifest.json` there
//! maps the name that code uses to the name on disk. A release build embeds the directory; a debug build
//! reads it when the first file is asked for. Without the directory (a plain `cargo check` on a fresh clone)
//! everything here still works and finds nothing.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use atelier_domain::text::hex;
use axum::body::{Body, Bytes};
use axum::http::header::{
    ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

use crate::server::request::list;

// Embedding follows the files that were there at the last build. Reading this variable, which xtask sets to
// the hash of the manifest, makes cargo build the crate anew when others have come.
#[cfg(not(debug_assertions))]
const _: Option<&str> = option_env!("ATELIER_SITE");

#[derive(RustEmbed)]
#[folder = "target/site"]
#[allow_missing = true]
struct Embedded;

/// A year, the longest that caches honour.
const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// For the few files whose name stays the same when their content changes.
const SHORT: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// Returns the address of a file under `public/` or of the style sheet: `/icons.svg` gives
/// `/icons-3f2a….svg`.
///
/// An unknown name is returned as it is, so that a page without its assets still renders.
#[must_use]
pub fn url(logical: &str) -> String {
    site().url(logical).to_owned()
}

/// Returns the name that script and wasm share, for `LeptosOptions::output_name`: `atelier-3f2a…`, or
/// `atelier`.
#[must_use]
pub fn pkg_name() -> String {
    site().renamed.get("pkg").cloned().unwrap_or_else(|| "atelier".to_owned())
}

/// Answers with the file at `path`, or nothing if there is none, for a caller that has a page for that.
#[must_use]
pub fn respond(method: &Method, path: &str, headers: &HeaderMap) -> Option<Response> {
    site().files.get(path.strip_prefix('/')?).map(|file| file.respond(method, headers))
}

fn site() -> &'static Site {
    static SITE: OnceLock<Site> = OnceLock::new();
    SITE.get_or_init(|| Site::load(Embedded::iter(), |name| Embedded::get(name).map(Loaded::from)))
}

/// A file as it comes from the binary or the disk.
struct Loaded {
    bytes: Bytes,
    hash: [u8; 32],
}

impl From<rust_embed::EmbeddedFile> for Loaded {
    fn from(file: rust_embed::EmbeddedFile) -> Self {
        let hash = file.metadata.sha256_hash();
        let bytes = match file.data {
            Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            Cow::Owned(bytes) => Bytes::from(bytes),
        };
        Self { bytes, hash }
    }
}

/// All files by path without the leading slash, and the new names by the old.
struct Site {
    files: HashMap<String, File>,
    renamed: HashMap<String, String>,
}

impl Site {
    fn load(names: impl Iterator<Item = Cow<'static, str>>, load: impl Fn(&str) -> Option<Loaded>) -> Self {
        let renamed: HashMap<String, String> =
            load("manifest.json").and_then(|file| serde_json::from_slice(&file.bytes).ok()).unwrap_or_default();
        let hashed: HashSet<&str> = renamed.values().map(|name| name.trim_start_matches('/')).collect();
        let files = names
            .filter(|name| name != "manifest.json" && !name.ends_with(".br"))
            .filter_map(|name| {
                let plain = load(&name)?;
                let file = File {
                    content_type: content_type(&name),
                    cache_control: if hashed.contains(&*name) { IMMUTABLE } else { SHORT },
                    brotli: load(&format!("{name}.br")).map(|file| file.bytes),
                    tag: hex(&plain.hash[..10]),
                    plain: plain.bytes,
                };
                Some((name.into_owned(), file))
            })
            .collect();
        Self { files, renamed }
    }

    fn url<'a>(&'a self, logical: &'a str) -> &'a str {
        self.renamed.get(logical).map_or(logical, String::as_str)
    }
}

struct File {
    content_type: HeaderValue,
    cache_control: HeaderValue,
    /// Names the content; each encoding of it is another entity and has a tag of its own.
    tag: String,
    plain: Bytes,
    brotli: Option<Bytes>,
}

impl File {
    fn respond(&self, method: &Method, headers: &HeaderMap) -> Response {
        if method != Method::GET && method != Method::HEAD {
            return (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "GET, HEAD")]).into_response();
        }
        let brotli = self.brotli.as_ref().filter(|_| accepts_brotli(headers));
        let tag = if brotli.is_some() { format!("\"{}-br\"", self.tag) } else { format!("\"{}\"", self.tag) };

        let mut response = Response::new(Body::empty());
        let out = response.headers_mut();
        out.insert(CACHE_CONTROL, self.cache_control.clone());
        out.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        out.insert(ETAG, HeaderValue::try_from(&tag).expect("hexadecimal digits and quotes are header characters"));
        if self.brotli.is_some() {
            out.insert(VARY, HeaderValue::from_static("accept-encoding"));
        }
        if is_known(headers, &tag) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return response;
        }

        out.insert(CONTENT_TYPE, self.content_type.clone());
        if brotli.is_some() {
            out.insert(CONTENT_ENCODING, HeaderValue::from_static("br"));
        }
        let bytes = brotli.unwrap_or(&self.plain);
        out.insert(CONTENT_LENGTH, HeaderValue::from(bytes.len()));
        if method == Method::GET {
            *response.body_mut() = Body::from(bytes.clone());
        }
        response
    }
}

/// Says whether the browser takes brotli: named, or covered by `*`, and not refused with `q=0`.
fn accepts_brotli(headers: &HeaderMap) -> bool {
    let mut any = false;
    for coding in list(headers, ACCEPT_ENCODING, ',') {
        let mut parts = coding.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let refused = parts
            .filter_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")))
            .any(|quality| quality.trim().parse() == Ok(0.0_f32));
        if name.eq_ignore_ascii_case("br") {
            return !refused;
        }
        any |= name == "*" && !refused;
    }
    any
}

/// Says whether the browser already has the entity with this tag.
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    list(headers, IF_NONE_MATCH, ',').any(|known| known == "*" || known.trim_start_matches("W/") == tag)
}

fn content_type(name: &str) -> HeaderValue {
    HeaderValue::from_static(match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("js") => "text/javascript; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("json") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    const MANIFEST: &str = r#"{ "/icons.svg": "/icons-abc.svg", "pkg": "atelier-123" }"#;

    fn site() -> Site {
        let files: HashMap<&str, &str> = HashMap::from([
            ("manifest.json", MANIFEST),
            ("icons-abc.svg", "<svg/>"),
            ("icons-abc.svg.br", "small"),
            ("robots.txt", "User-agent: *"),
        ]);
        let names: Vec<Cow<'static, str>> = files.keys().map(|name| Cow::Borrowed(*name)).collect();
        Site::load(names.into_iter(), |name| {
            files.get(name).map(|text| Loaded { bytes: Bytes::from_static(text.as_bytes()), hash: [7; 32] })
        })
    }

    fn get(name: &str, headers: &[(HeaderName, &str)]) -> Response {
        request(&Method::GET, name, headers)
    }

    fn request(method: &Method, name: &str, headers: &[(HeaderName, &str)]) -> Response {
        let headers = headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
        site().files[name].respond(method, &headers)
    }

    fn body(response: Response) -> Vec<u8> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(axum::body::to_bytes(response.into_body(), 1 << 20)).unwrap().to_vec()
    }

    #[test]
    fn names_go_through_the_manifest() {
        assert_eq!(site().url("/icons.svg"), "/icons-abc.svg");
        assert_eq!(site().url("/unknown.svg"), "/unknown.svg");
    }

    #[test]
    fn sends_brotli_to_those_who_take_it() {
        for (accepted, encoded) in [
            ("br", true),
            ("gzip, deflate, br, zstd", true),
            ("gzip;q=1.0, br;q=0.5", true),
            ("BR", true),
            ("*", true),
            ("br;q=0", false),
            ("br; q=0.000, *", false),
            ("*;q=0", false),
            ("gzip", false),
            ("brotli", false),
            ("", false),
        ] {
            let response = get("icons-abc.svg", &[(ACCEPT_ENCODING, accepted)]);
            assert_eq!(response.headers().contains_key(CONTENT_ENCODING), encoded, "{accepted}");
            assert_eq!(response.headers()[VARY], "accept-encoding");
            assert_eq!(body(response), if encoded { &b"small"[..] } else { b"<svg/>" }, "{accepted}");
        }
    }

    #[test]
    fn hashed_names_are_kept_for_ever_and_others_shortly() {
        let icons = get("icons-abc.svg", &[]);
        assert_eq!(icons.headers()[CACHE_CONTROL], "public, max-age=31536000, immutable");
        assert_eq!(icons.headers()[CONTENT_TYPE], "image/svg+xml");
        assert_eq!(icons.headers()[X_CONTENT_TYPE_OPTIONS], "nosniff");
        let robots = get("robots.txt", &[]);
        assert_eq!(robots.headers()[CACHE_CONTROL], "public, max-age=300");
        assert!(!robots.headers().contains_key(VARY), "it has one form only");
    }

    #[test]
    fn a_known_tag_saves_the_body() {
        let first = get("icons-abc.svg", &[(ACCEPT_ENCODING, "br")]);
        let tag = first.headers()[ETAG].to_str().unwrap().to_owned();
        for known in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()] {
            let again = get("icons-abc.svg", &[(ACCEPT_ENCODING, "br"), (IF_NONE_MATCH, &known)]);
            assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{known}");
            assert_eq!(again.headers()[ETAG], tag);
            assert!(body(again).is_empty());
        }
        let plain = get("icons-abc.svg", &[(IF_NONE_MATCH, &tag)]);
        assert_eq!(plain.status(), StatusCode::OK, "the plain form is another entity");
    }

    #[test]
    fn head_tells_the_length_without_the_body() {
        let response = request(&Method::HEAD, "icons-abc.svg", &[]);
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()[CONTENT_LENGTH], "6");
        assert!(body(response).is_empty());
    }

    #[test]
    fn other_methods_are_refused() {
        let response = request(&Method::POST, "icons-abc.svg", &[]);
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(response.headers()[ALLOW], "GET, HEAD");
    }

    #[test]
    fn the_manifest_and_the_compressed_files_have_no_address() {
        let site = site();
        let mut names: Vec<_> = site.files.keys().collect();
        names.sort();
        assert_eq!(names, ["icons-abc.svg", "robots.txt"]);
    }

    #[test]
    fn what_is_not_there_is_left_to_the_caller() {
        for path in ["/nothing.svg", "", "nothing", "/../Cargo.toml", "/manifest.json"] {
            assert!(respond(&Method::GET, path, &HeaderMap::new()).is_none(), "{path}");
        }
    }
}
