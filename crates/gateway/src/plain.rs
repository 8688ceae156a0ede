//! Words for places where clients write anything but ASCII as numbers.

/// The same with plain quotation marks and arrows; what has no plain form becomes a question mark.
pub fn plain(words: &str) -> String {
    let mut text = String::with_capacity(words.len());
    for letter in words.chars() {
        match letter {
            '“' | '”' => text.push('"'),
            '‘' | '’' => text.push('\''),
            '→' => text.push_str("->"),
            '…' => text.push_str("..."),
            '–' | '—' => text.push('-'),
            '\n' | ' '..='~' => text.push(letter),
            _ => text.push('?'),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ascii_is_left() {
        assert_eq!(plain("“desk” is Zoë’s → off…"), "\"desk\" is Zo?'s -> off...");
    }
}
