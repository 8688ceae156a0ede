//! What every text that people type has in common, and how lists are said.

/// A short text that many things share: cheap to copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Text(std::sync::Arc<str>);

impl std::ops::Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Text {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.0.as_ref().to_owned()
    }
}

/// A problem with one field of a form: which field, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Problem {
    /// The name of the form field, which is the name of the request's key as well.
    pub field: String,
    /// A whole sentence for people.
    pub message: String,
}

impl Problem {
    /// A problem with `field`.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}

/// The reason a person gives for a change is kept for good, so it is kept short.
pub const MAX_WHY: usize = 300;

/// Parses the optional "why" of a change: trimmed, one line, at most [`MAX_WHY`] characters; empty means
/// none.
pub fn parse_why(text: &str) -> Result<Option<String>, Problem> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let count = text.chars().count();
    if count > MAX_WHY {
        return Err(Problem::new("why", format!("Keep the reason under {MAX_WHY} characters; this has {count}.")));
    }
    let plain: String = text.chars().filter(|c| !is_unseen(*c) || c.is_whitespace()).collect();
    let one_line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(Some(one_line).filter(|text| !text.is_empty()))
}

/// Whether a character shows nothing, or makes others show up in another order than they were written in: a
/// sentence with one of these can read as another.
pub const fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// What was typed into a search box, made harmless for any database: no control characters, at most 200
/// characters.
pub fn search_text(text: &str) -> String {
    text.trim().chars().filter(|c| !is_unseen(*c)).take(200).collect()
}

/// Whether a text can be the id of anything of ours; what cannot need not be looked up.
pub fn is_id(text: &str) -> bool {
    (1..=80).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Says a list as people do: `a`, `a and b`, `a, b and c`.
pub fn and_list<T: AsRef<str>>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [most @ .., last] => {
            let most: Vec<&str> = most.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", most.join(", "), last.as_ref())
        }
    }
}

/// With a capital at the beginning.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// Says a count with its noun: `1 person`, `3 people`, `0 people`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

/// A large number with its thousands apart: `1,000,000`.
pub fn grouped(count: impl Into<u64>) -> String {
    let digits = count.into().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A sentence as it goes on after another's beginning: with a small first letter.
pub fn lowered(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// Bytes as small hexadecimal digits, two each.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]).collect()
}

/// The start of a text that was refused, for an error that quotes it: never more than 40 characters of it.
pub fn shortened(text: &str) -> String {
    let mut start: String = text.chars().filter(|c| !is_unseen(*c)).take(40).collect();
    if text.chars().count() > 40 {
        start.push('…');
    }
    start
}

/// The start of a text from elsewhere (a driver, an agent), on one line, with at most `most` characters.
pub fn shortened_to(text: &str, most: usize) -> String {
    let mut start: String =
        text.chars().map(|c| if is_unseen(c) { ' ' } else { c }).take(most).collect::<String>().trim().to_owned();
    if text.chars().nth(most).is_some() {
        start.push('…');
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        for (number, said) in [(0_u64, "0"), (999, "999"), (1_003, "1,003"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), said);
        }
    }

    #[test]
    fn lists_and_counts_read_well() {
        assert_eq!(and_list::<&str>(&[]), "");
        assert_eq!(and_list(&["Owner"]), "Owner");
        assert_eq!(and_list(&["Contributor", "Owner"]), "Contributor and Owner");
        assert_eq!(and_list(&["a", "b", "c"]), "a, b and c");
        assert_eq!(counted(1, "person", "people"), "1 person");
        assert_eq!(counted(0, "person", "people"), "0 people");
        assert_eq!((hex(&[]), hex(&[0, 0x0f, 0xa0, 255])), (String::new(), "000fa0ff".to_owned()));
    }

    #[test]
    fn a_reason_is_one_short_line_or_none() {
        assert_eq!(parse_why("  "), Ok(None));
        assert_eq!(parse_why(" left\n the  team "), Ok(Some("left the team".into())));
        assert!(parse_why(&"x".repeat(301)).is_err_and(|p| p.message.contains("301")));
        assert_eq!(parse_why("a\0b"), Ok(Some("ab".into())));
        // What would read in another order, or not at all, is not kept; what people write is.
        assert_eq!(
            parse_why("paid \u{202e}001\u{202c} \u{2066}x\u{2069}\u{200f}\u{200b}\u{e0041}"),
            Ok(Some("paid 001 x".into()))
        );
        assert_eq!(parse_why("\u{202e}\u{feff}"), Ok(None));
        assert_eq!(parse_why("a\u{2028}b\u{1b}[31mc"), Ok(Some("a b[31mc".into())));
        assert_eq!(parse_why("می‌خواهم, see ABC-1/2"), Ok(Some("می‌خواهم, see ABC-1/2".into())));
        assert_eq!(search_text(&"%".repeat(50_000)).len(), 200);
        assert_eq!(search_text(" a\0b "), "ab");
        assert!(is_id("user-0a") && !is_id("") && !is_id("a\0") && !is_id("a/b") && !is_id(&"a".repeat(81)));
    }

    #[test]
    fn quoting_a_huge_text_stays_short() {
        assert_eq!(shortened(&"y".repeat(10_000_000)).chars().count(), 41);
        assert_eq!(shortened("a\u{7}b"), "ab");
    }
}
