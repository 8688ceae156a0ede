//! How a file is shown. Everything is made on the server out of a bounded part of the file, and nothing of a
//! file ever reaches the browser as markup: text is escaped, pictures are told by their first bytes, Markdown
//! loses its HTML.

use std::fs::File;
use std::io::Read as _;

use atelier_domain::files::FilePath;
use atelier_domain::files::colour::{Language, pieces};
use atelier_domain::paths;
use atelier_domain::text::counted;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use crate::files::notebook;
use crate::files::notebook::{CellKind, Notebook};
use crate::html::text as escape_text;

const MOST_TEXT: u64 = 512 << 10;
/// So much of a table is read, and so much of it shown.
const MOST_TABLE: (u64, usize, usize) = (1 << 20, 200, 40);
const MOST_CELL: usize = 200;
/// So large may a notebook be, since half of one cannot be read.
pub const MOST_NOTEBOOK: u64 = 16 << 20;
pub const MOST_IMAGE: u64 = 64 << 20;
pub const MOST_EDIT: u64 = 1 << 20;

/// How a file is shown.
#[derive(Debug)]
pub enum Preview {
    /// With its colours, as markup of ours.
    Text {
        language: &'static str,
        markup: String,
        is_cut: bool,
    },
    Table {
        head: Vec<String>,
        rows: Vec<Vec<String>>,
        is_cut: bool,
    },
    /// As text with headings and lists, as markup of ours.
    Markdown {
        markup: String,
        is_cut: bool,
    },
    Notebook(Box<Notebook>),
    Image,
    /// Not at all.
    None {
        why: String,
    },
}

/// Makes the preview of a file. Blocks.
pub fn of(file: File, path: &FilePath, size: u64, slug: &str) -> std::io::Result<Preview> {
    let ending = path.ending();
    let most = match ending.as_str() {
        "ipynb" => MOST_NOTEBOOK,
        "csv" | "tsv" => MOST_TABLE.0,
        _ => MOST_TEXT,
    };
    let mut start = Vec::new();
    file.take(most).read_to_end(&mut start)?;
    let is_cut = size > start.len() as u64;
    if size == 0 {
        return Ok(Preview::None { why: "This file is empty.".into() });
    }
    if image_kind(&start).is_some() {
        return Ok(match size {
            size if size <= MOST_IMAGE => Preview::Image,
            _ => Preview::None { why: "This picture is too large to be shown here. Download it.".into() },
        });
    }
    if ending == "ipynb" && !is_cut {
        let paint = |kind: CellKind, source: &str, language: &str| match kind {
            CellKind::Markdown => markdown(source, path, slug),
            CellKind::Code => coloured(source, &Language::named(language)),
            CellKind::Raw => escape_text(source),
        };
        return Ok(match notebook::read(&start, &paint) {
            Some(notebook) => Preview::Notebook(Box::new(notebook)),
            None => Preview::None {
                why: "This notebook cannot be read: it is no JSON in the form of Jupyter, version 4.".into(),
            },
        });
    }
    let Some(text) = text_of(&start, is_cut) else {
        let why = "This file is neither text nor a picture that browsers show. Download it, or open it in JupyterLab.";
        return Ok(Preview::None { why: why.into() });
    };
    Ok(match ending.as_str() {
        "csv" => table(text, b',', is_cut),
        "tsv" => table(text, b'\t', is_cut),
        "md" | "markdown" => Preview::Markdown { markup: markdown(text, path, slug), is_cut },
        _ => {
            let language = Language::of(path.name(), text);
            Preview::Text { language: language.name(), markup: coloured(text, &language), is_cut }
        }
    })
}

/// The text of a file, if it is one. A letter that was cut at the end is left out.
pub fn text_of(bytes: &[u8], is_cut: bool) -> Option<&str> {
    if bytes.iter().take(8_192).any(|byte| *byte == 0) {
        return None;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if is_cut && bytes.len() - error.valid_up_to() < 4 => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}

/// What a text has that does not survive an editor in a browser, which knows one kind of line end and no NUL.
pub fn why_not_edited(text: &str) -> Option<String> {
    let count = |part: &str| text.matches(part).count();
    if let nuls @ 1.. = count("\0") {
        return Some(format!(
            "it has {} with the number 0, which browsers leave out.",
            counted(nuls as u64, "character", "characters")
        ));
    }
    let (pairs, returns, ends) = (count("\r\n"), count("\r"), count("\n"));
    if returns > pairs {
        let lone =
            counted((returns - pairs) as u64, "carriage return that ends no line", "carriage returns that end no line");
        return Some(format!("it has {lone}, which browsers turn into line ends."));
    }
    if pairs > 0 && ends > pairs {
        return Some(format!(
            "{pairs} of its lines end with a carriage return and {} without, and browsers make them all the same.",
            ends - pairs
        ));
    }
    None
}

/// The kind of a picture that browsers show and that can hold no script, by its first bytes.
pub fn image_kind(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// A text with its colours, as markup.
pub fn coloured(text: &str, language: &Language) -> String {
    let mut markup = String::with_capacity(text.len() * 2);
    for (kind, piece) in pieces(text, language) {
        match kind.class() {
            Some(class) => {
                markup.push_str("<span class=\"");
                markup.push_str(class);
                markup.push_str("\">");
                markup.push_str(&escape_text(piece));
                markup.push_str("</span>");
            }
            None => markup.push_str(&escape_text(piece)),
        }
    }
    markup
}

/// The first rows and columns of a table. Quotation marks keep separators and line ends in a cell.
fn table(text: &str, separator: u8, is_cut: bool) -> Preview {
    let (_, most_rows, most_columns) = MOST_TABLE;
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut is_cut = is_cut;
    let mut reader =
        csv::ReaderBuilder::new().delimiter(separator).has_headers(false).flexible(true).from_reader(text.as_bytes());
    // The text is in memory and is text, so that there is no other end than the last line.
    for record in reader.records().map_while(Result::ok) {
        if rows.len() > most_rows {
            is_cut = true;
            break;
        }
        is_cut |= record.len() > most_columns;
        rows.push(record.iter().take(most_columns).map(shown).collect());
    }
    let head = if rows.is_empty() { Vec::new() } else { rows.remove(0) };
    Preview::Table { head, rows, is_cut }
}

/// As much of a cell as is shown.
fn shown(cell: &str) -> String {
    match cell.char_indices().find(|(at, _)| *at >= MOST_CELL) {
        Some((end, _)) => format!("{}…", &cell[..end]),
        None => cell.to_owned(),
    }
}

/// Markdown as markup of ours: HTML in it is dropped, links lead to the web or to a file here, pictures come
/// from Files alone.
pub fn markdown(text: &str, path: &FilePath, slug: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut code: Option<(Language, String)> = None;
    let mut events: Vec<Event<'_>> = Vec::new();
    // Pictures of which nothing but their words is shown.
    let mut unseen = 0_usize;
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Html(_) | Event::InlineHtml(_) | Event::FootnoteReference(_) => {}
            Event::Start(Tag::HtmlBlock) | Event::End(TagEnd::HtmlBlock) => {}
            Event::Start(Tag::CodeBlock(kind)) => {
                let word = match &kind {
                    pulldown_cmark::CodeBlockKind::Fenced(word) => word.to_string(),
                    pulldown_cmark::CodeBlockKind::Indented => String::new(),
                };
                code = Some((Language::named(&word), String::new()));
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some((language, text)) = code.take() {
                    let markup = coloured(&text, &language);
                    events
                        .push(Event::Html(CowStr::from(format!("<pre class=\"source\"><code>{markup}</code></pre>"))));
                }
            }
            Event::Text(text) if code.is_some() => {
                if let Some((_, all)) = &mut code {
                    all.push_str(&text);
                }
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let dest_url = CowStr::from(link(&dest_url, path, slug));
                events.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
            }
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => match picture(&dest_url, path, slug) {
                Some(dest_url) if unseen == 0 => {
                    events.push(Event::Start(Tag::Image { link_type, dest_url: CowStr::from(dest_url), title, id }));
                }
                _ => unseen += 1,
            },
            Event::End(TagEnd::Image) if unseen > 0 => unseen -= 1,
            event => events.push(event),
        }
    }
    let mut markup = String::new();
    html::push_html(&mut markup, events.into_iter());
    // Headings of a text stand under those of the page.
    for level in (1..=4).rev() {
        markup = markup.replace(&format!("<h{level}>"), &format!("<h{}>", level + 2));
        markup = markup.replace(&format!("</h{level}>"), &format!("</h{}>", level + 2));
    }
    // A table's own alignment would be an inline style, which the policy blocks; a list's boxes are for
    // reading.
    for side in ["left", "right", "center"] {
        markup = markup.replace(&format!(" style=\"text-align: {side}\""), "");
    }
    markup
}

/// Where a link in a text leads: the web, a part of the same text, or a file beside it; everything else leads
/// nowhere.
fn link(target: &str, path: &FilePath, slug: &str) -> String {
    let lower = target.trim().to_ascii_lowercase();
    if lower.starts_with("https://") || lower.starts_with("http://") || lower.starts_with("mailto:") {
        return target.trim().to_owned();
    }
    match beside(target, path) {
        Some(file) => paths::file_page(slug, "view", file.as_str()),
        None => "#".to_owned(),
    }
}

fn picture(target: &str, path: &FilePath, slug: &str) -> Option<String> {
    beside(target, path).map(|file| paths::file_image(slug, file.as_str()))
}

/// A file that a text names, in its own folder or below it.
fn beside(target: &str, path: &FilePath) -> Option<FilePath> {
    let target = target.split(['#', '?']).next().unwrap_or_default();
    if target.is_empty() || target.contains(':') {
        return None;
    }
    let folder = path.parent()?;
    let target = target.strip_prefix("./").unwrap_or(target);
    let whole = if folder.is_top() { target.to_owned() } else { format!("{folder}/{target}") };
    FilePath::parse(&whole).ok().filter(|file| !file.is_top())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> FilePath {
        FilePath::parse("Users/ines/notes/read me.md").expect("a path")
    }

    #[test]
    fn markdown_keeps_its_words_and_loses_what_could_run() {
        let text = "# Title\n\n<script>alert(1)</script>\n\n**bold** <img src=x onerror=alert(1)> \
                    [a](javascript:alert(1)) [b](https://example.org/x) [c](data.csv) [d](../../other) ![p](plot.png) \
                    ![q](https://evil.example/x.png) <svg onload=alert(1)>\n\n```python\nif x < 1: pass\n```\n\n\
                    [e](JaVaScRiPt:alert(1)) [f](data:text/html,x) [g](//evil.example/x)\n\n|a|b|\n|:-|-:|\n|1|2|\n";
        let markup = markdown(text, &path(), "studio");
        for bad in [
            "<script",
            "onerror",
            "javascript",
            "JaVaScRiPt",
            "<svg",
            "data:text",
            "evil.example/x.png",
            "style=",
            "<img src=x",
        ] {
            assert!(!markup.contains(bad), "{bad}: {markup}");
        }
        assert!(markup.contains("<h3>Title</h3>") && markup.contains("<strong>bold</strong>"), "{markup}");
        assert!(markup.contains("href=\"https://example.org/x\""), "{markup}");
        assert!(markup.contains("/w/studio/files/view?path=Users%2Fines%2Fnotes%2Fdata%2Ecsv"), "{markup}");
        assert!(markup.contains("/w/studio/files/image?path="), "{markup}");
        assert!(markup.contains("<span class=\"k\">if</span> x &lt; "), "{markup}");
        assert!(!markup.contains("//evil.example"), "{markup}");
    }

    #[test]
    fn tables_are_read_with_their_quotation_marks_and_bounded() {
        let Preview::Table { head, rows, is_cut } = table("a,b\r\n\"x,\"\"y\"\"\n\",<b>\n3", b',', false) else {
            panic!("a table")
        };
        assert_eq!((head, is_cut), (vec!["a".to_owned(), "b".to_owned()], false));
        assert_eq!(rows, [vec!["x,\"y\"\n".to_owned(), "<b>".to_owned()], vec!["3".to_owned()]]);
        let wide = format!("{}\n", "x,".repeat(500)).repeat(1_000);
        let Preview::Table { head, rows, is_cut } = table(&wide, b',', false) else { panic!("a table") };
        assert!(head.len() <= MOST_TABLE.2 && rows.len() <= MOST_TABLE.1 && is_cut, "{} {}", head.len(), rows.len());
        let Preview::Table { head, .. } = table(&"y".repeat(100_000), b',', false) else { panic!("a table") };
        assert!(head[0].len() < 300);
    }

    #[test]
    fn pictures_are_known_by_their_bytes_and_drawings_with_script_are_none() {
        assert_eq!(image_kind(b"\x89PNG\r\n\x1a\nrest"), Some("image/png"));
        assert_eq!(image_kind(b"\xff\xd8\xff\xe0"), Some("image/jpeg"));
        for start in [&b"<svg xmlns="[..], b"<html>", b"", b"GIF", b"%PDF-1.7"] {
            assert_eq!(image_kind(start), None);
        }
        assert_eq!(text_of("aé".as_bytes(), false), Some("aé"));
        assert_eq!(text_of(&"aé".as_bytes()[..2], true), Some("a"));
        assert_eq!(text_of(b"a\0b", false), None);
        assert_eq!(text_of(b"a\xff\xff\xff\xffb", false), None);
    }

    #[test]
    fn texts_that_an_editor_in_a_browser_would_change_are_told() {
        for text in ["", "a", "a\nb\n", "a\r\nb\r\n", "a\r\nb"] {
            assert_eq!(why_not_edited(text), None, "{text:?}");
        }
        for (text, why) in
            [("a\0b", "1 character with"), ("a\rb\n", "1 carriage return"), ("a\r\nb\n", "1 of its lines")]
        {
            assert!(why_not_edited(text).is_some_and(|told| told.contains(why)), "{text:?}");
        }
    }

    #[test]
    fn colours_escape_what_they_colour() {
        let markup = coloured("x = \"<b>&\" # </pre><script>", &Language::of("a.py", ""));
        assert!(!markup.contains("<b>") && !markup.contains("<script>") && markup.contains("&lt;/pre&gt;"), "{markup}");
    }
}
