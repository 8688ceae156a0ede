//! Names that change with the content.

use sha2::{Digest, Sha256};

/// Returns 16 hexadecimal digits that name the content: enough that no two files of any release share them.
pub fn hash(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        // the length, so that moving bytes from one part to the next makes a difference
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Puts the hash before the extension: `fonts/inter.woff2` becomes `fonts/inter-3f2a….woff2`.
pub fn with_hash(path: &str, hash: &str) -> String {
    let name_at = path.rfind('/').map_or(0, |slash| slash + 1);
    match path[name_at..].rfind('.') {
        Some(dot) => format!("{}-{hash}{}", &path[..name_at + dot], &path[name_at + dot..]),
        None => format!("{path}-{hash}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_goes_before_the_extension() {
        assert_eq!(with_hash("icons.svg", "abc"), "icons-abc.svg");
        assert_eq!(with_hash("fonts/inter.woff2", "abc"), "fonts/inter-abc.woff2");
        assert_eq!(with_hash("v1.2/readme", "abc"), "v1.2/readme-abc");
    }

    #[test]
    fn the_hash_tells_contents_and_parts_apart() {
        assert_eq!(hash(&[b"a", b"b"]), hash(&[b"a", b"b"]));
        assert_ne!(hash(&[b"ab", b""]), hash(&[b"a", b"b"]));
        assert_eq!(hash(&[b"a"]).len(), 16);
    }
}
