//! Figures, what was wanted of them, and the two forms in which they are printed.

use serde_json::{Value, json};

/// What a figure must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wanted {
    AtMost(f64),
    Below(f64),
    AtLeast(f64),
    /// Nothing: it helps to understand the others.
    Context,
}

impl Wanted {
    /// Says whether a value will do; nothing where nothing is wanted.
    fn judge(self, measured: f64) -> Option<bool> {
        match self {
            Self::AtMost(limit) => Some(measured <= limit),
            Self::Below(limit) => Some(measured < limit),
            Self::AtLeast(limit) => Some(measured >= limit),
            Self::Context => None,
        }
    }

    fn words(self, unit: &str) -> String {
        match self {
            Self::AtMost(limit) => format!("≤ {}", amount(limit, unit)),
            Self::Below(limit) => format!("< {}", amount(limit, unit)),
            Self::AtLeast(limit) => format!("≥ {}", amount(limit, unit)),
            Self::Context => String::new(),
        }
    }
}

#[derive(Debug)]
struct Figure {
    name: String,
    unit: &'static str,
    wanted: Wanted,
    measured: f64,
}

/// All figures of one run, in the order in which they were measured.
#[derive(Debug, Default)]
pub struct Report {
    figures: Vec<Figure>,
    notes: Vec<String>,
}

impl Report {
    pub fn add(&mut self, name: impl Into<String>, wanted: Wanted, measured: f64, unit: &'static str) {
        self.figures.push(Figure { name: name.into(), unit, wanted, measured });
    }

    /// Adds a sentence that stands below the table.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// A table for people, which is Markdown too.
    pub fn table(&self) -> String {
        let head = ["figure", "wanted", "measured", "verdict"].map(str::to_owned);
        let rows: Vec<[String; 4]> = std::iter::once(head).chain(self.figures.iter().map(Figure::row)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
        let widths = [0, 1, 2, 3].map(width);
        let line = |row: &[String; 4]| {
            let [a, b, c, d] = row;
            let [wa, wb, wc, wd] = widths;
            format!("| {a:<wa$} | {b:>wb$} | {c:>wc$} | {d:<wd$} |\n")
        };
        let [a, b, c, d] = widths.map(|width| "-".repeat(width));
        let rule = format!("| {a} | {}: | {}: | {d} |\n", &b[1..], &c[1..]);
        let mut text = rows.first().map(line).unwrap_or_default() + &rule;
        text.extend(rows.iter().skip(1).map(line));
        for note in &self.notes {
            text.push_str(&format!("\n{note}\n"));
        }
        text
    }

    pub fn json(&self) -> Value {
        let figures: Vec<Value> = self.figures.iter().map(Figure::json).collect();
        json!({ "figures": figures, "notes": self.notes })
    }
}

impl Figure {
    fn row(&self) -> [String; 4] {
        let verdict = match self.wanted.judge(self.measured) {
            Some(true) => "kept",
            Some(false) => "MISSED",
            None => "",
        };
        [self.name.clone(), self.wanted.words(self.unit), amount(self.measured, self.unit), verdict.to_owned()]
    }

    fn json(&self) -> Value {
        let (bound, limit) = match self.wanted {
            Wanted::AtMost(limit) => (Some("at_most"), Some(limit)),
            Wanted::Below(limit) => (Some("below"), Some(limit)),
            Wanted::AtLeast(limit) => (Some("at_least"), Some(limit)),
            Wanted::Context => (None, None),
        };
        json!({
            "figure": self.name,
            "unit": self.unit,
            "bound": bound,
            "limit": limit,
            "measured": self.measured,
            "kept": self.wanted.judge(self.measured),
        })
    }
}

/// A number with as many digits as mean something, and its unit.
fn amount(value: f64, unit: &str) -> String {
    let digits = match value {
        _ if value.fract() == 0.0 || value >= 100.0 => 0,
        _ if value >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.digits$}");
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), String::new()), |(a, b)| (a, format!(".{b}")));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{grouped}{rest} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_itself_is_allowed_except_where_it_says_below() {
        assert_eq!(Wanted::AtMost(40.0).judge(40.0), Some(true));
        assert_eq!(Wanted::Below(100.0).judge(100.0), Some(false));
        assert_eq!(Wanted::AtLeast(1000.0).judge(999.9), Some(false));
        assert_eq!(Wanted::Context.judge(1.0), None);
    }

    #[test]
    fn amounts_are_easy_to_read() {
        assert_eq!(amount(1234.56, "/s"), "1,235 /s");
        assert_eq!(amount(31.74, "MB"), "31.7 MB");
        assert_eq!(amount(0.128, "ms"), "0.13 ms");
        assert_eq!(amount(40.0, "MB"), "40 MB");
        assert_eq!(amount(1_000_000.0, "B"), "1,000,000 B");
    }

    #[test]
    fn the_table_shows_wanted_measured_and_verdict() {
        let mut report = Report::default();
        report.add("memory", Wanted::AtMost(40.0), 50.0, "MB");
        report.add("home", Wanted::Context, 2000.0, "/s");
        report.note("On a busy machine.");
        let table = report.table();
        assert!(table.contains("| memory | ≤ 40 MB |    50 MB | MISSED  |"), "{table}");
        assert!(table.contains("| home   |         | 2,000 /s |         |"), "{table}");
        assert!(table.ends_with("\nOn a busy machine.\n"), "{table}");
        assert_eq!(report.json()["figures"][0]["kept"], false);
    }
}
