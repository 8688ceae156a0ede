//! Names that people type: e-mail addresses, their own names, and the short names of workspaces.
//!
//! Each parser takes the text of one field and either gives a value that cannot be wrong any more or the
//! exact complaint, ready to be shown beside the field.

use crate::text::{Problem, shortened};

/// An e-mail address as an account's sign-in name: lower case, trimmed.
///
/// We check the shape only. Whether the address exists is shown by the person signing in with it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EmailAddress(String);

impl EmailAddress {
    /// Parses the field `email`.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let text = text.trim();
        let complain = |message: String| Err(Problem::new("email", message));
        if text.is_empty() {
            return complain("Enter an e-mail address.".into());
        }
        // 254 is the longest address that mail servers take (RFC 5321 path less its brackets).
        if text.len() > 254 {
            return complain(format!("An e-mail address has at most 254 bytes; this has {}.", text.len()));
        }
        let shape = |why: &str| complain(format!("“{}” is not an e-mail address: {why}.", shortened(text)));
        if text.chars().any(|c| c.is_whitespace() || crate::text::is_unseen(c)) {
            return shape("it contains a space");
        }
        if text.contains(['<', '>', '"', '\'', '(', ')', ',', ';', ':', '\\', '[', ']']) {
            return shape("it contains a character that addresses do not have");
        }
        let Some((local, host)) = text.rsplit_once('@') else {
            return shape("the @ is missing");
        };
        if local.is_empty() || local.contains('@') {
            return shape("exactly one name must stand before the @");
        }
        if host.is_empty() || host.starts_with('.') || host.ends_with('.') || host.contains("..") {
            return shape("a host name such as example.org must stand after the @");
        }
        Ok(Self(text.to_lowercase()))
    }

    /// The address in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for EmailAddress {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

/// What a person is called: 1 to 80 characters, as they write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonName(String);

impl PersonName {
    /// Parses the field `name`.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let count = joined.chars().count();
        match count {
            0 => Err(Problem::new("name", "Enter a name.")),
            1..=80 if joined.chars().any(crate::text::is_unseen) => {
                Err(Problem::new("name", "A name has no control characters."))
            }
            1..=80 => Ok(Self(joined)),
            _ => Err(Problem::new("name", format!("A name has at most 80 characters; this has {count}."))),
        }
    }

    /// The name as typed, with runs of spaces joined.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The first letters of the first and the last word, for an avatar.
pub fn initials(name: &str) -> String {
    let mut words = name.split_whitespace();
    let first = words.next().and_then(|word| word.chars().next());
    let last = words.next_back().and_then(|word| word.chars().next());
    first.into_iter().chain(last).flat_map(char::to_uppercase).collect()
}

/// The short name of a workspace, as it stands in paths and host names: 3–16 of a–z, 0–9 and `-`, a letter
/// first, no `-` last, no `--`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspaceSlug(String);

impl WorkspaceSlug {
    /// Parses a short name; capitals are lowered.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        dns_label(text, 3, 16).map(Self).map_err(|message| Problem::new("workspace", message))
    }

    /// Makes a short name out of a workspace's display name, as well as it can; `studio` if nothing is left.
    pub fn from_display_name(name: &str) -> Self {
        let mut slug = String::new();
        for c in name.to_lowercase().chars() {
            if c.is_ascii_alphanumeric() {
                slug.push(c);
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
        }
        let slug: String = slug.trim_start_matches(|c: char| !c.is_ascii_lowercase()).chars().take(16).collect();
        Self::parse(slug.trim_end_matches('-')).unwrap_or_else(|_| Self("studio".into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Parses what a workspace is called for people: the field `workspace`, 1 to 40 characters.
pub fn parse_workspace_name(text: &str) -> Result<String, Problem> {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let count = joined.chars().count();
    match count {
        0 => Err(Problem::new("workspace", "Enter a name for the workspace.")),
        1..=40 if !joined.chars().any(crate::text::is_unseen) => Ok(joined),
        1..=40 => Err(Problem::new("workspace", "A workspace name has no control characters.")),
        _ => Err(Problem::new("workspace", format!("A workspace name has at most 40 characters; this has {count}."))),
    }
}

/// The one rule for names that become part of a host name.
pub(crate) fn dns_label(text: &str, min: usize, max: usize) -> Result<String, String> {
    let text = text.trim().to_lowercase();
    let count = text.chars().count();
    if count < min || count > max {
        return Err(format!("A short name has {min} to {max} characters; this has {count}."));
    }
    if let Some(wrong) = text.chars().find(|c| !(c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-')) {
        return Err(format!("A short name has only a–z, 0–9 and “-”; this has “{wrong}”."));
    }
    if !text.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Err("A short name starts with a letter.".into());
    }
    if text.ends_with('-') || text.contains("--") {
        return Err("A short name has single hyphens, and none at its end.".into());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_are_taken_or_refused_with_the_exact_complaint() {
        assert_eq!(
            EmailAddress::parse(" Mara@Example.ORG ").map(|e| e.as_str().to_owned()),
            Ok("mara@example.org".into())
        );
        assert!(EmailAddress::parse("root@localhost").is_ok());
        for (text, part) in [
            ("", "Enter an e-mail"),
            ("mara", "the @ is missing"),
            ("@example.org", "before the @"),
            ("a@b@c.de", "before the @"),
            ("mara@", "after the @"),
            ("mara@.de", "after the @"),
            ("ma ra@x.de", "a space"),
            ("<a>@x.de", "addresses do not have"),
        ] {
            assert!(EmailAddress::parse(text).is_err_and(|p| p.field == "email" && p.message.contains(part)), "{text}");
        }
        let huge = format!("{}@x.de", "a".repeat(10_000_000));
        assert!(EmailAddress::parse(&huge).is_err_and(|p| p.message.len() < 200));
    }

    #[test]
    fn initials_take_first_and_last_word() {
        for (name, expected) in
            [("Ines Okafor", "IO"), ("mara", "M"), ("Ada B. Lovelace", "AL"), ("", ""), ("李 小龙", "李小")]
        {
            assert_eq!(initials(name), expected);
        }
    }

    #[test]
    fn a_slug_can_always_be_made() {
        for (name, slug) in [
            ("Perception", "perception"),
            ("  3D & Vision Team! ", "d-vision-team"),
            ("李", "studio"),
            ("AB", "studio"),
        ] {
            assert_eq!(WorkspaceSlug::from_display_name(name).as_str(), slug);
        }
    }

    proptest! {
        #[test]
        fn made_slugs_obey_the_rule(name in ".{0,60}") {
            let slug = WorkspaceSlug::from_display_name(&name);
            prop_assert_eq!(WorkspaceSlug::parse(slug.as_str()), Ok(slug));
        }

        #[test]
        fn parsing_an_address_twice_changes_nothing(text in "[a-zA-Z0-9.+_-]{1,20}@[a-z0-9]{1,10}\\.[a-z]{2,4}") {
            let once = EmailAddress::parse(&text).expect("well-formed by construction");
            prop_assert_eq!(EmailAddress::parse(once.as_str()), Ok(once));
        }
    }
}
