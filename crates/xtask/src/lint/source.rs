//! Rust sources as far as the checks need them: the code without comments, texts and tests.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};

/// A source file of the repository.
#[derive(Debug)]
pub struct Source {
    /// From the root of the repository on.
    pub path: PathBuf,
    pub text: String,
}

impl Source {
    /// All `*.rs` files in a folder and below, in the order of their names. A folder that isn't there has
    /// none.
    pub fn all(root: &Path, folder: &str) -> Result<Vec<Self>> {
        let paths = files(&root.join(folder), "rs")?;
        paths.iter().map(|path| Self::read(root, path)).collect()
    }

    pub fn read(root: &Path, path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(Failure::file("reading", path))?;
        Ok(Self { path: path.strip_prefix(root).unwrap_or(path).to_owned(), text })
    }

    /// `path:line`, as editors understand it.
    pub fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.path.display())
    }

    /// Whether the whole file is only for tests, by the names that are usual for that.
    pub fn is_test(&self) -> bool {
        self.path.iter().any(|part| part == "tests" || part == "tests.rs")
    }
}

/// The files with that extension in a folder and below, in the order of their names.
pub fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop().filter(|folder| folder.is_dir()) {
        for entry in fs::read_dir(&folder).map_err(Failure::file("reading", &folder))? {
            let path = entry.map_err(Failure::file("reading", &folder))?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The code with every comment and every text replaced by spaces, so that lines and columns stay the same.
pub fn code(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut code = chars.clone();
    let mut at = 0;
    while at < chars.len() {
        let end = match chars[at] {
            '/' if chars.get(at + 1) == Some(&'/') => find(&chars, at, |rest| rest[0] == '\n'),
            '/' if chars.get(at + 1) == Some(&'*') => end_of_block(&chars, at),
            '"' => end_of_text(&chars, at),
            'r' | 'b' | 'c' if !follows_word(&chars, at) => end_of_prefixed(&chars, at),
            '\'' => end_of_char(&chars, at),
            _ => at,
        };
        if end == at {
            at += 1;
            continue;
        }
        for blank in code[at..end].iter_mut().filter(|char| **char != '\n') {
            *blank = ' ';
        }
        at = end;
    }
    code.into_iter().collect()
}

fn find(chars: &[char], from: usize, is_found: impl Fn(&[char]) -> bool) -> usize {
    (from..chars.len()).find(|at| is_found(&chars[*at..])).unwrap_or(chars.len())
}

fn follows_word(chars: &[char], at: usize) -> bool {
    at.checked_sub(1).is_some_and(|before| chars[before].is_alphanumeric() || chars[before] == '_')
}

/// Comments within comments belong to it.
fn end_of_block(chars: &[char], from: usize) -> usize {
    let (mut depth, mut at) = (0, from);
    while at < chars.len() {
        match chars[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] if depth == 1 => return at + 2,
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    at
}

fn end_of_text(chars: &[char], from: usize) -> usize {
    let mut at = from + 1;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// `r"…"`, `r#"…"#`, `b"…"`, `br#"…"#`, `c"…"`; anything else is a word, and `b'x'` is left to its quotation
/// mark.
fn end_of_prefixed(chars: &[char], from: usize) -> usize {
    let letters = find(chars, from, |rest| !matches!(rest[0], 'r' | 'b' | 'c')) - from;
    let is_raw = chars[from..from + letters].contains(&'r');
    let quote = find(chars, from + letters, |rest| rest[0] != '#');
    let hashes = quote - from - letters;
    if letters > 2 || chars.get(quote) != Some(&'"') || (hashes > 0 && !is_raw) {
        return from;
    }
    if !is_raw {
        return end_of_text(chars, quote);
    }
    let ends = |rest: &[char]| rest[0] == '"' && rest.len() > hashes && rest[1..=hashes].iter().all(|it| *it == '#');
    (find(chars, quote + 1, ends) + 1 + hashes).min(chars.len())
}

/// A letter in quotation marks; a lifetime is none.
fn end_of_char(chars: &[char], from: usize) -> usize {
    match chars[from + 1..] {
        ['\\', ..] => (find(chars, from + 3, |rest| rest[0] == '\'') + 1).min(chars.len()),
        [_, '\'', ..] => from + 3,
        _ => from,
    }
}

/// Blanks what stands under `#[cfg(test)]` in code that has neither comments nor texts.
pub fn without_tests(code: &str) -> String {
    let mut left = code.to_owned();
    while let Some(start) = left.find("#[cfg(test)]") {
        let rest = &left[start..];
        let end = match rest.find(['{', ';']) {
            Some(at) if rest[at..].starts_with('{') => at + block_length(&rest[at..]),
            Some(at) => at + 1,
            None => rest.len(),
        };
        let blank: String = rest[..end].chars().map(|it| if it == '\n' { '\n' } else { ' ' }).collect();
        left.replace_range(start..start + end, &blank);
    }
    left
}

/// From a brace to the end of the one that closes it.
fn block_length(code: &str) -> usize {
    let mut depth = 0;
    for (at, char) in code.char_indices() {
        match char {
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_texts_become_spaces() {
        assert_eq!(code("a // crate::b\nc"), "a            \nc");
        assert_eq!(code("a /* b /* c */ d */ e"), "a                   e");
        assert_eq!(code(r#"f("a \" b", c)"#), "f(        , c)");
        assert_eq!(code("x(r#\"a \" b\"#); br\"y\"; b\"z\""), "x(          );      ;     ");
        assert_eq!(code("a(\"one\ntwo\") // three"), "a(    \n    )         ");
        assert_eq!(code("for_r#type"), "for_r#type");
    }

    #[test]
    fn lifetimes_are_code_and_letters_are_not() {
        assert_eq!(
            code("fn f<'a>(x: &'a str, y: char) { y == '\"' || y == '\\'' || y == b'{' }").matches('{').count(),
            1
        );
        assert_eq!(code("'a'; 'b: loop {}"), "   ; 'b: loop {}");
    }

    #[test]
    fn tests_are_left_out() {
        let code = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { c() }\n}\nfn d() {}\n#[cfg(test)]\nmod e;\n";
        let left = without_tests(code);
        assert_eq!(left.lines().count(), code.lines().count());
        assert_eq!(left.split_whitespace().collect::<Vec<_>>().join(" "), "fn a() {} fn d() {}");
    }
}
