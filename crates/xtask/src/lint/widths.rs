//! Lines that are too wide to read: prose and comments at 110 columns, code at 120.

use std::path::Path;

use super::source::{Source, code, files};
use crate::failure::Result;

const PROSE: usize = 110;
const CODE: usize = 120;

/// Sentences about lines that are too wide.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let mut pages = files(&root.join("docs"), "md")?;
    pages.push(root.join("README.md"));
    for page in pages {
        let page = Source::read(root, &page)?;
        problems.extend(prose(&page.text).into_iter().map(|(line, width)| too_wide(&page, line, width, PROSE)));
    }
    for folder in ["src", "crates", "tests"] {
        for source in Source::all(root, folder)? {
            let lines = wide_rust(&source.text).into_iter();
            problems.extend(lines.map(|(line, width, limit)| too_wide(&source, line, width, limit)));
        }
    }
    Ok(problems)
}

fn too_wide(source: &Source, line: usize, width: usize, limit: usize) -> String {
    format!("{} has {width} columns: wrap it at {limit}", source.place(line))
}

/// The lines of Markdown that are too wide, with their widths, apart from what can't be wrapped.
fn prose(text: &str) -> Vec<(usize, usize)> {
    let mut fence: Option<&str> = None;
    // Four spaces after an empty line are code, unless a list is open.
    let (mut is_after_blank, mut is_list) = (true, false);
    let mut wide = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let start = line.trim_start();
        if let Some(open) = fence {
            fence = Some(open).filter(|open| !start.starts_with(open));
            continue;
        }
        fence = ["```", "~~~"].into_iter().find(|fence| start.starts_with(fence));
        let is_indented = line.len() - start.len() >= 4 && is_after_blank && !is_list;
        if !start.is_empty() && !is_indented {
            is_list = is_item(start) || (is_list && (start.len() < line.len() || !is_after_blank));
        }
        // A block of code may have several lines.
        is_after_blank = start.is_empty() || is_indented;
        let is_free = fence.is_some() || is_indented || ["|", "![", "<"].iter().any(|sign| start.starts_with(sign));
        if !is_free && without_targets(line).chars().count() > PROSE {
            wide.push((at + 1, line.chars().count()));
        }
    }
    wide
}

fn is_item(start: &str) -> bool {
    let number = start.trim_start_matches(|it: char| it.is_ascii_digit());
    ["- ", "* ", "+ "].iter().any(|sign| start.starts_with(sign))
        || (number.len() < start.len() && number.starts_with(". "))
}

/// A line without the addresses of its links, which can't be wrapped.
fn without_targets(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = ["](", "http://", "https://"].iter().filter_map(|start| rest.find(start)).min() {
        let end = if rest[at..].starts_with("](") { rest[at..].find(')') } else { rest[at..].find([' ', ')', '>']) };
        text.push_str(&rest[..at]);
        rest = &rest[end.map_or(rest.len(), |end| at + end)..];
    }
    text + rest
}

/// The lines of Rust that are too wide, with their widths and limits. Lines inside of a text, and rows of
/// tables in comments, are free.
fn wide_rust(text: &str) -> Vec<(usize, usize, usize)> {
    let code = code(text);
    let lines = text.lines().zip(code.lines()).enumerate();
    let lines = lines.filter_map(|(at, (line, code))| {
        let start = line.trim_start();
        let is_comment = start.starts_with("//");
        let is_row = is_comment && start.trim_start_matches(['/', '!', ' ']).starts_with('|');
        let limit = if is_comment { PROSE } else { CODE };
        let width = line.chars().count();
        let is_free = is_row || (code.trim().is_empty() && !is_comment);
        (width > limit && !is_free).then_some((at + 1, width, limit))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_wrapped_and_what_cannot_be_wrapped_is_free() {
        let wide = "word ".repeat(30);
        let numbers = |text: String| prose(&text).into_iter().map(|(line, _)| line).collect::<Vec<_>>();
        assert_eq!(numbers(format!("# Title\n\n{wide}\n- {wide}\n")), [3, 4]);
        assert_eq!(numbers(format!("| {wide} |\n![{wide}](a.png)\n<img {wide}>\n")), [0; 0]);
        assert_eq!(numbers(format!("```sh\n{wide}\n```\n{wide}\n")), [4]);
        assert_eq!(numbers(format!("Text:\n\n    {wide}\n    {wide}\n\n- item\n\n    {wide}\n")), [8]);
        assert_eq!(numbers(format!("[text](https://example.org/{}) and more\n", "x".repeat(120))), [0; 0]);
        assert_eq!(numbers(format!("see <https://example.org/{}> {wide}\n", "x".repeat(120))), [1]);
        assert_eq!(numbers(format!("{}\n", "é".repeat(110))), [0; 0]);
    }

    #[test]
    fn comments_are_narrower_than_code_and_texts_are_free() {
        let of = |count: usize| "x".repeat(count);
        assert_eq!(wide_rust(&format!("// {}\nlet {};\n", of(110), of(110))), [(1, 113, 110)]);
        assert_eq!(wide_rust(&format!("let {};\n", of(120))), [(1, 125, 120)]);
        assert_eq!(wide_rust(&format!("let a = \"\n{}\n\";\n", of(200))), []);
        assert_eq!(wide_rust(&format!("//! | {} |\n", of(110))), []);
    }
}
