//! Tags: short notes of people on computes and jobs, `project: churn`. The engine never looks at them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::text::{Problem, shortened};

/// The most tags on one thing.
pub const MAX_TAGS: usize = 20;
/// The longest name of a tag.
pub const MAX_TAG_NAME: usize = 64;
/// The longest value of a tag.
pub const MAX_TAG_VALUE: usize = 256;

/// Names and values.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tags(pub BTreeMap<String, String>);

impl Tags {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads what is typed: one `name=value` (or `name: value`, or a name alone) a line or after a comma.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let mut tags = BTreeMap::new();
        for entry in text.split(['\n', ',']).map(str::trim).filter(|entry| !entry.is_empty()) {
            let (name, value) = entry.split_once(['=', ':']).unwrap_or((entry, ""));
            let (name, value) = (name.trim(), value.trim());
            if tags.insert(name.to_owned(), value.to_owned()).is_some() {
                return Err(Problem::new("tags", format!("The tag “{}” is there twice.", shortened(name))));
            }
        }
        let tags = Self(tags);
        tags.check()?;
        Ok(tags)
    }

    /// As it is typed, one a line.
    pub fn typed(&self) -> String {
        let lines =
            self.0.iter().map(|(name, value)| if value.is_empty() { name.clone() } else { format!("{name}={value}") });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// As they are shown, one by one: `project: churn`.
    pub fn said(&self) -> Vec<String> {
        let one = |(name, value): (&String, &String)| match value.as_str() {
            "" => name.clone(),
            value => format!("{name}: {value}"),
        };
        self.0.iter().map(one).collect()
    }

    /// Refuses too many, too long or unreadable ones.
    pub fn check(&self) -> Result<(), Problem> {
        if self.0.len() > MAX_TAGS {
            return Err(Problem::new(
                "tags",
                format!("There are at most {MAX_TAGS} tags; these are {}.", self.0.len()),
            ));
        }
        for (name, value) in &self.0 {
            let (length, start) = (name.chars().count(), shortened(name));
            if length == 0 || length > MAX_TAG_NAME {
                let message = format!("The name of a tag has 1 to {MAX_TAG_NAME} characters; “{start}” has {length}.");
                return Err(Problem::new("tags", message));
            }
            let length = value.chars().count();
            if length > MAX_TAG_VALUE {
                let message = format!(
                    "The value of a tag has at most {MAX_TAG_VALUE} characters; that of “{start}” has {length}."
                );
                return Err(Problem::new("tags", message));
            }
            if name.chars().chain(value.chars()).any(crate::text::is_unseen) {
                return Err(Problem::new("tags", format!("The tag “{start}” has characters that cannot be shown.")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_as_people_type_them_and_written_the_same_way() {
        let tags = Tags::parse("project=churn\n owner : ada, urgent").expect("tags");
        assert_eq!(tags.typed(), "owner=ada\nproject=churn\nurgent");
        assert_eq!(Tags::parse(&tags.typed()), Ok(tags));
        assert_eq!(Tags::parse("  "), Ok(Tags::default()));
    }

    #[test]
    fn bad_tags_are_refused_in_words() {
        let refused = |text: &str| Tags::parse(text).expect_err("refused").message;
        assert_eq!(refused("a=1\na=2"), "The tag “a” is there twice.");
        assert!(refused("=x").contains("1 to 64 characters"));
        assert!(refused(&format!("{}=1", "x".repeat(65))).contains("has 65"));
        assert!(refused(&format!("a={}", "x".repeat(257))).contains("has 257"));
        let many: Vec<String> = (0..21).map(|number| format!("t{number}")).collect();
        assert_eq!(refused(&many.join(",")), "There are at most 20 tags; these are 21.");
        assert!(refused("a=\u{7}").contains("cannot be shown"));
    }
}
