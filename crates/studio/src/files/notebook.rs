//! A Jupyter notebook, as far as it is shown: text, code, what was printed, pictures. What could run (HTML,
//! JavaScript, drawings) is counted and left out.
//!
//! Only what is shown is taken out of the file: a tree of all that is in a large notebook would take a
//! hundred times its size. Everything else stays a stretch of its bytes.

use std::fmt;
use std::sync::LazyLock;

use base64::Engine as _;
use serde::de::{Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use crate::files::preview::image_kind;

const MOST_CELLS: usize = 400;
const MOST_OUTPUTS: usize = 50;
/// So many bytes of text of one cell or output.
const MOST_TEXT: usize = 64 << 10;
/// So many bytes of all outputs of one cell.
const MOST_PRINTED: usize = 256 << 10;
/// So many bytes of text of all cells together.
const MOST_ALL: usize = 1 << 20;
/// So large may a picture in it be.
const MOST_IMAGE: usize = 8 << 20;

/// So many notebooks are taken apart at once, for pages and for their pictures: each is held in memory
/// meanwhile.
pub static TURNS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(2));

/// What is shown of a notebook.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Notebook {
    pub language: String,
    pub cells: Vec<Cell>,
    pub is_cut: bool,
}

/// One cell.
#[derive(Debug, PartialEq, Eq)]
pub struct Cell {
    pub kind: CellKind,
    /// What stands in it, as markup of ours.
    pub markup: String,
    /// The number of its run.
    pub count: Option<i64>,
    pub outputs: Vec<Output>,
}

/// What a cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    Code,
    Markdown,
    /// Text as it is.
    Raw,
}

/// What came of a cell.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    Text(String),
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

/// Makes the markup of a cell: what it is, what stands in it, and the language of the notebook's code.
pub type Paint<'a> = &'a dyn Fn(CellKind, &str, &str) -> String;

/// Reads a notebook.
pub fn read(bytes: &[u8], paint: Paint<'_>) -> Option<Notebook> {
    let top: &RawValue = serde_json::from_slice(bytes).ok()?;
    let [metadata, cells] = fields(Some(top), ["metadata", "cells"]);
    let cells = cells.filter(|cells| cells.get().starts_with('['));
    let [info, spec] = fields(metadata, ["language_info", "kernelspec"]);
    let ([name], [spoken]) = (fields(info, ["name"]), fields(spec, ["language"]));
    let named = [name, spoken].map(|named| text(named, 160, "").text);
    let language = named.into_iter().find(|named| !named.is_empty()).unwrap_or_else(|| "python".to_owned());
    let language = language.chars().take(40).collect();
    let mut reading = Reading { paint, left: MOST_ALL, notebook: Notebook { language, ..Notebook::default() } };
    each(Some(cells?), |_, cell| {
        let goes_on = reading.notebook.cells.len() < MOST_CELLS && reading.left > 0;
        if goes_on {
            // Also for what is no cell: pictures are found by the number of theirs.
            let cell = reading.cell(cell);
            reading.notebook.cells.push(cell);
        } else {
            reading.notebook.is_cut = true;
        }
        goes_on
    });
    Some(reading.notebook)
}

/// A picture in a notebook: its kind and its bytes.
pub fn image(bytes: &[u8], cell: usize, output: usize) -> Option<(&'static str, Vec<u8>)> {
    // Four letters are three bytes, and lines may end in between.
    let most = MOST_IMAGE / 3 * 4 + (MOST_IMAGE >> 4);
    let [cells] = fields(Some(serde_json::from_slice(bytes).ok()?), ["cells"]);
    let [outputs] = fields(nth(cells, cell), ["outputs"]);
    let [data] = fields(nth(outputs, output), ["data"]);
    let pictures = fields(data, ["image/png", "image/jpeg"]).into_iter().flatten();
    let mut encoded = pictures.map(|picture| text(Some(picture), most, "")).find(|found| !found.is_cut)?.text;
    encoded.retain(|c| !c.is_whitespace());
    let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).ok()?;
    // Whatever it is called: only what is a picture is handed out as one.
    Some((image_kind(&bytes).filter(|_| bytes.len() <= MOST_IMAGE)?, bytes))
}

/// Gives each element of a list, or each field of an object with its name, until that is enough. Nothing of
/// anything else.
fn each<'a>(of: Option<&'a RawValue>, take: impl FnMut(&str, &'a RawValue) -> bool) {
    struct Each<F>(F);
    impl<'de, F: FnMut(&str, &'de RawValue) -> bool> Visitor<'de> for Each<F> {
        type Value = ();
        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("a list or an object")
        }
        fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
            while list.next_element()?.is_some_and(|element| (self.0)("", element)) {}
            Ok(())
        }
        fn visit_map<A: MapAccess<'de>>(mut self, mut object: A) -> Result<(), A::Error> {
            while object.next_entry::<String, _>()?.is_some_and(|(name, value)| (self.0)(&name, value)) {}
            Ok(())
        }
    }
    // Whoever has enough leaves the rest unread, which the parser takes for an error.
    let _ = of.map(|of| serde_json::Deserializer::from_str(of.get()).deserialize_any(Each(take)));
}

/// The fields of those names, as far as an object has them.
fn fields<'a, const N: usize>(of: Option<&'a RawValue>, names: [&str; N]) -> [Option<&'a RawValue>; N] {
    let mut found = [None; N];
    each(of, |name, value| {
        if let Some(place) = names.iter().position(|wanted| *wanted == name) {
            found[place] = Some(value);
        }
        true
    });
    found
}

fn nth(list: Option<&RawValue>, number: usize) -> Option<&RawValue> {
    let (mut found, mut left) = (None, number);
    each(list, |_, element| {
        found = Some(element).filter(|_| left == 0);
        left = left.saturating_sub(1);
        found.is_none()
    });
    found
}

/// The beginning of a text, which notebooks have as one or as lines.
fn text(of: Option<&RawValue>, most: usize, between: &str) -> Taken {
    let mut taken = Taken::default();
    let read = |raw: &RawValue| serde_json::from_str::<String>(raw.get()).ok();
    if let Some(whole) = of.and_then(read) {
        taken.push(&whole, most);
        return taken;
    }
    let mut is_first = true;
    each(of.filter(|of| of.get().starts_with('[')), |_, line| {
        // A list in a list is no text.
        if let Some(line) = read(line) {
            taken.push(if is_first { "" } else { between }, most);
            taken.push(&line, most);
            is_first = false;
        }
        !taken.is_cut
    });
    taken
}

/// What is kept while a notebook is read.
struct Reading<'a> {
    paint: Paint<'a>,
    /// So much text may still be shown.
    left: usize,
    notebook: Notebook,
}

impl Reading<'_> {
    /// How much of the next text is kept.
    fn room(&self) -> usize {
        MOST_TEXT.min(self.left)
    }

    /// The text as it is shown, taken off what may be.
    fn spend(&mut self, taken: Taken) -> String {
        self.left = self.left.saturating_sub(taken.text.len());
        if taken.is_cut { taken.text + "\n… (cut)" } else { taken.text }
    }

    fn cell(&mut self, cell: &RawValue) -> Cell {
        let [kind, count, source, outputs] = fields(Some(cell), ["cell_type", "execution_count", "source", "outputs"]);
        let kind = match text(kind, 40, "").text.as_str() {
            "code" => CellKind::Code,
            "markdown" => CellKind::Markdown,
            _ => CellKind::Raw,
        };
        let source = self.spend(text(source, self.room(), ""));
        let markup = (self.paint)(kind, &source, &self.notebook.language);
        let (mut shown, start) = (Vec::new(), self.left);
        each(outputs.filter(|outputs| outputs.get().starts_with('[')), |_, output| {
            let goes_on = shown.len() < MOST_OUTPUTS;
            if goes_on {
                // One talkative cell leaves something for the others.
                let own = MOST_PRINTED.saturating_sub(start - self.left);
                shown.push(self.output(shown.len(), output, self.room().min(own)));
            } else {
                self.notebook.is_cut = true;
            }
            goes_on
        });
        let count = count.and_then(|count| serde_json::from_str(count.get()).ok());
        Cell { kind, markup, count, outputs: shown }
    }

    fn output(&mut self, number: usize, output: &RawValue, most: usize) -> Output {
        let [kind, stream, trace, data] = fields(Some(output), ["output_type", "text", "traceback", "data"]);
        match text(kind, 40, "").text.as_str() {
            "stream" => return Output::Text(plain(&self.spend(text(stream, most, "")))),
            "error" => return Output::Error(plain(&self.spend(text(trace, most, "\n")))),
            _ => {}
        }
        let [words, png, jpeg] = fields(data, ["text/plain", "image/png", "image/jpeg"]);
        let words = words.map(|words| plain(&self.spend(text(Some(words), most, ""))));
        if png.or(jpeg).is_some() {
            return Output::Image { number, words: words.unwrap_or_else(|| "A picture".into()) };
        }
        words.map_or_else(|| Output::LeftOut(kinds(data)), Output::Text)
    }
}

/// The first kinds of data that an output has.
fn kinds(data: Option<&RawValue>) -> String {
    let mut kinds: Vec<String> = Vec::new();
    each(data, |kind, _| {
        kinds.extend((!kind.is_empty()).then(|| kind.chars().take(200).collect()));
        kinds.len() < 5
    });
    if kinds.is_empty() { "nothing".into() } else { kinds.join(", ").chars().take(200).collect() }
}

/// A text of which the beginning is kept.
#[derive(Debug, Default)]
struct Taken {
    text: String,
    is_cut: bool,
}

impl Taken {
    fn push(&mut self, piece: &str, most: usize) {
        let room = most.saturating_sub(self.text.len());
        if piece.len() <= room {
            self.text.push_str(piece);
            return;
        }
        self.is_cut = true;
        let end = (0..=room).rev().find(|at| piece.is_char_boundary(*at)).unwrap_or_default();
        self.text.push_str(&piece[..end]);
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
    use serde_json::json;

    use super::*;

    const AS_IT_IS: Paint<'static> = &|_, text, _| text.to_owned();

    #[test]
    fn a_notebook_shows_what_is_harmless() {
        let png = base64::engine::general_purpose::STANDARD.encode(b"\x89PNG\r\n\x1a\nrest");
        let html = base64::engine::general_purpose::STANDARD.encode(b"<script>alert(1)</script>");
        let notebook = json!({"metadata": {"language_info": {"name": "python"}}, "cells": [
            {"cell_type": "markdown", "source": ["# Hi\n", "there"]},
            {"cell_type": "code", "execution_count": 3, "source": "1+1", "outputs": [
                {"output_type": "stream", "text": ["\u{1b}[31mred\u{1b}[0m\n"]},
                {"output_type": "execute_result",
                    "data": {"text/plain": "2", "text/html": "<script>alert(1)</script>"}},
                {"output_type": "display_data", "data": {"image/png": png, "text/plain": "<Figure>"}},
                {"output_type": "display_data", "data": {"application/javascript": "alert(1)", "text/html": "<b>"}},
                {"output_type": "display_data", "data": {"image/png": html}},
                {"output_type": "error", "traceback": ["a", "b"]},
            ]},
        ]});
        let bytes = serde_json::to_vec(&notebook).expect("JSON");
        let read = read(&bytes, AS_IT_IS).expect("a notebook");
        assert_eq!((read.cells[0].kind, read.cells[0].markup.as_str()), (CellKind::Markdown, "# Hi\nthere"));
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
            assert_eq!(read(text.as_bytes(), AS_IT_IS), None, "{text}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(read(deep.as_bytes(), AS_IT_IS), None);
        let many = json!({"cells": vec![json!({"cell_type": "code", "source": "x".repeat(100)}); 2_000]});
        let read = read(&serde_json::to_vec(&many).expect("JSON"), AS_IT_IS).expect("a notebook");
        assert!(read.cells.len() == MOST_CELLS && read.is_cut);
    }
    #[test]
    fn all_texts_together_are_bounded_and_the_rest_is_passed_over() {
        let output = json!({"data": {"text/plain": "y".repeat(100_000)}, "output_type": "execute_result"});
        let cell = json!({"cell_type": "code", "outputs": vec![output; 60], "source": ["a\n", "b"]});
        let many = serde_json::to_vec(&json!({"cells": vec![cell; 8]})).expect("JSON");
        let read = read(&many, AS_IT_IS).expect("a notebook");
        assert!(read.is_cut, "there is more");
        assert!(read.cells.len() == 4 && read.cells[0].outputs.len() == MOST_OUTPUTS, "{}", read.cells.len());
        assert_eq!(read.cells[0].markup, "a\nb", "what was printed before it does not take the place of the code");
        let shown: usize = read
            .cells
            .iter()
            .flat_map(|cell| &cell.outputs)
            .map(|output| match output {
                Output::Text(text) => text.len(),
                other => panic!("{other:?}"),
            })
            .sum();
        assert!(shown > MOST_ALL / 2 && shown < MOST_ALL + 4 * MOST_OUTPUTS * 20, "{shown}");
    }

    #[test]
    fn what_is_not_as_it_should_be_is_passed_over() {
        let odd = json!({"metadata": {"kernelspec": {"language": "R"}, "language_info": 3}, "nbformat": 4, "cells": [
            3, null, "x", [1, [2]], {"cell_type": 7, "source": {"a": 1}},
            {"cell_type": "code", "execution_count": "x", "source": ["a", 1, ["b"], {"c": "d"}, "e"], "outputs": [
                4, {"output_type": "stream", "text": ["é".repeat(40_000), "end"]}, {"data": []},
                {"traceback": ["a"], "output_type": "error"},
            ]},
            {"cell_type": "raw", "source": "r", "outputs": {"a": 1}},
        ]});
        let read = read(&serde_json::to_vec(&odd).expect("JSON"), AS_IT_IS).expect("a notebook");
        assert_eq!((read.language.as_str(), read.cells.len(), read.is_cut), ("R", 7, false), "each keeps its place");
        assert_eq!((read.cells[0].markup.as_str(), read.cells[5].markup.as_str()), ("", "ae"));
        let outputs = &read.cells[5].outputs;
        assert_eq!(outputs[0], Output::LeftOut("nothing".into()));
        let Output::Text(text) = &outputs[1] else { panic!("{:?}", outputs[1]) };
        assert!(text.len() < MOST_TEXT + 20 && text.ends_with("é\n… (cut)"), "{}", text.len());
        assert_eq!(outputs[3], Output::Error("a".into()));
        assert_eq!(read.cells[6].markup, "r");
    }
}
