//! Public keys as people paste them: one line of OpenSSH's. What such a line holds is read by `ssh-key`, as
//! the gateway does it; which keys are taken, and what is said of the others, is decided here.

use ssh_key::public::KeyData;
use ssh_key::{EcdsaCurve, HashAlg};

use super::{MAX_KEY_TEXT, MAX_NAME};
use crate::text::{Problem, shortened};

/// The fewest bits of an RSA key.
const MIN_RSA_BITS: usize = 3072;
/// The most, since checking a signature takes longer with each.
const MAX_RSA_BITS: usize = 16_384;

/// The kind of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Short, quick and the usual one.
    Ed25519,
    /// On one of three curves, by its bits.
    Ecdsa(u16),
    Rsa(usize),
}

impl std::fmt::Display for Kind {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ed25519 => out.write_str("ed25519"),
            Self::Ecdsa(bits) => write!(out, "ecdsa {bits}"),
            Self::Rsa(bits) => write!(out, "rsa {bits}"),
        }
    }
}

/// A public key that may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    kind: Kind,
    key: ssh_key::PublicKey,
    comment: String,
}

impl PublicKey {
    /// Parses the field `key`: a line such as those in `id_ed25519.pub`.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        Self::read(text).map_err(|message| Problem::new("key", message))
    }

    fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("Paste the public half of a key: the line in ~/.ssh/id_ed25519.pub.".to_owned());
        }
        if text.contains("PRIVATE KEY") {
            return Err(
                "This is the private half of a key. It was not kept; still, it has left your machine, so make a \
                 new key with ssh-keygen -t ed25519 and paste the line in the file that ends in .pub."
                    .to_owned(),
            );
        }
        if text.len() > MAX_KEY_TEXT {
            return Err(format!("A key has at most {MAX_KEY_TEXT} characters; this has {}.", text.len()));
        }
        if text.contains("BEGIN SSH2 PUBLIC KEY") || text.contains("BEGIN PUBLIC KEY") || text.contains("BEGIN RSA") {
            return Err(
                "This key is written in another form. ssh-keygen -i -f FILE prints it in the form of OpenSSH, \
                 one line that begins with ssh-."
                    .to_owned(),
            );
        }
        if text.lines().filter(|line| !line.trim().is_empty()).count() > 1 {
            return Err("There is more than one line here. Add one key at a time.".to_owned());
        }
        let mut words = text.split_whitespace();
        let (named, coded) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        check_name(named)?;
        let comment = words.collect::<Vec<_>>().join(" ");
        let key = ssh_key::PublicKey::from_openssh(&format!("{named} {coded}")).ok();
        let (kind, key) = key
            .and_then(|key| Some((kind(key.key_data())?, key)))
            .ok_or("This key is damaged: a part of it is missing or was changed. Copy the whole line.")?;
        if let Kind::Rsa(bits @ ..MIN_RSA_BITS) = kind {
            return Err(format!(
                "This RSA key has {bits} bits, and fewer than {MIN_RSA_BITS} are not safe. Make a new one with \
                 ssh-keygen -t ed25519."
            ));
        }
        if let Kind::Rsa(bits) = kind
            && bits > MAX_RSA_BITS
        {
            return Err(format!("This RSA key has {bits} bits, and at most {MAX_RSA_BITS} are taken."));
        }
        Ok(Self { kind, key, comment })
    }

    pub const fn kind_of(&self) -> Kind {
        self.kind
    }

    /// Its fingerprint, as OpenSSH shows it and the gateway asks for it.
    pub fn fingerprint(&self) -> String {
        self.key.fingerprint(HashAlg::Sha256).to_string()
    }

    /// As OpenSSH writes it, without what it says about itself.
    pub fn line(&self) -> String {
        self.key.to_string()
    }

    /// What it says about itself.
    pub fn comment(&self) -> &str {
        &self.comment
    }
}

/// What a key is called by its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyName(String);

impl KeyName {
    /// Parses the field `name`: trimmed, at most [`MAX_NAME`] characters that can be shown. Left empty, it is
    /// what the key says about itself.
    pub fn parse(text: &str, key: &PublicKey) -> Result<Self, Problem> {
        let typed = text.trim();
        let text = if typed.is_empty() { key.comment() } else { typed };
        let count = text.chars().count();
        if count == 0 {
            return Err(Problem::new("name", "Give the key a name: the machine that it is on, for example."));
        }
        if typed.is_empty() {
            let shown = text.chars().filter(|c| !crate::text::is_unseen(*c)).take(MAX_NAME).collect();
            return Ok(Self(shown));
        }
        if count > MAX_NAME || text.chars().any(crate::text::is_unseen) {
            let message = format!("A name has at most {MAX_NAME} characters that can be shown; this has {count}.");
            return Err(Problem::new("name", message));
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a key is, if it is one of those that are taken.
fn kind(key: &KeyData) -> Option<Kind> {
    match key {
        KeyData::Ed25519(_) => Some(Kind::Ed25519),
        KeyData::Ecdsa(key) => Some(Kind::Ecdsa(match key.curve() {
            EcdsaCurve::NistP256 => 256,
            EcdsaCurve::NistP384 => 384,
            EcdsaCurve::NistP521 => 521,
        })),
        KeyData::Rsa(key) => {
            // To the bit: `key_size` counts whole bytes.
            let modulus = key.n().as_positive_bytes()?;
            Some(Kind::Rsa(modulus.len() * 8 - modulus.first()?.leading_zeros() as usize))
        }
        _ => None,
    }
}

/// Whether a kind of key is taken, or why it is not.
fn check_name(named: &str) -> Result<(), String> {
    const TAKEN: [&str; 5] =
        ["ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"];
    if TAKEN.contains(&named) {
        return Ok(());
    }
    let new = "Make one with ssh-keygen -t ed25519.";
    Err(match named {
        "ssh-dss" => format!("DSA keys are not safe any more and are not taken. {new}"),
        _ if named.starts_with("sk-") => format!("Keys that live in a security token are not taken yet. {new}"),
        _ if named.ends_with("-cert-v01@openssh.com") => {
            "This is a certificate. Paste the key itself: the file without -cert in its name.".to_owned()
        }
        _ => format!(
            "A key begins with ssh-ed25519, ecdsa-sha2-… or ssh-rsa, and this begins with “{}”. Copy the whole line of \
             a file that ends in .pub, without options before it.",
            shortened(named)
        ),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ED25519: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFh1mEm9PIUj6mTxXFcSJLdQ0nZjxhgUqGX6N8H2tGkQ mara@laptop";

    /// Written as a key, whatever it holds.
    fn line(name: &str, parts: &[&[u8]]) -> String {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut body = Vec::new();
        for part in [name.as_bytes()].iter().chain(parts) {
            body.extend((part.len() as u32).to_be_bytes());
            body.extend(*part);
        }
        let mut text = String::new();
        for piece in body.chunks(3) {
            let value =
                piece.iter().fold(0_u32, |held, byte| (held << 8) | u32::from(*byte)) << (8 * (3 - piece.len()));
            for place in 0..4 {
                let digit = DIGITS[((value >> (18 - 6 * place)) & 63) as usize] as char;
                text.push(if place <= piece.len() { digit } else { '=' });
            }
        }
        format!("{name} {text}")
    }

    #[test]
    fn usual_keys_are_taken() {
        let key = PublicKey::parse(&format!("  {ED25519}\n")).expect("a key");
        assert_eq!((key.kind_of(), key.comment()), (Kind::Ed25519, "mara@laptop"));
        assert_eq!(key.line(), ED25519.rsplit_once(' ').expect("words").0);
        // As `ssh-keygen -lf` says it.
        assert_eq!(key.fingerprint(), "SHA256:HWM7MXHEhprkSDqJvr/AMpJgfg+t4M0QdfFEWzTaxqY");
        let rsa = PublicKey::parse(&line("ssh-rsa", &[&[1, 0, 1], &[&[0, 0x80][..], &[7; 383]].concat()]));
        assert_eq!(rsa.expect("a key").kind_of().to_string(), "rsa 3072");
        let ecdsa = PublicKey::parse(&line("ecdsa-sha2-nistp384", &[b"nistp384", &[4; 97]])).expect("a key");
        assert_eq!(ecdsa.kind_of(), Kind::Ecdsa(384));
    }

    #[test]
    fn everything_else_is_refused_with_what_to_do() {
        let short = line("ssh-rsa", &[&[1, 0, 1], &[&[0, 0x80][..], &[7; 255]].concat()]);
        let liar = line("ssh-ed25519", &[&[1; 31]]);
        let twice = format!("{ED25519}\n{ED25519}");
        let damaged = ED25519.replace("AAAAC3", "AAAAC4");
        for (text, part) in [
            ("", "~/.ssh/id_ed25519.pub"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn\n-----END OPENSSH PRIVATE KEY-----", "It was not kept"),
            ("-----BEGIN RSA PRIVATE KEY-----", "private half"),
            ("---- BEGIN SSH2 PUBLIC KEY ----", "ssh-keygen -i"),
            ("ssh-dss AAAAB3NzaC1kc3MAAACB", "DSA keys are not safe"),
            ("sk-ssh-ed25519@openssh.com AAAA", "security token"),
            ("ssh-ed25519-cert-v01@openssh.com AAAA", "certificate"),
            ("hello", "begins with “hello”"),
            ("restrict ssh-ed25519 AAAA", "without options"),
            ("ssh-ed25519", "damaged"),
            ("ssh-ed25519 ????", "damaged"),
            (&short, "has 2048 bits"),
            (&liar, "damaged"),
            (&twice, "one key at a time"),
            (&damaged, "damaged"),
            (&"x".repeat(9_000), "at most 8192"),
        ] {
            let problem = PublicKey::parse(text).expect_err(text);
            assert!(problem.field == "key" && problem.message.contains(part), "{text}: {}", problem.message);
        }
    }

    proptest! {
        #[test]
        fn nothing_that_is_pasted_makes_it_panic(text in "\\PC{0,200}", rest in "[A-Za-z0-9+/=]{0,200}") {
            let _ = PublicKey::parse(&text);
            let _ = PublicKey::parse(&format!("ssh-rsa {rest}"));
        }

        #[test]
        fn what_is_written_is_read(bytes in proptest::collection::vec(any::<u8>(), 32..33)) {
            let key = PublicKey::parse(&line("ssh-ed25519", &[&bytes])).expect("a key");
            prop_assert!(key.key.to_bytes().expect("bytes").ends_with(&bytes));
        }
    }
}
