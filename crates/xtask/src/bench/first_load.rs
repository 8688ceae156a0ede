//! What a browser that was never here loads with a page: the document and every file that it names.

use std::collections::BTreeSet;
use std::io::Write;

use super::running::Running;
use crate::failure::{Failure, Result};

/// What the files of pages are called; whatever else is in quotes is a link.
const ASSETS: [&str; 7] = ["css", "ico", "js", "json", "svg", "wasm", "webmanifest"];

const FONTS: &str = "woff2";

/// What a proxy or a compressing server would take: much faster than the best, and nearly as small.
const QUALITY: u32 = 5;

/// The bytes of one page and its files, as they are sent.
#[derive(Debug, Default)]
pub struct FirstLoad {
    pub html: usize,
    /// What the document would be if it were sent compressed.
    pub html_as_brotli: usize,
    pub assets: usize,
    pub fonts: usize,
}

impl FirstLoad {
    pub fn without_fonts(&self) -> usize {
        self.html + self.assets
    }
}

/// Loads a page as a browser does that takes brotli and has nothing in its cache.
pub fn load(server: &Running, path: &str, cookie: &str) -> Result<FirstLoad> {
    let get = |path: &str, accept: &str| {
        let headers = [("accept", accept), ("accept-encoding", "br"), ("cookie", cookie)];
        let answer = server.ask("GET", path, &headers, "")?;
        match answer.status {
            200 => Ok(answer),
            status => Err(Failure::new(format!("GET {path}: status {status}"))),
        }
    };
    let page = get(path, "text/html")?;
    let mut html = Vec::new();
    if page.header("content-encoding") == Some("br") {
        brotli::BrotliDecompress(&mut page.body.as_slice(), &mut html)
            .map_err(|error| Failure::new(format!("GET {path}: this is no brotli: {error}")))?;
    } else {
        html.clone_from(&page.body);
    }
    let mut load = FirstLoad { html: page.body.len(), html_as_brotli: brotli(&html), ..FirstLoad::default() };
    let mut wanted = named_files(&String::from_utf8_lossy(&html));
    let mut loaded = BTreeSet::new();
    while let Some(file) = wanted.pop_first() {
        let answer = get(&file, "*/*")?;
        if extension(&file) == Some(FONTS) {
            load.fonts += answer.body.len();
        } else {
            load.assets += answer.body.len();
        }
        loaded.insert(file);
        // The page names its scripts and its wasm; the style sheet alone leads further, to fonts, and those
        // are left out.
    }
    if !loaded.iter().any(|file| extension(file) == Some("wasm")) {
        return Err(Failure::new(format!("{path} names no wasm; is this page still made of islands?")));
    }
    Ok(load)
}

/// The files that a document names between quotes, without what follows a `#`.
fn named_files(html: &str) -> BTreeSet<String> {
    html.split(['"', '\'', '`'])
        .filter(|text| text.starts_with('/') && !text.starts_with("//"))
        .filter_map(|text| text.split(['#', '?']).next())
        .filter(|path| extension(path).is_some_and(|found| found == FONTS || ASSETS.contains(&found)))
        .map(str::to_owned)
        .collect()
}

fn extension(path: &str) -> Option<&str> {
    path.rsplit('/').next()?.rsplit_once('.').map(|(_, extension)| extension)
}

fn brotli(bytes: &[u8]) -> usize {
    let mut compressor = brotli::CompressorWriter::new(Vec::new(), 1 << 16, QUALITY, 22);
    compressor.write_all(bytes).expect("writing to memory does not fail");
    compressor.into_inner().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_from_links() {
        let html = r#"<link href="/pkg/style-1a.css"><a href="/w/studio/admin/people?q=a.js">x</a>
            <use href="/icons-2b.svg#plus"/><use href="/icons-2b.svg#bell"/><link href="/fonts/inter-3c.woff2">
            <script>import('/pkg/atelier-4d.js').then(m => m.default({ path: '/pkg/atelier-4d_bg.wasm' }))</script>
            <a href="https://example.org/a.css">y</a><a href="//example.org/b.css">z</a>"#;
        let found = named_files(html);
        let expected = [
            "/fonts/inter-3c.woff2",
            "/icons-2b.svg",
            "/pkg/atelier-4d.js",
            "/pkg/atelier-4d_bg.wasm",
            "/pkg/style-1a.css",
        ];
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    }
}
