//! Doc comments where types cross crates: on every public type and function at the level of a module.

use std::fs;
use std::path::Path;

use super::source::{Source, code, without_tests};
use crate::failure::{Failure, Result};

/// These crates are for this repository alone.
const FREE: [&str; 2] = ["testing", "xtask"];
const KINDS: [&str; 6] = ["enum", "fn", "struct", "trait", "type", "union"];
/// What may stand between `pub` and the kind.
const MODIFIERS: [&str; 5] = ["async", "auto", "const", "extern", "unsafe"];

/// Sentences about what has no doc comment.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("crates");
    let entries = fs::read_dir(&folder).map_err(Failure::file("reading", &folder))?;
    let mut crates: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    crates.retain(|name| !FREE.contains(&name.as_str()));
    crates.sort();
    let mut problems = Vec::new();
    for name in crates {
        for source in Source::all(root, &format!("crates/{name}/src"))?.iter().filter(|source| !source.is_test()) {
            let missing = undocumented(&source.text).into_iter();
            problems.extend(missing.map(|(line, what)| {
                format!("{}: {what} is public and has no doc comment: say in a line what it is", source.place(line))
            }));
        }
    }
    Ok(problems)
}

/// The line, kind and name of each public type and function without a doc comment.
fn undocumented(text: &str) -> Vec<(usize, String)> {
    let code = without_tests(&code(text));
    let lines: Vec<&str> = text.lines().collect();
    let mut missing = Vec::new();
    // For each open brace, whether it is that of a module.
    let mut braces: Vec<bool> = Vec::new();
    for (at, line) in code.lines().enumerate() {
        let is_seen = braces.iter().all(|is_module| *is_module);
        if let Some(what) = public(line).filter(|_| is_seen && !has_comment(&lines[..at])) {
            missing.push((at + 1, what));
        }
        let is_module = line.split_whitespace().any(|word| word == "mod");
        for sign in line.chars() {
            match sign {
                '{' => braces.push(is_module),
                '}' => {
                    braces.pop();
                }
                _ => {}
            }
        }
    }
    missing
}

/// The kind and the name of what a line makes public for everybody.
fn public(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    words.next().filter(|word| *word == "pub")?;
    let kind = words.by_ref().find(|word| !MODIFIERS.contains(word)).filter(|word| KINDS.contains(word))?;
    let name = words.next().unwrap_or_default();
    let name = name.split(|it: char| !it.is_alphanumeric() && it != '_').next().unwrap_or_default();
    Some(format!("{kind} {name}"))
}

/// Whether the lines above end in a doc comment, apart from attributes and other comments.
fn has_comment(above: &[&str]) -> bool {
    // Inside of an attribute of several lines, read from its end.
    let mut is_inside = false;
    for line in above.iter().rev().map(|line| line.trim()) {
        let is_attribute = line.starts_with("#[");
        if line.starts_with("///") || line.starts_with("#[doc") || line.ends_with("*/") {
            return true;
        }
        if is_inside {
            is_inside = !is_attribute;
        } else if !is_attribute && line.ends_with(']') {
            is_inside = true;
        } else if !(is_attribute || line.is_empty() || line.starts_with("//")) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(text: &str) -> Vec<String> {
        undocumented(text).into_iter().map(|(line, what)| format!("{line} {what}")).collect()
    }

    #[test]
    fn public_types_and_functions_need_a_comment() {
        let text = "pub struct A;\npub enum B {}\npub trait C {}\npub type D = A;\npub async fn e() {}\n\
                    pub const unsafe fn f<T>() {}\npub union G { a: u8 }\npub unsafe trait H: Send {}\n";
        assert_eq!(
            missing(text),
            ["1 struct A", "2 enum B", "3 trait C", "4 type D", "5 fn e", "6 fn f", "7 union G", "8 trait H"]
        );
    }

    #[test]
    fn attributes_may_stand_in_between() {
        assert_eq!(missing("/// A.\n#[derive(Debug)]\n#[serde(\n    rename = \"x\",\n)]\npub struct A;"), [""; 0]);
        assert_eq!(missing("#[doc = \"A.\"]\npub struct A;\n/** B. */\npub struct B;"), [""; 0]);
        assert_eq!(missing("//! The file.\n#[derive(Debug)]\n// Not for readers.\npub struct A;"), ["4 struct A"]);
        assert_eq!(missing("/// A.\npub struct A;\npub struct B;"), ["3 struct B"]);
    }

    #[test]
    fn the_rest_is_free() {
        let text = "pub(crate) struct A;\nstruct B { pub c: u8 }\nimpl B {\n    pub fn d() {}\n}\n\
                    pub const E: u8 = 1;\npub use f::G;\npub mod h;\n#[cfg(test)]\nmod tests {\n    pub fn i() {}\n}\n\
                    /* pub fn j() {} */\n";
        assert_eq!(missing(text), [""; 0]);
        assert_eq!(missing("pub mod a {\n    pub struct B;\n}"), ["2 struct B"]);
    }
}
