//! A path in the workspace's files: names in folders, never a way out.

use std::fmt;

use crate::text::{Problem, shortened};

/// The folder at the top that holds everybody's own.
pub const USERS: &str = "Users";
/// Where uploads on their way and deleted things lie, at the top of the area. Nobody can name it.
pub const STAGING: &str = ".atelier";
/// The longest name, in bytes. File systems take 255; what is added to a name (a number, an ending) must fit
/// too.
pub const MAX_NAME: usize = 200;
/// The longest path, in bytes.
pub const MAX_PATH: usize = 1_024;
/// The most folders in one another.
pub const MAX_DEPTH: usize = 40;

/// A path that stays in the area: relative, without `.` and `..`, without anything that cannot be shown.
/// Empty for the area itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(String);

impl FilePath {
    /// Reads a path. A slash at its end is left out; everything else must be as it is meant.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence for the field `path`.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let wrong = |message: String| Problem::new("path", message);
        let text = text.strip_suffix('/').unwrap_or(text);
        if text.is_empty() {
            return Ok(Self::default());
        }
        if text.len() > MAX_PATH {
            return Err(wrong(format!("A path has at most {MAX_PATH} bytes; this has {}.", text.len())));
        }
        let depth = text.split('/').count();
        if depth > MAX_DEPTH {
            return Err(wrong(format!("Folders lie at most {MAX_DEPTH} deep in one another; this is {depth} deep.")));
        }
        for name in text.split('/') {
            check_name(name).map_err(|why| wrong(format!("“{}” is no path in Files: {why}.", shown(text))))?;
        }
        if text.split('/').next() == Some(STAGING) {
            return Err(wrong(format!("“{STAGING}” is kept for Atelier’s own use. Choose another name.")));
        }
        Ok(Self(text.to_owned()))
    }

    /// The path as text, without a slash at either end.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the area itself.
    pub const fn is_top(&self) -> bool {
        self.0.is_empty()
    }

    /// The names from the top down.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// The last name; empty for the area itself.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The folder that it lies in; none for the area itself.
    pub fn parent(&self) -> Option<Self> {
        if self.is_top() {
            return None;
        }
        Some(Self(self.0.rsplit_once('/').map_or_else(String::new, |(folder, _)| folder.to_owned())))
    }

    /// What has that name in this folder.
    ///
    /// # Errors
    /// As [`FilePath::parse`].
    pub fn join(&self, name: &str) -> Result<Self, Problem> {
        if name.is_empty() || name.contains('/') {
            return Err(Problem::new("name", "A name is not empty and has no slash."));
        }
        if self.is_top() { Self::parse(name) } else { Self::parse(&format!("{}/{name}", self.0)) }
    }

    /// Whether this lies in that folder, however deep, or is it.
    pub fn is_in(&self, folder: &Self) -> bool {
        folder.is_top()
            || self.0 == folder.0
            || self.0.strip_prefix(&folder.0).is_some_and(|rest| rest.starts_with('/'))
    }

    /// In whose own folder it lies, by their short name; none for what is shared.
    pub fn person(&self) -> Option<&str> {
        let mut names = self.names();
        (names.next() == Some(USERS)).then(|| names.next()).flatten()
    }

    /// Whether it is the folder that holds everybody's own.
    pub fn is_users(&self) -> bool {
        self.0 == USERS
    }

    /// Whether it is somebody's own folder itself.
    pub fn is_home(&self) -> bool {
        self.person().is_some() && self.names().count() == 2
    }

    /// Somebody's own folder, by their short name.
    ///
    /// # Errors
    /// As [`FilePath::parse`].
    pub fn home_of(handle: &str) -> Result<Self, Problem> {
        Self(USERS.to_owned()).join(handle)
    }

    /// What the name ends with after its last dot, in small letters: `py`. Empty for `.profile` and for names
    /// without a dot.
    pub fn ending(&self) -> String {
        match self.name().rsplit_once('.') {
            Some((start, ending)) if !start.is_empty() => ending.to_ascii_lowercase(),
            _ => String::new(),
        }
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_top() { out.write_str("Files") } else { out.write_str(&self.0) }
    }
}

/// Whether a name can be asked for at all.
fn check_name(name: &str) -> Result<(), String> {
    match name {
        "" => Err("a name in it is empty".into()),
        "." | ".." => Err("“.” and “..” lead elsewhere".into()),
        name if name.len() > 255 => Err(format!("a name in it has {} bytes, and a disk takes 255", name.len())),
        name if name.chars().any(char::is_control) => Err("it has a character that cannot be shown".into()),
        _ => Ok(()),
    }
}

/// Whether something new may have that name: short enough, and the same to the eye as to the disk.
///
/// # Errors
/// What is wrong with it, as a sentence for the field `name`.
pub fn check_new_name(name: &str) -> Result<(), Problem> {
    let wrong = |message: String| Err(Problem::new("name", message));
    if name.contains('/') {
        return wrong("A name has no slash. Make the folder first, or move the file into it.".into());
    }
    if let Err(why) = check_name(name) {
        return wrong(format!("“{}” cannot be a name: {why}.", shown(name)));
    }
    if name.len() > MAX_NAME {
        return wrong(format!("A name has at most {MAX_NAME} bytes; this has {}.", name.len()));
    }
    if name != name.trim() {
        return wrong("A name neither begins nor ends with a space.".into());
    }
    if name.chars().any(is_invisible) {
        return wrong(
            "The name has characters that are not seen or turn the direction of text. Leave them out.".into(),
        );
    }
    Ok(())
}

/// Characters that make a name look like another one.
const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{ad}')
}

/// The beginning of a text, safe to show in a sentence.
fn shown(text: &str) -> String {
    let visible: String = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    shortened(&visible)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_stay_in_the_area() {
        for (text, read) in [
            ("", ""),
            ("/", ""),
            ("a", "a"),
            ("a/", "a"),
            ("Users/ines/a b.txt", "Users/ines/a b.txt"),
            ("ünïcode/日本", "ünïcode/日本"),
            ("...", "..."),
            (".profile", ".profile"),
            ("a/.atelier", "a/.atelier"),
            (".atelierx", ".atelierx"),
            ("%2e%2e/a", "%2e%2e/a"),
            ("a\\b", "a\\b"),
        ] {
            assert_eq!(FilePath::parse(text).expect(text).as_str(), read);
        }
        let (deep, long) = ("a/".repeat(MAX_DEPTH) + "a", "x".repeat(256));
        for text in [
            "/etc/passwd",
            "..",
            "../a",
            "a/..",
            "a/../b",
            "./a",
            "a/./b",
            "a//b",
            "a///",
            "//",
            "a\0b",
            "a\nb",
            "a/\u{7f}",
            ".atelier",
            ".atelier/trash",
            &deep,
            &long,
        ] {
            assert!(FilePath::parse(text).is_err(), "{text:?}");
        }
        assert!(FilePath::parse(&"abc/".repeat(300)).is_err());
    }

    #[test]
    fn parts_of_paths() {
        let path = FilePath::parse("Users/ines/deep/train.PY").expect("a path");
        assert_eq!((path.name(), path.ending().as_str(), path.person()), ("train.PY", "py", Some("ines")));
        assert_eq!(path.parent().expect("has one").as_str(), "Users/ines/deep");
        assert!(!path.is_home() && FilePath::home_of("ines").expect("a path").is_home());
        assert!(path.is_in(&FilePath::home_of("ines").expect("a path")));
        assert!(!path.is_in(&FilePath::home_of("ine").expect("a path")));
        assert!(path.is_in(&FilePath::default()) && FilePath::parse("Users").expect("a path").is_users());
        let top = FilePath::default();
        assert!(top.is_top() && top.parent().is_none() && top.person().is_none() && top.name().is_empty());
        assert_eq!(top.join("a").expect("joins").parent(), Some(FilePath::default()));
        assert!(top.join("..").is_err() && top.join("a/b").is_err() && top.join("").is_err());
        assert_eq!(FilePath::parse(".profile").expect("a path").ending(), "");
        assert_eq!(FilePath::parse("shared/Users/x").expect("a path").person(), None);
    }

    #[test]
    fn new_names_look_like_what_they_are() {
        for name in ["a", "a b.txt", ".profile", "данные.csv", "x".repeat(MAX_NAME).as_str()] {
            assert!(check_new_name(name).is_ok(), "{name}");
        }
        let long = "x".repeat(MAX_NAME + 1);
        for name in ["", ".", "..", "a/b", " a", "a ", "a\tb", "exe.\u{202e}txt", "a\u{200b}b", &long] {
            assert!(check_new_name(name).is_err(), "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_read_never_leaves(text in "[a./\\\\%\u{0}\u{7}é ]{0,24}") {
            if let Ok(path) = FilePath::parse(&text) {
                prop_assert!(!path.as_str().starts_with('/') && !path.as_str().ends_with('/'));
                prop_assert!(path.names().all(|name| name != "." && name != ".." && !name.contains('\0')));
                prop_assert_eq!(FilePath::parse(path.as_str()), Ok(path.clone()), "reading it again changes nothing");
                prop_assert_eq!(path.names().collect::<Vec<_>>().join("/"), path.as_str());
            }
        }
    }
}
