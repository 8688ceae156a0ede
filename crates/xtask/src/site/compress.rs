//! Brotli at its best, made once at build time.

use std::io::Write;

/// The slowest and smallest: a file is compressed once and sent many times.
const QUALITY: u32 = 11;

/// The largest window that every browser takes.
const WINDOW: u32 = 22;

/// Returns the compressed form of a file, or nothing where it would not gain: fonts and pictures are
/// compressed already.
pub fn brotli(path: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let extension = path.rsplit_once('.').map(|(_, extension)| extension)?;
    if !["js", "wasm", "css", "svg", "json", "txt", "webmanifest"].contains(&extension) {
        return None;
    }
    let mut compressor = brotli::CompressorWriter::new(Vec::new(), 1 << 16, QUALITY, WINDOW);
    compressor.write_all(bytes).expect("writing to memory does not fail");
    let compressed = compressor.into_inner();
    (compressed.len() < bytes.len()).then_some(compressed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_shrinks_and_comes_back_the_same() {
        let text = "a { color: red }\n".repeat(100).into_bytes();
        let compressed = brotli("style.css", &text).expect("it gains");
        assert!(compressed.len() < 100);
        let mut back = Vec::new();
        brotli::BrotliDecompress(&mut compressed.as_slice(), &mut back).expect("it is brotli");
        assert_eq!(back, text);
    }

    #[test]
    fn what_does_not_gain_is_left() {
        assert_eq!(brotli("inter.woff2", &[0; 1000]), None);
        assert_eq!(brotli("a.txt", b""), None);
    }
}
