//! Colours of terminals: one line of output becomes pieces of text with classes. Used by the server and by
//! the browser's half, so there is nothing in here but text; whoever shows the pieces escapes them or puts
//! them into text nodes.
//!
//! Colours and weights are kept (SGR); every other escape sequence is dropped, and what cannot be shown
//! becomes `�`. A line that was written over with carriage returns, as progress bars do, shows what stood
//! there last.

/// A piece of a line in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The classes; empty for plain text.
    pub class: String,
    pub text: String,
}

/// The hues that there are classes for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Hue {
    #[default]
    Plain,
    Grey,
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
}

impl Hue {
    const fn class(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Grey => "a-d",
            Self::Red => "a-r",
            Self::Green => "a-g",
            Self::Yellow => "a-y",
            Self::Blue => "a-b",
            Self::Magenta => "a-m",
            Self::Cyan => "a-c",
        }
    }

    /// The colours 0 to 7 of a terminal. Black on a dark page is grey.
    const fn basic(number: u32) -> Self {
        match number {
            0 => Self::Grey,
            1 => Self::Red,
            2 => Self::Green,
            3 => Self::Yellow,
            4 => Self::Blue,
            5 => Self::Magenta,
            6 => Self::Cyan,
            _ => Self::Plain,
        }
    }

    fn of(red: u32, green: u32, blue: u32) -> Self {
        let (most, least) = (red.max(green).max(blue), red.min(green).min(blue));
        if most - least < 40 {
            return if most < 150 { Self::Grey } else { Self::Plain };
        }
        let middle = least + (most - least) / 2;
        match (red > middle, green > middle, blue > middle) {
            (true, true, _) => Self::Yellow,
            (true, false, true) => Self::Magenta,
            (false, true, true) => Self::Cyan,
            (true, false, false) => Self::Red,
            (false, true, false) => Self::Green,
            _ => Self::Blue,
        }
    }

    /// A colour out of 256.
    fn indexed(number: u32) -> Self {
        match number {
            0..=15 => Self::basic(number % 8),
            16..=231 => {
                let step = |part: u32| if part == 0 { 0 } else { 55 + 40 * part };
                let cube = number - 16;
                Self::of(step(cube / 36), step(cube / 6 % 6), step(cube % 6))
            }
            232..=243 => Self::Grey,
            _ => Self::Plain,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Style {
    hue: Hue,
    is_bold: bool,
    is_dim: bool,
    is_italic: bool,
    is_underlined: bool,
}

impl Style {
    fn class(self) -> String {
        let hue = if self.is_dim && self.hue == Hue::Plain { Hue::Grey } else { self.hue };
        let parts = [
            (hue.class(), hue != Hue::Plain),
            ("a-1", self.is_bold),
            ("a-i", self.is_italic),
            ("a-u", self.is_underlined),
        ];
        let mut class = String::new();
        for (name, _) in parts.into_iter().filter(|(_, is_on)| *is_on) {
            if !class.is_empty() {
                class.push(' ');
            }
            class.push_str(name);
        }
        class
    }

    /// The numbers between `ESC[` and `m`.
    fn apply(&mut self, numbers: &str) {
        let mut numbers = numbers.split([';', ':']).map(|number| number.parse::<u32>().unwrap_or(0));
        while let Some(number) = numbers.next() {
            match number {
                0 => *self = Self::default(),
                1 => self.is_bold = true,
                2 => self.is_dim = true,
                3 => self.is_italic = true,
                4 => self.is_underlined = true,
                22 => (self.is_bold, self.is_dim) = (false, false),
                23 => self.is_italic = false,
                24 => self.is_underlined = false,
                30..=37 => self.hue = Hue::basic(number - 30),
                39 => self.hue = Hue::Plain,
                90 => self.hue = Hue::Grey,
                91..=97 => self.hue = Hue::basic(number - 90),
                38 | 48 => {
                    let hue = match numbers.next() {
                        Some(5) => Hue::indexed(numbers.next().unwrap_or(0)),
                        Some(2) => {
                            let mut part = || numbers.next().unwrap_or(0).min(255);
                            Hue::of(part(), part(), part())
                        }
                        _ => Hue::Plain,
                    };
                    // Backgrounds are left out.
                    if number == 38 {
                        self.hue = hue;
                    }
                }
                _ => {}
            }
        }
    }
}

/// Paints line after line; a colour that is not taken back goes on in the next line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Painter {
    style: Style,
}

impl Painter {
    /// The pieces of a line, given without its line break.
    pub fn paint(&mut self, line: &str) -> Vec<Piece> {
        let line = line.trim_end_matches('\r');
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut rest = line.chars();
        while let Some(c) = rest.next() {
            match c {
                '\u{1b}' => {
                    let before = self.style;
                    self.escape(&mut rest);
                    if self.style != before {
                        close(&mut pieces, &mut text, before);
                    }
                }
                // What comes now is written over what is there.
                '\r' => {
                    pieces.clear();
                    text.clear();
                }
                '\t' => text.push('\t'),
                c if c.is_control() => text.push('\u{fffd}'),
                c => text.push(c),
            }
        }
        close(&mut pieces, &mut text, self.style);
        pieces
    }

    /// What follows an escape character.
    fn escape(&mut self, rest: &mut std::str::Chars<'_>) {
        match rest.next() {
            Some('[') => {
                let sequence = rest.as_str();
                let Some(end) = sequence.find(|c: char| ('\u{40}'..='\u{7e}').contains(&c)) else {
                    // Cut off: nothing of it is text.
                    *rest = "".chars();
                    return;
                };
                let (numbers, tail) = sequence.split_at(end);
                let is_style = tail.starts_with('m');
                if is_style && numbers.len() < 64 {
                    self.style.apply(numbers);
                }
                *rest = tail[1..].chars();
            }
            // A title or a link: up to its end, which is a bell or another escape.
            Some(']') => {
                for c in rest.by_ref() {
                    if c == '\u{7}' || c == '\\' {
                        break;
                    }
                }
            }
            _ => {}
        }
    }
}

fn close(pieces: &mut Vec<Piece>, text: &mut String, style: Style) {
    if !text.is_empty() {
        pieces.push(Piece { class: style.class(), text: std::mem::take(text) });
    }
}

/// The beginning of a line that is shown, and how many bytes are left out.
pub fn cut(line: &str, most: usize) -> (&str, usize) {
    let end = (0..=most.min(line.len())).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
    (&line[..end], line.len() - end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn painted(line: &str) -> Vec<(String, String)> {
        Painter::default().paint(line).into_iter().map(|piece| (piece.class, piece.text)).collect()
    }

    fn pieces(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(class, text)| ((*class).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn colours_become_classes_and_everything_else_is_dropped() {
        for (line, expected) in [
            ("plain", &[("", "plain")][..]),
            ("\u{1b}[31mred\u{1b}[0m rest", &[("a-r", "red"), ("", " rest")]),
            ("\u{1b}[1;92mok\u{1b}[22m thin\u{1b}[39m", &[("a-g a-1", "ok"), ("a-g", " thin")]),
            ("\u{1b}[2mdim\u{1b}[m", &[("a-d", "dim")]),
            ("\u{1b}[38;5;196mx\u{1b}[48;5;21my", &[("a-r", "xy")]),
            ("\u{1b}[38;2;10;200;220mx", &[("a-c", "x")]),
            ("\u{1b}[2K\u{1b}[1Gx\u{1b}]0;title\u{7}y", &[("", "xy")]),
            ("a\u{1b}[3", &[("", "a")]),
            ("a\u{1b}", &[("", "a")]),
            ("10%\r50%\r100%\r", &[("", "100%")]),
            ("bell\u{7}\u{0}", &[("", "bell\u{fffd}\u{fffd}")]),
        ] {
            assert_eq!(painted(line), pieces(expected), "{line:?}");
        }
    }

    #[test]
    fn a_colour_goes_on_until_it_is_taken_back() {
        let mut painter = Painter::default();
        painter.paint("\u{1b}[33mstart");
        assert_eq!(painter.paint("next")[0].class, "a-y");
        painter.paint("\u{1b}[0m");
        assert_eq!(painter.paint("next")[0].class, "");
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        assert_eq!(cut("short", 10), ("short", 0));
        assert_eq!(cut("aé", 2), ("a", 2));
    }

    proptest! {
        /// Whatever comes, nothing panics, and no control character but a tab is left.
        #[test]
        fn nothing_unprintable_is_left(line in "(\u{1b}|\\[|\\]|[0-9;]|m|K|\\PC|\r|\u{7}|\t){0,60}") {
            for piece in Painter::default().paint(&line) {
                prop_assert!(piece.text.chars().all(|c| c == '\t' || !c.is_control()));
                prop_assert!(piece.class.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == ' '));
            }
        }
    }
}
