//! A Jupyter notebook, as far as it is shown: text, code, what was printed, pictures. What could run (HTML, JavaScript, drawings)
//! is counted and left out.

use base64::Engine as _;
use serde_json::Value;

use super::preview::image_kind;

/// So many cells are shown.
const MOST_CELLS: usize = 400;
/// So many outputs of a cell.
const MOST_OUTPUTS: usize = 50;
/// So much text of one cell or output.
const MOST_TEXT: usize = 64 << 10;
/// So large may a picture in it be.
const MOST_IMAGE: usize = 8 << 20;

/// What is shown of a notebook.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Notebook {
    /// The language of its code.
    pub language: String,
    /// Its cells.
    pub cells: Vec<Cell>,
    /// Whether there are more.
    pub is_cut: bool,
}

/// One cell.
#[derive(Debug, PartialEq, Eq)]
pub struct Cell {
    /// What it is.
    pub kind: CellKind,
    /// What stands in it.
    pub source: String,
    /// The number of its run.
    pub count: Option<i64>,
    /// What came of it.
    pub outputs: Vec<Output>,
}

/// What a cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// Code.
    Code,
    /// Text with marks.
    Markdown,
    /// Text as it is.
    Raw,
}

/// What came of a cell.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    /// Text.
    Text(String),
    /// An error with its trace.
    Error(String),
    /// A picture, found by its place.
    Image {
        /// Which output of the cell.
        number: usize,
        /// What stands for it where it is not seen.
        words: String,
    },
    /// Something that could run in a browser.
    LeftOut(String),
}

/// Reads a notebook.
pub fn read(bytes: &[u8]) -> Option<Notebook> {
    let all: Value = serde_json::from_slice(bytes).ok()?;
    let cells = all.get("cells")?.as_array()?;
    let metadata = all.get("metadata");
    let named = metadata
        .and_then(|about| about.pointer("/language_info/name").or_else(|| about.pointer("/kernelspec/language")))
        .and_then(Value::as_str);
    let language = named.unwrap_or("python").chars().take(40).collect();
    let shown = cells.iter().take(MOST_CELLS).map(cell).collect();
    Some(Notebook { language, cells: shown, is_cut: cells.len() > MOST_CELLS })
}

fn cell(cell: &Value) -> Cell {
    let kind = match cell.get("cell_type").and_then(Value::as_str) {
        Some("code") => CellKind::Code,
        Some("markdown") => CellKind::Markdown,
        _ => CellKind::Raw,
    };
    let outputs = cell.get("outputs").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Cell {
        kind,
        source: cell.get("source").map(text).unwrap_or_default(),
        count: cell.get("execution_count").and_then(Value::as_i64),
        outputs: outputs.iter().take(MOST_OUTPUTS).enumerate().map(|(number, one)| output(number, one)).collect(),
    }
}

fn output(number: usize, output: &Value) -> Output {
    match output.get("output_type").and_then(Value::as_str) {
        Some("stream") => Output::Text(plain(&output.get("text").map(text).unwrap_or_default())),
        Some("error") => {
            Output::Error(plain(&output.get("traceback").map(|lines| joined(lines, "\n")).unwrap_or_default()))
        }
        _ => {
            let data = output.get("data");
            let has = |kind: &str| data.and_then(|data| data.get(kind)).is_some();
            let words = data.and_then(|data| data.get("text/plain")).map(text).map(|words| plain(&words));
            if has("image/png") || has("image/jpeg") {
                return Output::Image { number, words: words.unwrap_or_else(|| "A picture".into()) };
            }
            match words {
                Some(words) => Output::Text(words),
                None => {
                    let kinds: Vec<&str> = data
                        .and_then(Value::as_object)
                        .map(|data| data.keys().map(String::as_str).take(5).collect())
                        .unwrap_or_default();
                    let kinds = if kinds.is_empty() { "nothing".to_owned() } else { kinds.join(", ") };
                    Output::LeftOut(kinds.chars().take(200).collect())
                }
            }
        }
    }
}

/// A picture in a notebook: its kind and its bytes.
pub fn image(bytes: &[u8], cell: usize, output: usize) -> Option<(&'static str, Vec<u8>)> {
    let all: Value = serde_json::from_slice(bytes).ok()?;
    let data = all.get("cells")?.get(cell)?.get("outputs")?.get(output)?.get("data")?;
    let encoded = data.get("image/png").or_else(|| data.get("image/jpeg")).map(|data| joined(data, ""))?;
    let encoded: String = encoded.chars().filter(|c| !c.is_whitespace()).collect();
    if encoded.len() / 4 * 3 > MOST_IMAGE {
        return None;
    }
    let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).ok()?;
    // Whatever it is called: only what is a picture is handed out as one.
    Some((image_kind(&bytes)?, bytes))
}

/// Text, which notebooks keep as one or as lines.
fn text(value: &Value) -> String {
    let all = joined(value, "");
    match all.char_indices().nth(MOST_TEXT) {
        Some((at, _)) => format!("{}\n… (cut)", &all[..at]),
        None => all,
    }
}

fn joined(value: &Value, between: &str) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(between),
        _ => String::new(),
    }
}

/// Text without the marks that terminals take for colours.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => {
                if letters.next() == Some('[') {
                    letters.by_ref().find(|c| c.is_ascii_alphabetic());
                }
            }
            '\n' | '\t' => out.push(letter),
            letter if letter.is_control() => {}
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_notebook_shows_what_is_harmless() {
        let png = base64::engine::general_purpose::STANDARD.encode(b"\x89PNG\r\n\x1a\nrest");
        let html = base64::engine::general_purpose::STANDARD.encode(b"<script>alert(1)</script>");
        let notebook = json!({"metadata": {"language_info": {"name": "python"}}, "cells": [
            {"cell_type": "markdown", "source": ["# Hi\n", "there"]},
            {"cell_type": "code", "execution_count": 3, "source": "1+1", "outputs": [
                {"output_type": "stream", "text": ["\u{1b}[31mred\u{1b}[0m\n"]},
                {"output_type": "execute_result", "data": {"text/plain": "2", "text/html": "<script>alert(1)</script>"}},
                {"output_type": "display_data", "data": {"image/png": png, "text/plain": "<Figure>"}},
                {"output_type": "display_data", "data": {"application/javascript": "alert(1)", "text/html": "<b>"}},
                {"output_type": "display_data", "data": {"image/png": html}},
                {"output_type": "error", "traceback": ["a", "b"]},
            ]},
        ]});
        let bytes = serde_json::to_vec(&notebook).expect("JSON");
        let read = read(&bytes).expect("a notebook");
        assert_eq!((read.cells[0].kind, read.cells[0].source.as_str()), (CellKind::Markdown, "# Hi\nthere"));
        let code = &read.cells[1];
        assert_eq!(code.count, Some(3));
        assert_eq!(code.outputs[0], Output::Text("red\n".into()));
        assert_eq!(code.outputs[1], Output::Text("2".into()));
        assert_eq!(code.outputs[2], Output::Image { number: 2, words: "<Figure>".into() });
        assert_eq!(code.outputs[3], Output::LeftOut("application/javascript, text/html".into()));
        assert_eq!(code.outputs[5], Output::Error("a\nb".into()));
        assert_eq!(image(&bytes, 1, 2).expect("a picture").0, "image/png");
        assert_eq!(image(&bytes, 1, 4), None, "what only says that it is a picture is none");
        assert_eq!(image(&bytes, 9, 9), None);
    }

    #[test]
    fn what_is_no_notebook_or_too_much_of_one_is_bounded() {
        for text in ["", "[]", "{}", "{\"cells\": 3}", "nonsense"] {
            assert_eq!(read(text.as_bytes()), None, "{text}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(read(deep.as_bytes()), None);
        let many = json!({"cells": vec![json!({"cell_type": "code", "source": "x".repeat(100)}); 2_000]});
        let read = read(&serde_json::to_vec(&many).expect("JSON")).expect("a notebook");
        assert!(read.cells.len() == MOST_CELLS && read.is_cut);
    }
}
