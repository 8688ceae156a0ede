//! Hashing and checking passwords: argon2id, off the async threads, a few at a time.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use argon2::password_hash::rand_core::OsRng;
use argon2::password_hash::{
    self, Decimal, Ident, Output, ParamsString, PasswordHash, PasswordHasher, PasswordVerifier as _, Salt, SaltString,
};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many may wait for their turn; whoever comes then is told to come back, so that a flood of guesses
/// costs little.
const MOST_WAITING: usize = 64;
/// How many of them may come from one source, so that one alone cannot fill the line.
const MOST_OF_ONE: usize = 8;

/// The hasher. Each hash takes 19 MiB and tens of milliseconds of a core, so only a few run at once; the rest
/// wait in line while pages go on.
#[derive(Clone, Debug)]
pub struct Passwords {
    turns: Arc<Semaphore>,
    line: Arc<Semaphore>,
    /// How many wait for each source.
    sources: Arc<Mutex<HashMap<IpAddr, usize>>>,
    /// The hash of nothing in particular, so that an unknown account takes as long as a known one.
    dummy: Arc<str>,
}

/// The right to hash now. What must not be overtaken by other tries is done while it is held.
#[derive(Debug)]
pub struct Turn {
    _permit: OwnedSemaphorePermit,
}

/// A source's place in the line.
struct Place {
    sources: Arc<Mutex<HashMap<IpAddr, usize>>>,
    source: IpAddr,
}

impl Place {
    fn take(passwords: &Passwords, source: IpAddr) -> Result<Self, HashError> {
        let mut sources = passwords.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = sources.entry(source).or_default();
        if *waiting >= MOST_OF_ONE {
            return Err(HashError::Busy);
        }
        *waiting += 1;
        Ok(Self { sources: Arc::clone(&passwords.sources), source })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = sources.get_mut(&self.source) {
            *waiting -= 1;
            if *waiting == 0 {
                sources.remove(&self.source);
            }
        }
    }
}

/// Why a password was not hashed.
#[derive(Debug, thiserror::Error)]
pub enum HashError {
    /// Too many wait already.
    #[error("too many passwords are being checked at once")]
    Busy,
    /// The machine is out of memory or threads.
    #[error("the password could not be hashed: {0}")]
    Failed(String),
}

impl Passwords {
    /// A hasher that uses at most half of the cores.
    pub fn new() -> Result<Self, HashError> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let dummy = nobodys_hash().map_err(|error| HashError::Failed(error.to_string()))?;
        let turns = Arc::new(Semaphore::new((cores / 2).max(1)));
        Ok(Self { turns, line: Arc::new(Semaphore::new(MOST_WAITING)), sources: Arc::default(), dummy: dummy.into() })
    }

    /// Waits in line for a turn at the word of somebody from there, or is turned away if the line is too
    /// long, or too many of it are theirs.
    pub async fn turn_of(&self, source: IpAddr) -> Result<Turn, HashError> {
        let _place = Place::take(self, source)?;
        self.turn().await
    }

    /// Waits in line for a turn, or is turned away if the line is too long.
    pub async fn turn(&self) -> Result<Turn, HashError> {
        let _place = self.line.try_acquire().map_err(|_| HashError::Busy)?;
        Arc::clone(&self.turns)
            .acquire_owned()
            .await
            .map(|permit| Turn { _permit: permit })
            .map_err(|error| HashError::Failed(error.to_string()))
    }

    pub async fn hash(&self, password: SecretString) -> Result<String, HashError> {
        let turn = self.turn().await?;
        off_the_async_threads(turn, move || hash_now(password.expose_secret())).await?.0
    }

    /// Whether the password fits the hash; gives the turn back for what belongs to it. Without a hash it
    /// takes as long and never fits.
    pub async fn verify(
        &self,
        turn: Turn,
        password: SecretString,
        hash: Option<String>,
    ) -> Result<(bool, Turn), HashError> {
        let dummy = Arc::clone(&self.dummy);
        off_the_async_threads(turn, move || {
            let is_known = hash.is_some();
            let text = hash.as_deref().unwrap_or(&dummy);
            let fits = PasswordHash::new(text)
                .is_ok_and(|parsed| argon2().verify_password(password.expose_secret().as_bytes(), &parsed).is_ok());
            fits && is_known
        })
        .await
    }
}

/// Runs the work with its turn: a caller that goes away does not set the turn free while the work still runs.
async fn off_the_async_threads<T: Send + 'static>(
    turn: Turn,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<(T, Turn), HashError> {
    tokio::task::spawn_blocking(move || (work(), turn)).await.map_err(|error| HashError::Failed(error.to_string()))
}

/// A temporary password that can be read over the phone: five groups of four, 100 bits, no letter that looks
/// like another.
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
    let hash =
        argon2().hash_password(password.as_bytes(), &salt).map_err(|error| HashError::Failed(error.to_string()))?;
    Ok(hash.to_string())
}

/// What checking compares with for an unknown account. It takes the same work as a true hash, and none to
/// make: hashing a password for it was half of the time that the server took to start.
fn nobodys_hash() -> password_hash::Result<String> {
    let Frugal { algorithm, version, params } = argon2();
    let salt = SaltString::encode_b64(&[0; Salt::RECOMMENDED_LENGTH])?;
    let hash = PasswordHash {
        algorithm: algorithm.ident(),
        version: Some(version.into()),
        params: ParamsString::try_from(&params)?,
        salt: Some(salt.as_salt()),
        hash: Some(Output::new(&[0; Params::DEFAULT_OUTPUT_LEN])?),
    };
    Ok(hash.to_string())
}

/// The parameters that OWASP names first: 19 MiB, two passes, one lane.
const fn argon2() -> Frugal {
    Frugal { algorithm: Algorithm::Argon2id, version: Version::V0x13, params: Params::DEFAULT }
}

/// argon2 whose memory goes back to the system after each hash.
///
/// glibc keeps what is freed for the thread that freed it. Left to itself, each thread that ever hashed holds
/// on to 19 MiB, and an idle server after a busy morning to hundreds.
struct Frugal {
    algorithm: Algorithm,
    version: Version,
    params: Params,
}

/// From this size on, glibc takes each piece from the system and gives it back at once, whatever happened
/// before (its `DEFAULT_MMAP_THRESHOLD_MAX`, 32 MiB). What is asked for and never touched costs nothing.
const GIVEN_BACK_AT_ONCE: usize = 33 << 20;

impl PasswordHasher for Frugal {
    type Params = Params;

    fn hash_password<'a>(&self, password: &[u8], salt: impl Into<Salt<'a>>) -> password_hash::Result<PasswordHash<'a>> {
        let salt = salt.into();
        let mut decoded = [0; Salt::MAX_LENGTH];
        let decoded = salt.decode_b64(&mut decoded)?;
        let count = self.params.block_count();
        let mut memory: Vec<Block> = Vec::with_capacity(count.max(GIVEN_BACK_AT_ONCE / size_of::<Block>()));
        memory.resize(count, Block::default());
        let argon2 = Argon2::new(self.algorithm, self.version, self.params.clone());
        let length = self.params.output_len().unwrap_or(Params::DEFAULT_OUTPUT_LEN);
        let output = Output::init_with(length, |out| {
            Ok(argon2.hash_password_into_with_memory(password, decoded, out, &mut memory)?)
        })?;
        Ok(PasswordHash {
            algorithm: self.algorithm.ident(),
            version: Some(self.version.into()),
            params: ParamsString::try_from(&self.params)?,
            salt: Some(salt),
            hash: Some(output),
        })
    }

    fn hash_password_customized<'a>(
        &self,
        password: &[u8],
        algorithm: Option<Ident<'a>>,
        version: Option<Decimal>,
        params: Params,
        salt: impl Into<Salt<'a>>,
    ) -> password_hash::Result<PasswordHash<'a>> {
        let algorithm = algorithm.map(Algorithm::try_from).transpose()?.unwrap_or_default();
        let version = version.map(Version::try_from).transpose()?.unwrap_or_default();
        Self { algorithm, version, params }.hash_password(password, salt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_right_password_fits_and_an_unknown_account_never_does() {
        let passwords = Passwords::new().expect("hashes");
        let hash = passwords.hash("kettle-orbit-violin".to_owned().into()).await.expect("hashes");
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        let verify = async |text: &str, hash: Option<String>| {
            let turn = passwords.turn().await.expect("a turn");
            passwords.verify(turn, text.to_owned().into(), hash).await.expect("verifies").0
        };
        assert!(verify("kettle-orbit-violin", Some(hash.clone())).await);
        assert!(!verify("kettle-orbit-viola", Some(hash)).await);
        assert!(!verify("a password that nobody has", None).await);
        assert!(!verify("anything", Some("not a hash".into())).await);
    }

    #[test]
    fn an_unknown_account_takes_the_work_of_a_known_one() {
        let (true_one, nobodys) = (hash_now("kettle-orbit-violin").expect("hashes"), nobodys_hash().expect("is made"));
        let work = |text: &str| {
            let hash = PasswordHash::new(text).expect("parses");
            let lengths = (hash.salt.expect("salt").len(), hash.hash.expect("output").len());
            (hash.algorithm.to_string(), hash.version, hash.params.to_string(), lengths)
        };
        assert_eq!(work(&nobodys), work(&true_one));
    }

    #[tokio::test]
    async fn a_flood_waits_in_a_line_of_bounded_length() {
        let passwords = Passwords::new().expect("hashes");
        let mut held = Vec::new();
        while let Ok(turn) = Arc::clone(&passwords.turns).try_acquire_owned() {
            held.push(turn);
        }
        let mut line = tokio::task::JoinSet::new();
        for _ in 0..MOST_WAITING + 10 {
            let passwords = passwords.clone();
            line.spawn(async move { passwords.turn().await.map(drop) });
        }
        // Those that are turned away answer at once; the others wait until turns are given back.
        let mut busy = 0;
        while busy < 10 {
            let answer = line.join_next().await.expect("one is turned away").expect("no panic");
            assert!(matches!(answer, Err(HashError::Busy)));
            busy += 1;
        }
        drop(held);
        assert_eq!(line.join_all().await.iter().filter(|answer| answer.is_ok()).count(), MOST_WAITING);
    }

    #[tokio::test]
    async fn one_source_cannot_fill_the_line() {
        let passwords = Passwords::new().expect("hashes");
        let mut held = Vec::new();
        while let Ok(turn) = Arc::clone(&passwords.turns).try_acquire_owned() {
            held.push(turn);
        }
        let (flood, owner) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let mut line = tokio::task::JoinSet::new();
        for _ in 0..MOST_WAITING {
            let passwords = passwords.clone();
            line.spawn(async move { passwords.turn_of(flood).await.map(drop) });
        }
        for _ in MOST_OF_ONE..MOST_WAITING {
            let answer = line.join_next().await.expect("one is turned away").expect("no panic");
            assert!(matches!(answer, Err(HashError::Busy)));
        }
        let of_owner = tokio::spawn({
            let passwords = passwords.clone();
            async move { passwords.turn_of(owner).await.map(drop) }
        });
        drop(held);
        assert!(of_owner.await.expect("no panic").is_ok());
        assert_eq!(line.join_all().await.iter().filter(|answer| answer.is_ok()).count(), MOST_OF_ONE);
        assert!(passwords.sources.lock().expect("whole").is_empty(), "nothing is remembered");
    }

    #[test]
    fn temporary_passwords_pass_the_rule_and_differ() {
        let (one, two) = (temporary(), temporary());
        assert_ne!(one, two);
        assert_eq!(atelier_domain::password::check("password", &one, "mara@example.org"), Ok(()));
        assert_eq!(one.len(), 24);
    }
}
