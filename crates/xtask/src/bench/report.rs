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
    /// The same of the program that this one is compared with.
    before: Option<f64>,
}

/// All figures of one run, in the order in which they were measured.
#[derive(Debug, Default)]
pub struct Report {
    figures: Vec<Figure>,
    notes: Vec<String>,
}

impl Report {
    pub fn add(&mut self, name: impl Into<String>, wanted: Wanted, measured: f64, unit: &'static str) {
        self.figures.push(Figure { name: name.into(), unit, wanted, measured, before: None });
    }

    /// Adds a sentence that stands below the table.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Puts the figures of the other program beside those of this one. Both were measured in the same run.
    pub fn compare(&mut self, before: &Self) {
        let names = before.full_names();
        let found = self.full_names().into_iter().map(|name| names.iter().position(|other| *other == name));
        let found: Vec<Option<f64>> = found.map(|at| at.map(|at| before.figures[at].measured)).collect();
        for (figure, before) in self.figures.iter_mut().zip(found) {
            figure.before = before;
        }
        self.note("“Before” is the program of --before, measured in turn with this tree's in the same run.");
        let new = before.notes.iter().filter(|note| !self.notes.contains(note));
        let new: Vec<String> = new.map(|note| format!("Before: {note}")).collect();
        self.notes.extend(new);
    }

    /// The name of each figure; one that begins with "…" is about the figure above it and is told apart by
    /// that one's name.
    fn full_names(&self) -> Vec<(&str, &str)> {
        let mut above = "";
        let mut names = Vec::with_capacity(self.figures.len());
        for Figure { name, .. } in &self.figures {
            if !name.starts_with('…') {
                above = name;
            }
            names.push((above, name.as_str()));
        }
        names
    }

    /// A table for people, which is Markdown too.
    pub fn table(&self) -> String {
        let is_compared = self.figures.iter().any(|figure| figure.before.is_some());
        let head: &[&str] = match is_compared {
            true => &["figure", "wanted", "this tree", "before", "this/before", "verdict"],
            false => &["figure", "wanted", "measured", "verdict"],
        };
        let head = head.iter().copied().map(str::to_owned).collect();
        let rows = self.figures.iter().map(|figure| figure.row(is_compared));
        let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
        let last = rows[0].len() - 1;
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
        let widths: Vec<usize> = (0..=last).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().enumerate().map(|(column, cell)| match (column, widths[column]) {
                (0, width) => format!("| {cell:<width$} "),
                (column, width) if column == last => format!("| {cell:<width$} |\n"),
                (_, width) => format!("| {cell:>width$} "),
            });
            cells.collect::<String>()
        };
        let rule = (0..=last).map(|column| match widths[column] {
            width if column == 0 => "-".repeat(width),
            width if column == last => "-".repeat(width),
            width => format!("{}:", "-".repeat(width.saturating_sub(1))),
        });
        let rule = format!("| {} |\n", rule.collect::<Vec<_>>().join(" | "));
        let mut text = line(&rows[0]) + &rule;
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
    /// How many times the figure of the other program this one is.
    fn ratio(&self) -> Option<f64> {
        self.before.filter(|before| *before != 0.0).map(|before| self.measured / before)
    }

    fn row(&self, is_compared: bool) -> Vec<String> {
        let verdict = match self.wanted.judge(self.measured) {
            Some(true) => "kept",
            Some(false) => "MISSED",
            None => "",
        };
        let mut row = vec![self.name.clone(), self.wanted.words(self.unit), amount(self.measured, self.unit)];
        if is_compared {
            row.push(self.before.map(|before| amount(before, self.unit)).unwrap_or_default());
            row.push(self.ratio().map(|ratio| format!("{ratio:.2} ×")).unwrap_or_default());
        }
        row.push(verdict.to_owned());
        row
    }

    fn json(&self) -> Value {
        let (bound, limit) = match self.wanted {
            Wanted::AtMost(limit) => (Some("at_most"), Some(limit)),
            Wanted::Below(limit) => (Some("below"), Some(limit)),
            Wanted::AtLeast(limit) => (Some("at_least"), Some(limit)),
            Wanted::Context => (None, None),
        };
        let mut figure = json!({
            "figure": self.name,
            "unit": self.unit,
            "bound": bound,
            "limit": limit,
            "measured": self.measured,
            "kept": self.wanted.judge(self.measured),
        });
        if let Some(before) = self.before {
            figure["before"] = json!(before);
            figure["this_per_before"] = json!(self.ratio());
        }
        figure
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
        assert!(report.json()["figures"][0].get("before").is_none());
    }

    #[test]
    fn two_programs_stand_side_by_side_with_their_ratio() {
        let mut this = Report::default();
        this.note("4 cores.");
        this.add("array", Wanted::AtLeast(1_500.0), 2_000.0, "/s");
        this.add("… of that the server", Wanted::Context, 1.0, "ms");
        this.add("sandboxes", Wanted::Context, 500.0, "/s");
        this.add("… of that the server", Wanted::Context, 3.0, "ms");
        this.add("only here", Wanted::Context, 1.0, "MB");
        let mut before = Report::default();
        before.add("array", Wanted::AtLeast(1_500.0), 1_600.0, "/s");
        before.add("sandboxes", Wanted::Context, 0.0, "/s");
        before.add("… of that the server", Wanted::Context, 2.0, "ms");
        before.note("No nginx.");
        this.compare(&before);
        let table = this.table();
        let rows: Vec<&str> = table.lines().collect();
        assert_eq!(rows[0], "| figure               |     wanted | this tree |   before | this/before | verdict |");
        assert_eq!(rows[1], "| -------------------- | ---------: | --------: | -------: | ----------: | ------- |");
        assert_eq!(rows[2], "| array                | ≥ 1,500 /s |  2,000 /s | 1,600 /s |      1.25 × | kept    |");
        assert_eq!(rows[3], "| … of that the server |            |      1 ms |          |             |         |");
        assert_eq!(rows[4], "| sandboxes            |            |    500 /s |     0 /s |             |         |");
        assert_eq!(rows[5], "| … of that the server |            |      3 ms |     2 ms |      1.50 × |         |");
        assert_eq!(rows[6], "| only here            |            |      1 MB |          |             |         |");
        assert!(table.ends_with("\nBefore: No nginx.\n"), "{table}");
        let json = this.json();
        assert_eq!(
            (&json["figures"][0]["before"], &json["figures"][0]["this_per_before"]),
            (&json!(1600.0), &json!(1.25))
        );
    }
}
