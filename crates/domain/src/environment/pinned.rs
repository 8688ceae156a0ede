//! How jobs name environments, and what they are bound to.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::compute::job::EndedAs;
use crate::compute::size::ComputeName;
use crate::text::{Problem, Text, shortened};

/// What an environment is made of, as a short number: two with the same are the same thing on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct EnvironmentHash(pub [u8; 10]);

impl fmt::Display for EnvironmentHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&crate::text::hex(&self.0))
    }
}

impl From<EnvironmentHash> for String {
    fn from(hash: EnvironmentHash) -> Self {
        hash.to_string()
    }
}

impl TryFrom<String> for EnvironmentHash {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("a hash of an environment has 20 digits of 0–9 and a–f")
    }
}

impl EnvironmentHash {
    /// From its 20 digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 20 || !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        let mut bytes = [0; 10];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

/// An environment as people name it: `churn`, which is its newest version, or `churn:3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentRef {
    pub name: ComputeName,
    /// Which version; the newest if none is said.
    pub version: Option<u32>,
}

impl EnvironmentRef {
    /// Parses it; a problem belongs to `field`.
    pub fn parse(text: &str, field: &str) -> Result<Self, Problem> {
        let (name, version) = match text.trim().split_once(':') {
            Some((name, version)) => (name, Some(version)),
            None => (text.trim(), None),
        };
        let name = ComputeName::parse(name).map_err(|problem| Problem::new(field, problem.message))?;
        let version = match version {
            None => None,
            Some(digits) => Some(digits.parse().ok().filter(|number| *number > 0).ok_or_else(|| {
                let digits = shortened(digits);
                Problem::new(field, format!("“{digits}” is no version. Write {name} for the newest, or {name}:3."))
            })?),
        };
        Ok(Self { name, version })
    }
}

/// The version that a job runs with. It was chosen when the job was submitted and stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pinned {
    pub name: ComputeName,
    pub version: u32,
    /// What that is made of.
    pub hash: EnvironmentHash,
    /// How its build ended, once it has. Whoever submits says so for one that is there; others are waited
    /// for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<EndedAs>,
}

impl fmt::Display for Pinned {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.name, self.version)
    }
}

impl Pinned {
    /// Whether it is still to be built.
    pub const fn is_awaited(&self) -> bool {
        self.ended.is_none()
    }

    /// Why it could not be built, if that is so.
    pub fn failure(&self) -> Option<&Text> {
        match &self.ended {
            Some(EndedAs::Failed { what }) => Some(what),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_written_and_read() {
        let text = "00ff1234567890abcdef";
        let hash = EnvironmentHash::parse(text).expect("a hash");
        assert_eq!(hash.to_string(), text);
        assert_eq!(serde_json::to_string(&hash).expect("writes"), format!("\"{text}\""));
        assert_eq!(serde_json::from_str::<EnvironmentHash>(&format!("\"{text}\"")).expect("reads"), hash);
        for wrong in ["", "00ff", "00FF1234567890abcdef", "00ff1234567890abcdeg", "+0ff1234567890abcdef"] {
            assert_eq!(EnvironmentHash::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_name_may_have_a_version() {
        let parse = |text| EnvironmentRef::parse(text, "python_environment");
        assert_eq!(parse("Churn").map(|it| (it.name.to_string(), it.version)), Ok(("churn".into(), None)));
        assert_eq!(parse("churn:12").map(|it| it.version), Ok(Some(12)));
        for wrong in ["", "c", "churn:", "churn:0", "churn:x", "churn:1:2", "churn:-1"] {
            assert!(parse(wrong).is_err_and(|problem| problem.field == "python_environment"), "{wrong}");
        }
    }
}
