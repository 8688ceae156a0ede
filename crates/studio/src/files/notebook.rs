//! A Jupyter notebook, as far as it is shown: text, code, what was printed, pictures. What could run (HTML,
//! JavaScript, drawings) is counted and left out.
//!
//! A notebook is read as it comes, and only what is shown is kept of it: a tree of all that is in a large one
//! would take a hundred times its size. What is not shown is passed over by the parser without being kept
//! anywhere.

use std::fmt;
use std::sync::LazyLock;

use base64::Engine as _;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use tokio::sync::Semaphore;

use crate::files::preview::image_kind;

/// So many cells are shown.
const MOST_CELLS: usize = 400;
/// So many outputs of a cell.
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
    /// The language of its code.
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
    /// What came of it.
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

/// Makes the markup of a cell: what it is, what stands in it, and the language of the notebook's code.
pub type Paint<'a> = &'a dyn Fn(CellKind, &str, &str) -> String;

/// Reads a notebook.
pub fn read(bytes: &[u8], paint: Paint<'_>) -> Option<Notebook> {
    let named = |path: [&'static str; 3]| {
        let found = find(bytes, &path.map(Step::Field), 160)?.text;
        (!found.is_empty()).then(|| found.chars().take(40).collect::<String>())
    };
    let language = named(["metadata", "language_info", "name"])
        .or_else(|| named(["metadata", "kernelspec", "language"]))
        .unwrap_or_else(|| "python".to_owned());
    let mut reading = Reading { paint, language, left: MOST_ALL, cells: Vec::new(), is_cut: false, has_cells: false };
    let mut parser = serde_json::Deserializer::from_slice(bytes);
    Top(&mut reading).deserialize(&mut parser).ok()?;
    parser.end().ok()?;
    let Reading { language, cells, is_cut, has_cells, .. } = reading;
    has_cells.then_some(Notebook { language, cells, is_cut })
}

/// A picture in a notebook: its kind and its bytes.
pub fn image(bytes: &[u8], cell: usize, output: usize) -> Option<(&'static str, Vec<u8>)> {
    // Four letters are three bytes, and lines may end in between.
    let most = MOST_IMAGE / 3 * 4 + (MOST_IMAGE >> 4);
    let picture = |kind: &'static str| {
        let (cells, outputs) = (Step::Field("cells"), Step::Field("outputs"));
        let data = [Step::Field("data"), Step::Field(kind)];
        let way = [cells, Step::Number(cell), outputs, Step::Number(output), data[0], data[1]];
        find(bytes, &way, most).filter(|found| !found.is_cut)
    };
    let mut encoded = picture("image/png").or_else(|| picture("image/jpeg"))?.text;
    encoded.retain(|c| !c.is_whitespace());
    let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).ok()?;
    // Whatever it is called: only what is a picture is handed out as one.
    Some((image_kind(&bytes).filter(|_| bytes.len() <= MOST_IMAGE)?, bytes))
}

/// What a notebook has there: text as one or as lines, or a number.
fn find(bytes: &[u8], way: &[Step], most: usize) -> Option<Taken> {
    let mut found = None;
    let mut parser = serde_json::Deserializer::from_slice(bytes);
    Way { steps: way, most, found: &mut found }.deserialize(&mut parser).ok()?;
    found
}

/// What is kept while a notebook is read.
struct Reading<'a> {
    paint: Paint<'a>,
    language: String,
    /// So much text may still be shown.
    left: usize,
    cells: Vec<Cell>,
    is_cut: bool,
    has_cells: bool,
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
}

/// A value of which the beginning is kept: a text, the texts of a list, or a number.
#[derive(Debug, Default)]
struct Taken {
    text: String,
    number: Option<i64>,
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

/// Begins a visitor that keeps what it finds elsewhere.
macro_rules! expects {
    ($words:literal) => {
        type Value = ();
        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str($words)
        }
    };
}

/// Reads a value with the visitor of the same name.
macro_rules! seed {
    ($name:ty, $read:ident) => {
        impl<'de> DeserializeSeed<'de> for $name {
            type Value = ();
            fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
                from.$read(self)
            }
        }
    };
}

/// What a value may be that is not what is looked for: it is passed over.
macro_rules! passes_over {
    ($($what:ident)+) => { $(passes_over!(@ $what);)+ };
    (@ numbers) => {
        fn visit_i64<E>(self, _: i64) -> Result<(), E> { Ok(()) }
        fn visit_u64<E>(self, _: u64) -> Result<(), E> { Ok(()) }
    };
    (@ others) => {
        fn visit_bool<E>(self, _: bool) -> Result<(), E> { Ok(()) }
        fn visit_f64<E>(self, _: f64) -> Result<(), E> { Ok(()) }
        fn visit_unit<E>(self) -> Result<(), E> { Ok(()) }
    };
    (@ texts) => {
        fn visit_str<E>(self, _: &str) -> Result<(), E> { Ok(()) }
    };
    (@ lists) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(())
        }
    };
    (@ objects) => {
        fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
            while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(())
        }
    };
}

/// Keeps the beginning of a text, which notebooks have as one or as lines.
struct Lines<'a> {
    into: &'a mut Taken,
    most: usize,
    between: &'static str,
    is_in_list: bool,
}

impl<'a> Lines<'a> {
    fn of(into: &'a mut Taken, most: usize, between: &'static str) -> Self {
        Self { into, most, between, is_in_list: false }
    }
}

seed!(Lines<'_>, deserialize_any);

impl<'de> Visitor<'de> for Lines<'_> {
    expects!("anything");
    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.into.push(text, self.most);
        Ok(())
    }
    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.into.number = Some(number);
        Ok(())
    }
    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.into.number = i64::try_from(number).ok();
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Self { into, most, between, is_in_list } = self;
        let mut is_first = true;
        // A list in a list is no text, and after the end of what is kept nothing is looked at.
        while !is_in_list && !into.is_cut {
            let before = into.text.len();
            if !is_first {
                into.push(between, most);
            }
            let line = Lines { into: &mut *into, most, between, is_in_list: true };
            if list.next_element_seed(line)?.is_none() {
                into.text.truncate(before);
                return Ok(());
            }
            is_first = false;
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
    passes_over!(others objects);
}

/// A step to a value.
#[derive(Clone, Copy, Debug)]
enum Step {
    Field(&'static str),
    Number(usize),
}

/// Goes to one value and passes over everything else.
struct Way<'a> {
    steps: &'a [Step],
    most: usize,
    found: &'a mut Option<Taken>,
}

impl<'de> DeserializeSeed<'de> for Way<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        if self.steps.is_empty() {
            let found = self.found.insert(Taken::default());
            return Lines::of(found, self.most, "").deserialize(from);
        }
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Way<'_> {
    expects!("anything");
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        if let Some((Step::Number(number), steps)) = self.steps.split_first() {
            for _ in 0..*number {
                if list.next_element::<IgnoredAny>()?.is_none() {
                    return Ok(());
                }
            }
            if list.next_element_seed(Way { steps, most: self.most, found: self.found })?.is_none() {
                return Ok(());
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while let Some(key) = object.next_key::<String>()? {
            match self.steps.split_first() {
                Some((Step::Field(name), steps)) if *name == key => {
                    object.next_value_seed(Way { steps, most: self.most, found: &mut *self.found })?;
                }
                _ => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
    passes_over!(numbers others texts);
}

struct Top<'a, 'p>(&'a mut Reading<'p>);

seed!(Top<'_, '_>, deserialize_map);

impl<'de> Visitor<'de> for Top<'_, '_> {
    expects!("a notebook");
    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while let Some(key) = object.next_key::<String>()? {
            if key != "cells" {
                object.next_value::<IgnoredAny>()?;
            } else if std::mem::replace(&mut self.0.has_cells, true) {
                return Err(A::Error::custom("the cells are there twice"));
            } else {
                object.next_value_seed(Cells(&mut *self.0))?;
            }
        }
        Ok(())
    }
}

struct Cells<'a, 'p>(&'a mut Reading<'p>);

seed!(Cells<'_, '_>, deserialize_seq);

impl<'de> Visitor<'de> for Cells<'_, '_> {
    expects!("a list of cells");
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while self.0.cells.len() < MOST_CELLS && self.0.left > 0 {
            let before = self.0.cells.len();
            if list.next_element_seed(OneCell(&mut *self.0))?.is_none() {
                return Ok(());
            }
            if self.0.cells.len() == before {
                // What is no cell keeps its place: pictures are found by the number of theirs.
                let (kind, markup) = (CellKind::Raw, String::new());
                self.0.cells.push(Cell { kind, markup, count: None, outputs: Vec::new() });
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            self.0.is_cut = true;
        }
        Ok(())
    }
}

struct OneCell<'a, 'p>(&'a mut Reading<'p>);

seed!(OneCell<'_, '_>, deserialize_any);

impl<'de> Visitor<'de> for OneCell<'_, '_> {
    expects!("anything");
    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let reading = self.0;
        let (mut kind, mut count, mut source, mut outputs) =
            (Taken::default(), Taken::default(), Taken::default(), Vec::new());
        while let Some(key) = object.next_key::<String>()? {
            match key.as_str() {
                "cell_type" => object.next_value_seed(Lines::of(&mut kind, 40, ""))?,
                "execution_count" => object.next_value_seed(Lines::of(&mut count, 40, ""))?,
                "source" => object.next_value_seed(Lines::of(&mut source, reading.room(), ""))?,
                "outputs" => object.next_value_seed(Outputs { reading: &mut *reading, into: &mut outputs })?,
                _ => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        let kind = match kind.text.as_str() {
            "code" => CellKind::Code,
            "markdown" => CellKind::Markdown,
            _ => CellKind::Raw,
        };
        let source = reading.spend(source);
        let markup = (reading.paint)(kind, &source, &reading.language);
        reading.cells.push(Cell { kind, markup, count: count.number, outputs });
        Ok(())
    }
    passes_over!(numbers others texts lists);
}

struct Outputs<'a, 'p> {
    reading: &'a mut Reading<'p>,
    into: &'a mut Vec<Output>,
}

seed!(Outputs<'_, '_>, deserialize_any);

impl<'de> Visitor<'de> for Outputs<'_, '_> {
    expects!("anything");
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let start = self.reading.left;
        for number in 0..MOST_OUTPUTS {
            // One talkative cell leaves something for the others.
            let own = MOST_PRINTED.saturating_sub(start - self.reading.left);
            let mut found = Found { most: self.reading.room().min(own), ..Found::default() };
            if list.next_element_seed(Fields { found: &mut found, is_data: false })?.is_none() {
                return Ok(());
            }
            self.into.push(found.shown(number, self.reading));
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            self.reading.is_cut = true;
        }
        Ok(())
    }
    passes_over!(numbers others texts objects);
}

/// What an output has. Its type may stand behind what it is needed for, so all that could be shown is kept
/// until then.
#[derive(Default)]
struct Found {
    most: usize,
    kind: Taken,
    text: Taken,
    trace: Taken,
    words: Option<Taken>,
    has_picture: bool,
    /// The first kinds of data.
    kinds: Vec<String>,
}

impl Found {
    fn shown(self, number: usize, reading: &mut Reading<'_>) -> Output {
        match self.kind.text.as_str() {
            "stream" => Output::Text(plain(&reading.spend(self.text))),
            "error" => Output::Error(plain(&reading.spend(self.trace))),
            _ => {
                let words = self.words.map(|words| plain(&reading.spend(words)));
                match words {
                    words if self.has_picture => {
                        Output::Image { number, words: words.unwrap_or_else(|| "A picture".into()) }
                    }
                    Some(words) => Output::Text(words),
                    None if self.kinds.is_empty() => Output::LeftOut("nothing".into()),
                    None => Output::LeftOut(self.kinds.join(", ").chars().take(200).collect()),
                }
            }
        }
    }
}

/// The fields of an output, or of its data.
struct Fields<'a> {
    found: &'a mut Found,
    is_data: bool,
}

seed!(Fields<'_>, deserialize_any);

impl<'de> Visitor<'de> for Fields<'_> {
    expects!("anything");
    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let Self { found, is_data } = self;
        let most = found.most;
        while let Some(key) = object.next_key::<String>()? {
            if is_data && found.kinds.len() < 5 {
                found.kinds.push(key.chars().take(200).collect());
            }
            match (is_data, key.as_str()) {
                (false, "output_type") => object.next_value_seed(Lines::of(&mut found.kind, 40, ""))?,
                (false, "text") => object.next_value_seed(Lines::of(&mut found.text, most, ""))?,
                (false, "traceback") => object.next_value_seed(Lines::of(&mut found.trace, most, "\n"))?,
                (false, "data") => object.next_value_seed(Fields { found: &mut *found, is_data: true })?,
                (true, "text/plain") => {
                    object.next_value_seed(Lines::of(found.words.insert(Taken::default()), most, ""))?;
                }
                (true, "image/png" | "image/jpeg") => {
                    found.has_picture = true;
                    object.next_value::<IgnoredAny>()?;
                }
                _ => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
    passes_over!(numbers others texts lists);
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
        let output = json!({"data": {"text/plain": "y".repeat(200_000)}, "output_type": "execute_result"});
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
