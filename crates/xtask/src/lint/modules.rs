//! Arrows between the folders and files right in `src/`, from the paths in the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::arrows::{Allowed, Arrow, Found};
use super::source::{Source, code, without_tests};
use crate::failure::{Failure, Result};

/// The crate by its name, as its program calls it.
const CRATE: &str = "atelier";

/// Sentences about the arrows between modules that aren't as the table says.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let modules = top_level(&root.join("src"))?;
    let mut found = Found::new();
    for source in Source::all(root, "src")?.iter().filter(|source| !source.is_test()) {
        gather(source, &modules, &mut found);
    }
    let names: Vec<String> = modules.into_iter().collect();
    Ok(Allowed::modules().judge(&names, &found))
}

/// The names of the folders and files right in a folder.
fn top_level(folder: &Path) -> Result<BTreeSet<String>> {
    let entries = fs::read_dir(folder).map_err(Failure::file("reading", folder))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let modules = paths.filter(|path| path.is_dir() || path.extension().is_some_and(|it| it == "rs"));
    Ok(modules.filter_map(|path| path.file_stem()?.to_str().map(str::to_owned)).collect())
}

/// Adds the arrows of one file.
fn gather(source: &Source, modules: &BTreeSet<String>, found: &mut Found) {
    let parts: Vec<&str> = source.path.iter().skip(1).filter_map(|part| part.to_str()).collect();
    let Some(from) = parts.first().map(|part| part.trim_end_matches(".rs")) else { return };
    let is_root = parts.len() == 1 && matches!(from, "lib" | "main");
    // `super` as often leads to the root of the crate.
    let depth = parts.len() - usize::from(is_root || parts.last() == Some(&"mod.rs"));
    for (line, to) in targets(&source.text, depth, from == "main") {
        // What is right in the crate is told by the file that has it.
        let to = if modules.contains(&to) { to } else { "lib".to_owned() };
        found.entry(Arrow::new(from, &to)).or_default().push(source.place(line));
    }
}

/// A word or a sign of the code, with its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Token<'a> {
    text: &'a str,
    line: usize,
}

fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let is_word = |it: char| it.is_alphanumeric() || it == '_';
    for (at, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = if is_word(first) {
                rest.find(|it| !is_word(it)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            let (text, after) = rest.split_at(length);
            tokens.push(Token { text, line: at + 1 });
            rest = after.trim_start();
        }
    }
    tokens
}

/// The first name of every path from the root of the crate, with its line.
fn targets(text: &str, depth: usize, is_program: bool) -> Vec<(usize, String)> {
    let code = without_tests(&code(text));
    let tokens = tokens(&code);
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let mut found = Vec::new();
    // For each open brace, whether it is that of a module.
    let mut braces = Vec::new();
    for at in 0..tokens.len() {
        match word(at) {
            "{" => braces.push(at >= 2 && word(at - 2) == "mod"),
            "}" => {
                braces.pop();
            }
            name if name == "crate" || (is_program && name == CRATE) => {
                // `pub(in crate::a)` says who may look, not who is looked at.
                let is_visibility = at >= 2 && word(at - 1) == "in" && word(at - 2) == "(";
                if !is_visibility && word(at + 1) == "::" {
                    names(&tokens[at + 2..], &mut found);
                }
            }
            "super" if at == 0 || word(at - 1) != "::" => {
                let inline = braces.iter().filter(|is_module| **is_module).count();
                let count = (0..).take_while(|step| word(at + 2 * step) == "super").count();
                if count == depth + inline && word(at + 2 * count - 1) == "::" {
                    names(&tokens[at + 2 * count..], &mut found);
                }
            }
            _ => {}
        }
    }
    found
}

/// The names at the beginning of what follows: one, or those of a group in braces.
fn names(tokens: &[Token<'_>], found: &mut Vec<(usize, String)>) {
    let mut depth = 0;
    let mut is_start = true;
    for token in tokens {
        match token.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 1 => {
                is_start = true;
                continue;
            }
            "*" | "self" => is_start = false,
            // `r#type`
            "r" | "#" => continue,
            name if is_start => {
                found.push((token.line, name.to_owned()));
                is_start = false;
            }
            _ => {}
        }
        if depth == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn names_in(text: &str) -> Vec<String> {
        targets(text, 2, false).into_iter().map(|(line, name)| format!("{line} {name}")).collect()
    }

    #[test]
    fn paths_are_found_in_use_lines_and_in_the_code() {
        assert_eq!(
            names_in("use crate::jobs::Job;\nfn f() -> crate::web::State { $crate::ansi::strip() }"),
            ["1 jobs", "2 web", "2 ansi"]
        );
        assert_eq!(
            names_in("use crate::{\n    error::{A, B},\n    jobs,\n    web::{self, c::{D, E}},\n};"),
            ["2 error", "3 jobs", "4 web"]
        );
        assert_eq!(names_in("pub use crate::Item;\nuse crate::*;"), ["1 Item"]);
    }

    #[test]
    fn comments_texts_tests_and_visibility_are_no_paths() {
        assert_eq!(
            names_in("// crate::a\n/// [`crate::b`]\nlet x = \"crate::c\";\npub(in crate::d) fn f() {}"),
            [""; 0]
        );
        assert_eq!(
            names_in("#[cfg(test)]\nmod tests {\n    use crate::server::Server;\n}\nuse crate::web;"),
            ["5 web"]
        );
    }

    #[test]
    fn super_counts_where_it_leads_to_the_root() {
        assert_eq!(names_in("use super::near;\nuse super::super::{far::A, web};"), ["2 far", "2 web"]);
        assert_eq!(
            names_in("mod inner {\n    use super::super::near;\n    use super::super::super::far;\n}"),
            ["3 far"]
        );
    }

    #[test]
    fn arrows_go_from_the_folder_that_a_file_is_in() {
        let modules: BTreeSet<String> = ["jobs", "web", "paths", "main", "cli"].map(str::to_owned).into();
        let mut found = Found::new();
        for (path, text) in [
            ("src/jobs/pages/list.rs", "use crate::web;\nuse super::super::super::paths;"),
            ("src/jobs/mod.rs", "use super::paths;"),
            ("src/paths.rs", "use crate::Root;"),
            ("src/main.rs", "fn main() { atelier::cli::run() }"),
        ] {
            gather(&Source { path: PathBuf::from(path), text: text.to_owned() }, &modules, &mut found);
        }
        let found: Vec<String> = found.iter().map(|(arrow, places)| format!("{arrow}: {}", places.join(" "))).collect();
        assert_eq!(
            found,
            [
                "jobs → paths: src/jobs/pages/list.rs:2 src/jobs/mod.rs:1",
                "jobs → web: src/jobs/pages/list.rs:1",
                "main → cli: src/main.rs:1",
                "paths → lib: src/paths.rs:1",
            ]
        );
    }

    #[test]
    fn a_tree_is_held_against_the_table() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("it is below the folder")).expect("the folder is ours");
            fs::write(path, text).expect("the folder is ours");
        };
        write("src/lib.rs", "mod server; mod error;");
        write("src/error.rs", "use crate::server::State;");
        write("src/server/mod.rs", "use crate::error::Error;");
        write("src/strange/mod.rs", "");
        let mut told = check(folder.path()).expect("it can be read");
        // What the table allows from noun to noun is not used in this tree.
        told.retain(|problem| !problem.contains("no longer used"));
        assert_eq!(
            told,
            [
                "strange is in no row of MODULES in crates/xtask/src/lint/table.rs: add one",
                "error → server is a new arrow, at src/error.rs:1: remove it, or allow it in MODULES of \
                 crates/xtask/src/lint/table.rs",
            ]
        );
    }
}
