//! From the text of a file to a draft, with complaints that say where.

use atelier_domain::text::shortened_to;

use super::draft::Draft;
use super::refused::Refused;

/// No scenario is longer; histories are files of their own.
const MAX_TEXT: usize = 1_000_000;

impl Draft {
    /// Reads the text of a scenario.
    pub fn from_toml(text: &str) -> Result<Self, Refused> {
        if text.len() > MAX_TEXT {
            let message = format!("A scenario has at most {MAX_TEXT} bytes; this has {}.", text.len());
            return Err(Refused::one("", message));
        }
        toml::from_str(text).map_err(|error| {
            let place = error.span().map(|span| place(text, span.start)).unwrap_or_default();
            let message =
                error.message().replace(", expected one of", "; allowed are").replace(", expected ", "; expected is ");
            Refused::one(place, format!("{}.", shortened_to(&message, 600)))
        })
    }
}

/// Where a byte of the text is: its line, and the table that it belongs to.
fn place(text: &str, byte: usize) -> String {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    // The line of the byte itself may be the header.
    let end = text.get(byte..).and_then(|rest| rest.find('\n')).map_or(text.len(), |length| byte + length);
    let upto = text.get(..end).unwrap_or(text);
    let mut headers = upto.lines().map(str::trim).filter(|line| line.starts_with('['));
    let Some(last) = headers.clone().next_back() else { return format!("line {line}") };
    let name = last.trim_matches(|c| "[]".contains(c)).trim();
    if !last.starts_with("[[") {
        return format!("line {line} ({})", shortened_to(name, 60));
    }
    let same = |header: &str| header.trim_matches(|c| "[]".contains(c)).trim() == name;
    let number = headers.by_ref().filter(|header| same(header)).count().saturating_sub(1);
    format!("line {line} ({}[{number}])", shortened_to(name, 60))
}
