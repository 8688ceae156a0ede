//! The secrets of personal tokens: made once, shown once, kept as a hash.

use atelier_domain::text::hex;
use atelier_domain::token::PREFIX;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

/// A random token for a cookie: 128 bits in hexadecimal.
pub fn random_token() -> String {
    format!("{:032x}", rand::random::<u128>())
}

/// A fresh secret with 256 random bits, and its hash.
pub fn fresh() -> (String, String) {
    let secret = written(&rand::random::<[u8; 32]>());
    let hash = hash(&secret);
    (secret, hash)
}

/// What is kept of a secret. It has 256 random bits, so that nothing slower is needed.
pub fn hash(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

/// The prefix and the bytes in base64url, without padding.
fn written(bytes: &[u8; 32]) -> String {
    format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use atelier_domain::token::is_secret;

    use super::*;

    #[test]
    fn secrets_have_the_form_that_is_looked_for_and_never_come_twice() {
        let (first, hash_of_first) = fresh();
        let (second, _) = fresh();
        assert!(is_secret(&first) && is_secret(&second) && first != second, "{first}");
        assert_eq!(hash(&first), hash_of_first);
        assert_eq!(hash_of_first.len(), 64);
        assert_eq!(written(&[0; 32]), format!("atl_{}", "A".repeat(43)));
        assert_eq!(written(&[0xff; 32]), format!("atl_{}8", "_".repeat(42)));
    }
}
