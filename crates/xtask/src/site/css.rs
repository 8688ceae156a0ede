//! The one style sheet: joined in the order of `style/main.scss`, with the hashed names of what it refers to,
//! made small.
//!
//! Making it small is taking out comments and needless white space. Brotli does the rest, and what a person
//! wrote – nesting, layers, `light-dark()`, `oklch()` – reaches the browser as it is.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::public::read_tree;
use super::{Site, scss};
use crate::failure::{Failure, Result};

pub fn add(site: &mut Site, directory: &Path) -> Result<()> {
    let joined = join(directory)?;
    let css = rewrite_urls(&minify(&joined), |path| site.renamed.get(path).cloned())?;
    site.add_hashed("pkg/atelier.css", css.into_bytes());
    Ok(())
}

fn join(directory: &Path) -> Result<String> {
    let main = directory.join("main.scss");
    let main = fs::read_to_string(&main).map_err(Failure::file("reading", &main))?;
    let names = scss::used_names(&main)?;
    refuse_forgotten(directory, &names)?;
    let mut joined = String::new();
    for name in names {
        let sheet = directory.join(format!("{name}.css"));
        joined += &fs::read_to_string(&sheet).map_err(Failure::file("reading", &sheet))?;
        joined.push('\n');
    }
    Ok(joined)
}

/// A style sheet that nobody uses is nearly always a forgotten line in `main.scss`.
fn refuse_forgotten(directory: &Path, names: &[String]) -> Result<()> {
    let used: BTreeSet<String> = names.iter().map(|name| format!("{name}.css")).collect();
    let files = read_tree(directory)?;
    let forgotten = files.iter().map(|(path, _)| path).find(|path| path.ends_with(".css") && !used.contains(*path));
    match forgotten.and_then(|path| path.strip_suffix(".css")) {
        Some(name) => Err(Failure::new(format!(
            "style/{name}.css is not used. Add the line `@use \"{name}\";` to style/main.scss, or remove the file."
        ))),
        None => Ok(()),
    }
}

/// Replaces every absolute address in `url(…)` by its new name; one that is not part of the site is a
/// mistake.
fn rewrite_urls(css: &str, new_name: impl Fn(&str) -> Option<String>) -> Result<String> {
    let mut out = String::with_capacity(css.len());
    let mut rest = css;
    while let Some(at) = rest.find("url(") {
        let (before, after) = rest.split_at(at + "url(".len());
        out += before;
        let end = after.find(')').ok_or_else(|| Failure::new("a style sheet has a `url(` without its `)`"))?;
        let (inside, after) = after.split_at(end);
        let address = inside.trim().trim_matches(['"', '\'']);
        if address.starts_with('/') {
            let (path, fragment) =
                address.split_once('#').map_or((address, String::new()), |(path, id)| (path, format!("#{id}")));
            let name = new_name(path).ok_or_else(|| {
                Failure::new(format!(
                    "a style sheet refers to {path}, but there is no public{path}. Add it or correct the address."
                ))
            })?;
            out += &name;
            out += &fragment;
        } else {
            out += inside;
        }
        rest = after;
    }
    out += rest;
    Ok(out)
}

/// Takes out comments and white space that mean nothing; strings stay untouched.
fn minify(css: &str) -> String {
    let mut out = String::with_capacity(css.len());
    let mut rest = css;
    // white space is written late, when it is known what follows
    let mut space = false;
    while let Some(next) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.find("*/").map_or("", |end| &comment[end + 2..]);
            space = true;
        } else if next.is_whitespace() {
            rest = &rest[next.len_utf8()..];
            space = true;
        } else {
            let length = if next == '"' || next == '\'' { string_length(rest, next) } else { next.len_utf8() };
            let before = out.chars().next_back();
            if space && before.is_some_and(|before| !eats_space_after(before)) && !eats_space_before(next) {
                out.push(' ');
            }
            if next == '}' && before == Some(';') {
                out.pop();
            }
            out += &rest[..length];
            rest = &rest[length..];
            space = false;
        }
    }
    out
}

/// After these, white space never means anything. (Before a colon it does: `a :hover` is not `a:hover`.)
fn eats_space_after(character: char) -> bool {
    matches!(character, '{' | '}' | ';' | ',' | ':')
}

fn eats_space_before(character: char) -> bool {
    matches!(character, '{' | '}' | ';' | ',')
}

/// Returns the length in bytes of the string at the beginning of `text`, quotes included.
fn string_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return at + quote.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makes_sheets_small_without_changing_them() {
        for (written, small) in [
            ("/* why */\n@layer reset, base;\n", "@layer reset,base;"),
            ("a {\n  color: red;\n  top: 0;\n}\n", "a{color:red;top:0}"),
            ("a { & :hover, &:focus { top: 0 } }", "a{& :hover,&:focus{top:0}}"),
            ("a > b + c ~ d { }", "a > b + c ~ d{}"),
            ("p{width:calc(1px + 2 * (3px - 1px))}", "p{width:calc(1px + 2 * (3px - 1px))}"),
            ("@media (width >= 40rem) and (hover) {}", "@media (width >= 40rem) and (hover){}"),
            ("q::before { content: \"/* a ; } */  \\\" b\" }", "q::before{content:\"/* a ; } */  \\\" b\"}"),
            (
                "a{color:light-dark(oklch(0.4 0.2 267), oklch(0.5 0.1 268))}",
                "a{color:light-dark(oklch(0.4 0.2 267),oklch(0.5 0.1 268))}",
            ),
            ("a{margin:0/**/auto}", "a{margin:0 auto}"),
            ("a { b: c;; }\n\nd {}", "a{b:c;}d{}"),
        ] {
            assert_eq!(minify(written), small);
        }
    }

    #[test]
    fn refers_to_hashed_names() {
        let new_name = |path: &str| (path == "/fonts/a.woff2").then(|| "/fonts/a-1.woff2".to_owned());
        let css = "x{src:url(\"/fonts/a.woff2\")}y{src:url(/fonts/a.woff2#z)}z{fill:url(#id)}";
        assert_eq!(
            rewrite_urls(css, new_name).expect("all are known"),
            "x{src:url(/fonts/a-1.woff2)}y{src:url(/fonts/a-1.woff2#z)}z{fill:url(#id)}"
        );
        let failure = rewrite_urls("x{src:url(/fonts/b.woff2)}", new_name).expect_err("there is no such file");
        assert!(failure.to_string().contains("no public/fonts/b.woff2"), "{failure}");
    }

    #[test]
    fn a_sheet_that_nobody_uses_is_told() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::write(directory.path().join("main.scss"), "@use \"a\";\n").expect("a file can be written");
        fs::write(directory.path().join("a.css"), "a{}").expect("a file can be written");
        assert_eq!(join(directory.path()).expect("all are used"), "a{}\n");
        fs::create_dir(directory.path().join("components")).expect("a directory can be made");
        fs::write(directory.path().join("components/b.css"), "b{}").expect("a file can be written");
        let failure = join(directory.path()).expect_err("b is forgotten");
        assert!(failure.to_string().contains("`@use \"components/b\";`"), "{failure}");
    }
}
