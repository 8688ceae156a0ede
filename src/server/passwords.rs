//! Hashing and checking passwords: argon2id, off the async threads, a few at a time.

use std::sync::Arc;

use argon2::password_hash::rand_core::OsRng;
use argon2::password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::Semaphore;

/// The hasher. Each hash takes 19 MiB and tens of milliseconds of a core, so only a few run at once; the rest wait in line
/// while pages go on.
#[derive(Clone, Debug)]
pub struct Passwords {
    turns: Arc<Semaphore>,
    /// The hash of nothing in particular, so that an unknown account takes as long as a known one.
    dummy: Arc<str>,
}

/// Hashing failed, which means that the machine is out of memory or threads.
#[derive(Debug, thiserror::Error)]
#[error("the password could not be hashed: {0}")]
pub struct HashError(String);

impl Passwords {
    /// A hasher that uses at most half of the cores.
    pub fn new() -> Result<Self, HashError> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let dummy = hash_now("a password that nobody has")?;
        Ok(Self { turns: Arc::new(Semaphore::new((cores / 2).max(1))), dummy: dummy.into() })
    }

    /// Hashes a password.
    pub async fn hash(&self, password: SecretString) -> Result<String, HashError> {
        self.in_turn(move || hash_now(password.expose_secret())).await?
    }

    /// Whether the password fits the hash. Without a hash it takes as long and never fits.
    pub async fn verify(&self, password: SecretString, hash: Option<String>) -> Result<bool, HashError> {
        let dummy = Arc::clone(&self.dummy);
        self.in_turn(move || {
            let is_known = hash.is_some();
            let text = hash.as_deref().unwrap_or(&dummy);
            let fits = PasswordHash::new(text)
                .is_ok_and(|parsed| argon2().verify_password(password.expose_secret().as_bytes(), &parsed).is_ok());
            fits && is_known
        })
        .await
    }

    async fn in_turn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, HashError> {
        let _turn = self.turns.acquire().await.map_err(|error| HashError(error.to_string()))?;
        tokio::task::spawn_blocking(work).await.map_err(|error| HashError(error.to_string()))
    }
}

/// A temporary password that can be read over the phone: five groups of four, 100 bits, no letter that looks like another.
pub fn temporary() -> String {
    readable_code(5)
}

/// Groups of four easily told letters and digits.
pub fn readable_code(groups: usize) -> String {
    use rand::Rng as _;
    const ALPHABET: &[u8; 32] = b"23456789abcdefghjkmnpqrstuvwxyz-";
    let mut random = rand::rng();
    let group = |random: &mut rand::rngs::ThreadRng| -> String {
        // 31 letters: the hyphen at the end of the alphabet only separates.
        (0..4).map(|_| char::from(ALPHABET[random.random_range(0..31)])).collect()
    };
    (0..groups).map(|_| group(&mut random)).collect::<Vec<_>>().join("-")
}

fn hash_now(password: &str) -> Result<String, HashError> {
    let salt = SaltString::generate(&mut OsRng);
    let hash = argon2().hash_password(password.as_bytes(), &salt).map_err(|error| HashError(error.to_string()))?;
    Ok(hash.to_string())
}

/// The parameters that OWASP names first: 19 MiB, two passes, one lane.
fn argon2() -> Argon2<'static> {
    Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::DEFAULT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_right_password_fits_and_an_unknown_account_never_does() {
        let passwords = Passwords::new().expect("hashes");
        let hash = passwords.hash("kettle-orbit-violin".to_owned().into()).await.expect("hashes");
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        let verify = |text: &str, hash: Option<String>| passwords.verify(text.to_owned().into(), hash);
        assert!(verify("kettle-orbit-violin", Some(hash.clone())).await.expect("verifies"));
        assert!(!verify("kettle-orbit-viola", Some(hash)).await.expect("verifies"));
        assert!(!verify("a password that nobody has", None).await.expect("verifies"));
        assert!(!verify("anything", Some("not a hash".into())).await.expect("verifies"));
    }

    #[test]
    fn temporary_passwords_pass_the_rule_and_differ() {
        let (one, two) = (temporary(), temporary());
        assert_ne!(one, two);
        assert_eq!(atelier_domain::password::check("password", &one, "mara@example.org"), Ok(()));
        assert_eq!(one.len(), 24);
    }
}
