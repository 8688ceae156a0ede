//! The server's own key, made once: clients know the server again by it.

use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use russh::keys::ssh_key::LineEnding;
use russh::keys::ssh_key::private::Ed25519Keypair;
use russh::keys::{HashAlg, PrivateKey};

/// The server's key.
#[derive(Clone)]
pub struct HostKey(pub(crate) PrivateKey);

impl std::fmt::Debug for HostKey {
    /// Without the secret.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "HostKey({})", self.fingerprint())
    }
}

impl HostKey {
    /// The key in that file. One that is not there is made from the seed, and is whole or not there at all if
    /// this is cut short.
    ///
    /// # Errors
    /// For people: a file that cannot be read or written, or holds something else.
    pub fn open(file: &Path, seed: [u8; 32]) -> Result<Self, String> {
        match std::fs::read(file) {
            Ok(text) => PrivateKey::from_openssh(text)
                .map(Self)
                .map_err(|error| format!("{} holds no key for SSH: {error}", file.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::make(file, &seed),
            Err(error) => Err(format!("{} cannot be read: {error}", file.display())),
        }
    }

    fn make(file: &Path, seed: &[u8; 32]) -> Result<Self, String> {
        let cannot = |error: std::io::Error| format!("{} cannot be written: {error}", file.display());
        let key = PrivateKey::from(Ed25519Keypair::from_seed(seed));
        let text = key.to_openssh(LineEnding::LF).map_err(|error| format!("a key for SSH cannot be made: {error}"))?;
        let folder = file.parent().unwrap_or_else(|| Path::new("."));
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(cannot)?;
        let draft = file.with_extension("new");
        // One that was left half written is of no use to anybody.
        let _ = std::fs::remove_file(&draft);
        let write = || {
            let mut out = std::fs::File::options().write(true).create_new(true).mode(0o600).open(&draft)?;
            out.write_all(text.as_bytes())?;
            out.sync_all()?;
            std::fs::rename(&draft, file)?;
            std::fs::File::open(folder)?.sync_all()
        };
        write().map_err(cannot)?;
        Ok(Self(key))
    }

    /// What people compare when they connect for the first time: `SHA256:…`.
    pub fn fingerprint(&self) -> String {
        self.0.fingerprint(HashAlg::Sha256).to_string()
    }

    /// Its public half, as `known_hosts` has it.
    pub fn public_line(&self) -> String {
        let mut public = self.0.public_key().clone();
        public.set_comment("");
        public.to_openssh().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn it_is_made_once_for_the_server_alone_and_stays_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ssh/host_key");
        let made = HostKey::open(&file, [7; 32]).unwrap();
        assert!(made.fingerprint().starts_with("SHA256:"), "{made:?}");
        assert!(made.public_line().starts_with("ssh-ed25519 AAAA"), "{}", made.public_line());
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let again = HostKey::open(&file, [8; 32]).unwrap();
        assert_eq!(again.fingerprint(), made.fingerprint());
        std::fs::write(&file, "something else").unwrap();
        assert!(HostKey::open(&file, [7; 32]).unwrap_err().contains("holds no key"));
    }
}
