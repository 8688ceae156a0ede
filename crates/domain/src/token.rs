//! Personal tokens for the API: what they are called, how long they work, how many one may have.

use crate::text::{Problem, counted, shortened};
use crate::time::{Span, Timestamp};

/// How every secret begins, so that people and scanners know one when they see it.
pub const PREFIX: &str = "atl_";
/// How many characters follow: 256 bits in base64url.
pub const SECRET_LENGTH: usize = 43;
/// How many tokens that still work one person may have.
pub const MAX_TOKENS: u64 = 50;
pub const MAX_NAME: usize = 64;
/// The shortest life, in days.
pub const MIN_DAYS: u32 = 1;
/// The longest life, in days.
pub const MAX_DAYS: u32 = 366;
/// The life unless somebody says otherwise, in days.
pub const DEFAULT_DAYS: u32 = 90;

/// What a token is called by its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenName(String);

impl TokenName {
    /// Parses the field `name`: trimmed, 1 to [`MAX_NAME`] characters that can be shown.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let text = text.trim();
        let count = text.chars().count();
        if count == 0 {
            return Err(Problem::new("name", "Give the token a name: what it is for, or where it is used."));
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

/// For how many days a token works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime(u32);

impl Default for Lifetime {
    fn default() -> Self {
        Self(DEFAULT_DAYS)
    }
}

impl Lifetime {
    /// Parses the field `days`; nothing typed means [`DEFAULT_DAYS`].
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(Self::default());
        }
        match text.parse::<u32>() {
            Ok(days) if (MIN_DAYS..=MAX_DAYS).contains(&days) => Ok(Self(days)),
            _ => {
                let start = shortened(text);
                let message = format!("A token works for {MIN_DAYS} to {MAX_DAYS} days, not for “{start}”.");
                Err(Problem::new("days", message))
            }
        }
    }

    pub const fn days(self) -> u32 {
        self.0
    }

    /// When a token that is made now stops working.
    pub const fn ends(self, now: Timestamp) -> Timestamp {
        now.plus(Span::hours(24).times(self.0))
    }
}

/// Whether a text has the form of a secret; what has not need not be looked up.
pub fn is_secret(text: &str) -> bool {
    text.strip_prefix(PREFIX).is_some_and(|rest| {
        rest.len() == SECRET_LENGTH
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    })
}

/// Refuses one more.
pub fn judge_count(present: u64) -> Result<(), Refusal> {
    if present < MAX_TOKENS { Ok(()) } else { Err(Refusal::TooMany) }
}

/// Why no token was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There are as many as one may have.
    #[error(
        "There are {} already, and that is the most. Revoke one that is not needed any more.",
        counted(MAX_TOKENS, "token", "tokens")
    )]
    TooMany,
    /// Nobody can sign in with the account.
    #[error("The account is disabled, and its tokens do not work. Enable it first.")]
    Disabled,
}

impl Refusal {
    pub const fn code(self) -> &'static str {
        match self {
            Self::TooMany => "token.too-many",
            Self::Disabled => "token.account-disabled",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_lives_are_taken_or_refused_in_words() {
        assert_eq!(TokenName::parse("  night runs ").map(|name| name.as_str().to_owned()), Ok("night runs".into()));
        for (text, part) in [("", "Give the token a name"), ("a\u{7}", "can be shown"), (&"x".repeat(65), "has 65")] {
            let problem = TokenName::parse(text).expect_err("refused");
            assert!(problem.field == "name" && problem.message.contains(part), "{}", problem.message);
        }
        assert_eq!(Lifetime::parse(" ").map(Lifetime::days), Ok(90));
        assert_eq!(Lifetime::parse("366").map(Lifetime::days), Ok(366));
        for text in ["0", "367", "-1", "1.5", "soon", "99999999999999"] {
            let problem = Lifetime::parse(text).expect_err(text);
            assert!(problem.field == "days" && problem.message.contains("1 to 366 days"), "{}", problem.message);
        }
        assert_eq!(Lifetime(2).ends(Timestamp(5)), Timestamp(2 * 86_400_000 + 5));
    }

    #[test]
    fn secrets_are_known_by_their_form() {
        assert!(is_secret(&format!("atl_{}", "aZ09-_x".repeat(7).get(..43).expect("long enough"))));
        for text in ["", "atl_", "atl_short", &format!("atl_{}", "!".repeat(43)), &format!("xyz_{}", "a".repeat(43))] {
            assert!(!is_secret(text), "{text}");
        }
    }

    #[test]
    fn nobody_has_more_than_fifty() {
        assert_eq!(judge_count(49), Ok(()));
        assert_eq!(judge_count(50), Err(Refusal::TooMany));
        assert_eq!(
            Refusal::TooMany.to_string(),
            "There are 50 tokens already, and that is the most. Revoke one that is not needed any more."
        );
    }
}
