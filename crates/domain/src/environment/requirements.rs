//! A list of packages: what people may write into it.
//!
//! It is handed to pip as arguments. So a line is a package by its name and nothing else: no option, no
//! address, no path.
//!
//! `pep508_rs` (0.9.2) was tried for the grammar and is not used. It keeps every condition that was ever read
//! for as long as the process lives (200,000 distinct ones took 880 MiB), refuses `===` with what is no PEP
//! 440 version, drops a condition that it cannot compare, and writes others anew, so that environments which
//! are built would be looked for under other hashes. What is wrong with a line it says in sentences of its
//! own, not by kind.

use crate::text::{Problem, shortened};

/// The most lines.
pub const MAX_LINES: usize = 200;
/// The most characters of a line.
pub const MAX_LINE: usize = 200;
/// The name of the field, in forms and problems.
const FIELD: &str = "requirements";
/// What an instance needs to be one, and what most people want in it.
const DEFAULT: [&str; 6] = ["jupyterlab>=4.2,<5", "ipykernel", "numpy", "pandas", "scikit-learn", "matplotlib"];
/// The longer ones first, since the shorter ones begin them.
const OPERATORS: [&str; 8] = ["===", "~=", "==", "!=", "<=", ">=", "<", ">"];

/// A list of packages, each as pip takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirements(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    line: String,
    /// As pip compares names.
    name: String,
    /// Whether it counts only under a condition.
    has_marker: bool,
}

impl Requirement {
    /// The same for all who mean the same: lower case, no blanks, extras and versions in order.
    pub(super) fn canonical(&self) -> String {
        let (head, marker) = match self.line.split_once(';') {
            Some((head, marker)) => (head, Some(marker.trim())),
            None => (self.line.as_str(), None),
        };
        let end = head.find(|c: char| !is_of_name(c)).unwrap_or(head.len());
        let rest: String = head[end..].chars().filter(|c| !c.is_whitespace() && !matches!(c, '(' | ')')).collect();
        let (extras, versions) = match rest.strip_prefix('[').and_then(|inside| inside.split_once(']')) {
            Some((extras, versions)) => (extras.to_lowercase(), versions),
            None => (String::new(), rest.as_str()),
        };
        let in_order = |list: &str| {
            let mut parts: Vec<&str> = list.split(',').filter(|part| !part.is_empty()).collect();
            parts.sort_unstable();
            parts.dedup();
            parts.join(",")
        };
        let extras = if extras.is_empty() { extras } else { format!("[{}]", in_order(&extras)) };
        let marker = marker.map(|marker| format!("; {marker}")).unwrap_or_default();
        format!("{}{extras}{}{marker}", self.name, in_order(versions))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) const fn has_marker(&self) -> bool {
        self.has_marker
    }
}

/// A package's name as pip compares them: lower case, hyphens between its parts.
pub fn normalised(name: &str) -> String {
    name.to_lowercase().split(['-', '_', '.']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

impl Default for Requirements {
    fn default() -> Self {
        Self(DEFAULT.iter().filter_map(|line| read(line).ok()).collect())
    }
}

impl Requirements {
    /// Reads a list, one package a line. Empty lines are left out.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let refuse = |message: String| Err(Problem::new(FIELD, message));
        let mut list: Vec<(usize, Requirement)> = Vec::new();
        let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty());
        for (number, line) in lines.map(|(index, line)| (index + 1, line)) {
            if list.len() == MAX_LINES {
                return refuse(format!("The list may have {MAX_LINES} packages; this one has more. Shorten it."));
            }
            let count = line.chars().count();
            if count > MAX_LINE {
                return refuse(format!("Line {number} has {count} characters; a line may have {MAX_LINE}."));
            }
            let found = match read(line) {
                Ok(found) => found,
                Err(why) => return refuse(format!("Line {number}, “{}”: {why}", shortened(line))),
            };
            let twin = list.iter().find(|(_, other)| other.name == found.name && !other.has_marker);
            if let (Some((first, _)), false) = (twin, found.has_marker) {
                return refuse(format!(
                    "{} is on lines {first} and {number}. Keep one of them.",
                    shortened(&found.name)
                ));
            }
            list.push((number, found));
        }
        if list.is_empty() {
            return refuse("The list is empty. An instance needs jupyterlab at least.".into());
        }
        Ok(Self(list.into_iter().map(|(_, requirement)| requirement).collect()))
    }

    /// Of lines that were read one by one, each as all would write it who mean the same.
    pub(super) fn of(lines: &[Requirement]) -> Self {
        Self(lines.iter().filter_map(|line| read(&line.canonical()).ok()).collect())
    }

    /// The lines, in order.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|requirement| requirement.line.as_str())
    }

    /// As a text, one a line.
    pub fn text(&self) -> String {
        self.lines().collect::<Vec<_>>().join("\n")
    }

    /// Whether a package is in the list, by its name in lower case with hyphens.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|requirement| requirement.name == name)
    }

    /// The names of what is there in any case.
    pub fn certain(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|requirement| !requirement.has_marker).map(|requirement| requirement.name.as_str())
    }

    /// The lines of this list that another one lacks.
    pub fn beyond(&self, other: &Self) -> Vec<String> {
        self.lines().filter(|line| other.lines().all(|known| known != *line)).map(ToOwned::to_owned).collect()
    }
}

/// One line, as PEP 508 has it: `name[extras] >=1,<2; marker`.
pub(super) fn read(line: &str) -> Result<Requirement, String> {
    if line.starts_with('-') {
        return Err(
            "options are not taken here. What pip is to know, such as another index, belongs into /etc/pip.conf \
                    of the server."
                .into(),
        );
    }
    if line.contains("://") || line.contains('@') {
        return Err("addresses are not taken here, only names of packages from the index.".into());
    }
    let is_legal = |c: char| c.is_ascii_alphanumeric() || " \t._-[],<>=!~;()'\"*+".contains(c);
    if let Some(bad) = line.chars().find(|c| !is_legal(*c)) {
        return Err(format!(
            "“{}” cannot stand in a requirement. Write it like numpy or pandas>=2,<3.",
            bad.escape_default()
        ));
    }
    let end = line.find(|c: char| !is_of_name(c)).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    if !is_name(name) {
        return Err("it must begin with the name of a package, such as numpy.".into());
    }
    let mut rest = rest.trim_start();
    if let Some(inside) = rest.strip_prefix('[') {
        let (extras, after) = inside.split_once(']').ok_or("the ] after the extras is missing.")?;
        if let Some(bad) = extras.split(',').map(str::trim).find(|extra| !is_name(extra)) {
            return Err(format!("“{bad}” cannot be the name of an extra."));
        }
        rest = after;
    }
    let (versions, marker) = match rest.split_once(';') {
        Some((versions, marker)) => (versions, Some(marker.trim())),
        None => (rest, None),
    };
    if marker.is_some_and(|marker| !marker.contains(['<', '>', '=']) && !marker.contains(" in ")) {
        return Err("a condition is missing after the ;. Write it like python_version<'3.12'.".into());
    }
    let versions = versions.trim();
    let versions = versions.strip_prefix('(').and_then(|inside| inside.strip_suffix(')')).unwrap_or(versions).trim();
    if !versions.is_empty() {
        versions.split(',').try_for_each(check_version)?;
    }
    Ok(Requirement { line: line.to_owned(), name: normalised(name), has_marker: marker.is_some() })
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

fn is_name(text: &str) -> bool {
    let ends_well = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.chars().all(is_of_name) && ends_well(text.chars().next()) && ends_well(text.chars().last())
}

fn check_version(clause: &str) -> Result<(), String> {
    let clause = clause.trim();
    let version = OPERATORS.iter().find_map(|operator| clause.strip_prefix(operator)).map(str::trim);
    let is_of_version = |c: char| c.is_ascii_alphanumeric() || ".-_*+!".contains(c);
    match version {
        Some(version) if version.contains('*') && !(clause.starts_with("==") || clause.starts_with("!=")) => {
            Err(format!("“{clause}”: a * goes with == and != alone. Leave it out."))
        }
        Some(version) if !version.is_empty() && version.chars().all(is_of_version) => Ok(()),
        Some(_) => Err(format!("“{clause}” names no version. Write it like >=2.1.")),
        None => Err(format!(
            "“{}” is no version. Put ==, >=, <=, <, > or ~= before one, and commas between several.",
            shortened(clause)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_list_is_one() {
        let list = Requirements::default();
        assert_eq!(list.lines().count(), DEFAULT.len());
        assert_eq!(Requirements::parse(&list.text()), Ok(list));
    }

    #[test]
    fn packages_are_taken_as_pip_writes_them() {
        for line in [
            "numpy",
            "scikit-learn==1.5.*",
            "pandas >= 2, < 3",
            "pandas (>=2,<3)",
            "jupyterlab[extra, more]~=4.2",
            "zope.interface!=5.0",
            "torch==2.3.0+cpu",
            "tomli>=1; python_version < '3.11' and sys_platform == \"linux\"",
            "x===1.0-weird",
        ] {
            let list = Requirements::parse(line).unwrap_or_else(|problem| panic!("{line}: {}", problem.message));
            assert_eq!(list.text(), line);
        }
        let list = Requirements::parse("\n  Zope.Interface_x  \r\n\r\nnumpy\n").expect("two packages");
        assert_eq!(list.text(), "Zope.Interface_x\nnumpy");
        assert!(list.has("zope-interface-x") && !list.has("zope"));
    }

    #[test]
    fn what_pip_would_take_for_something_else_is_refused_by_line() {
        for (line, part) in [
            ("--index-url=https://evil.example", "options"),
            ("-e .", "options"),
            ("-r/etc/passwd", "options"),
            ("pkg @ file:///etc", "addresses"),
            ("git+https://example.org/x.git", "addresses"),
            ("./here", "“/” cannot stand"),
            ("../wheel.whl", "“/” cannot stand"),
            ("..", "begin with the name"),
            ("numpy # the numbers", "“#” cannot stand"),
            ("numpy; ", "a condition is missing"),
            ("numpy pandas", "“pandas” is no version"),
            ("numpy>=", "names no version"),
            ("numpy>=1 --pre", "names no version"),
            ("numpy[", "] after the extras"),
            ("numpy[a b]", "name of an extra"),
            ("numpy$(id)", "“$” cannot stand"),
            ("nümpy", "cannot stand"),
            ("numpy\0", "“\\u{0}” cannot stand"),
            ("[x]", "begin with the name"),
            ("numpy-", "begin with the name"),
        ] {
            let problem = Requirements::parse(&format!("six\n{line}")).expect_err(line);
            assert_eq!(problem.field, "requirements");
            assert!(problem.message.starts_with("Line 2"), "{}", problem.message);
            assert!(problem.message.contains(part), "{line}: {}", problem.message);
        }
    }

    #[test]
    fn the_list_is_bounded() {
        let many = |count: usize| (0..count).map(|i| format!("p{i}")).collect::<Vec<_>>().join("\n");
        assert!(Requirements::parse(&many(MAX_LINES)).is_ok());
        assert!(Requirements::parse(&many(MAX_LINES + 1)).is_err_and(|p| p.message.contains("200 packages")));
        assert!(Requirements::parse(&"x".repeat(MAX_LINE)).is_ok());
        assert!(Requirements::parse(&"x".repeat(MAX_LINE + 1)).is_err_and(|p| p.message.contains("201 characters")));
        assert!(Requirements::parse(" \n\n").is_err_and(|p| p.message.contains("empty")));
    }

    #[test]
    fn a_package_stands_there_once_unless_it_is_under_a_condition() {
        let twice = Requirements::parse("Scikit_Learn\nnumpy\n\nscikit-learn==1.5").expect_err("twice");
        assert!(twice.message.contains("scikit-learn is on lines 1 and 4"), "{}", twice.message);
        assert!(Requirements::parse("x==1; python_version<'3.10'\nx==2; python_version>='3.10'").is_ok());
    }

    #[test]
    fn what_is_new_in_a_list_is_known() {
        let (old, new) = (Requirements::parse("a\nb").expect("two"), Requirements::parse("b\nc>=1").expect("two"));
        assert_eq!((new.beyond(&old), old.beyond(&new)), (vec!["c>=1".to_owned()], vec!["a".to_owned()]));
    }
}
