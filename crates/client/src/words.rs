//! What stands on a command line: flags with their values, and the rest.

use crate::Failure;

/// A command line, taken apart by what a command knows.
#[derive(Debug, Default)]
pub struct Words {
    values: Vec<(&'static str, String)>,
    switches: Vec<&'static str>,
    /// What is no flag.
    pub rest: Vec<String>,
    /// What stands after `--`.
    pub after: Option<Vec<String>>,
}

impl Words {
    /// Reads the words: flags that take a value, flags that take none.
    pub fn read(words: &[String], valued: &[&'static str], switches: &[&'static str]) -> Result<Self, Failure> {
        let mut read = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word == "--" {
                read.after = Some(words.cloned().collect());
                return Ok(read);
            }
            let Some(flag) = word.strip_prefix("--") else {
                if word.starts_with('-') && word.len() > 1 {
                    return Err(Failure::usage(format!("{word} is not a flag; see atelier jobs --help")));
                }
                read.rest.push(word.clone());
                continue;
            };
            let (name, value) =
                flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value.to_owned())));
            if let Some(known) = switches.iter().find(|known| **known == name) {
                if value.is_some() {
                    return Err(Failure::usage(format!("--{name} takes no value")));
                }
                read.switches.push(known);
            } else if let Some(known) = valued.iter().find(|known| **known == name) {
                let value = value.or_else(|| words.next().cloned());
                let value = value.ok_or_else(|| Failure::usage(format!("--{name} needs a value")))?;
                read.values.push((known, value));
            } else {
                let all: Vec<String> = valued.iter().chain(switches).map(|flag| format!("--{flag}")).collect();
                let known = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
                return Err(Failure::usage(format!("--{name} is not a flag here; there are {known}")));
            }
        }
        Ok(read)
    }

    /// Whether a flag without a value was given.
    pub fn has(&self, name: &str) -> bool {
        self.switches.contains(&name)
    }

    /// The value of a flag; the last one counts.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// All values of a flag.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.values.iter().filter(move |(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// The value of a flag as a number.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, Failure> {
        let Some(text) = self.value(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| Failure::usage(format!("--{name} is a number, not “{text}”")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn flags_values_and_the_rest_are_told_apart() {
        let line = words("--cores 2 --cluster=pool name --json -- python -c --json");
        let read = Words::read(&line, &["cores", "cluster"], &["json"]).expect("read");
        assert_eq!((read.value("cluster"), read.number::<u32>("cores").expect("a number")), (Some("pool"), Some(2)));
        assert!(read.has("json") && read.rest == ["name"]);
        assert_eq!(read.after, Some(words("python -c --json")));
        for (line, part) in [
            ("--cores", "needs a value"),
            ("--json=1", "takes no value"),
            ("--strange x", "there are --cores, --json"),
            ("-x", "is not a flag"),
        ] {
            let failure = Words::read(&words(line), &["cores"], &["json"]).expect_err(line);
            assert!(failure.words.contains(part) && failure.code == 2, "{}", failure.words);
        }
    }
}
