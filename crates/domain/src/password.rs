//! Which passwords are taken. One rule for the server and for the hint beside the field.
//!
//! Length does the work; the rest catches what everybody tries first. A list of common passwords alone is
//! easy to dodge (`Password2024!!`), so decoration is taken off first: case, look-alike digits, trailing
//! digits and signs, repetition. What is left is compared with the words in `common_words.txt`.

use crate::text::Problem;

/// The shortest password that is taken.
pub const MIN_LENGTH: usize = 12;

/// The longest: argon2 takes any length, but a form field must not become a way to send megabytes.
pub const MAX_LENGTH: usize = 256;

/// Words and keyboard walks that common passwords are made of, one per line.
const COMMON_WORDS: &str = include_str!("common_words.txt");

/// Says why a password for the field `field` is not taken; `email` must not be its substance either.
pub fn check(field: &str, password: &str, email: &str) -> Result<(), Problem> {
    let count = password.chars().count();
    let refuse = |message: String| Err(Problem::new(field, message));
    if count < MIN_LENGTH {
        return refuse(format!("Use at least {MIN_LENGTH} characters; this has {count}."));
    }
    if count > MAX_LENGTH {
        return refuse(format!("Use at most {MAX_LENGTH} characters; this has {count}."));
    }
    if is_common(password) {
        return refuse(
            "This is one of the first passwords anyone would try. Three or four unrelated words are safer.".into(),
        );
    }
    let core = letters(password);
    let name = email.split('@').next().unwrap_or_default().to_lowercase();
    if name.len() >= 3 && core.replace(&letters(&name), "").len() < 4 && core.contains(&letters(&name)) {
        return refuse("This is your e-mail name with little added. Choose something unrelated.".into());
    }
    Ok(())
}

/// Whether nothing but a common word, a keyboard walk or a repetition is left without decoration.
fn is_common(password: &str) -> bool {
    let plain = password.to_lowercase();
    let distinct = {
        let mut chars: Vec<char> = plain.chars().collect();
        chars.sort_unstable();
        chars.dedup();
        chars.len()
    };
    // Four different characters in twelve places are a pattern (aaaabbbb…, 121212…).
    if distinct <= 4 || is_run(&plain) {
        return true;
    }
    let undecorated = plain.trim_matches(|c: char| !c.is_alphabetic());
    [letters(&plain), letters(undecorated), plain.clone()].iter().any(|core| made_of_common_words(core))
}

/// Whether each character follows its neighbour by the same step, as in `abcdefghijkl` or `987654321098`.
fn is_run(text: &str) -> bool {
    let codes: Vec<i64> = text.chars().map(|c| i64::from(u32::from(c))).collect();
    let steps: Vec<i64> = codes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // A wrap from 9 to 0 or back counts as the same run.
    let follows = |step: i64, by: i64| step == by || step == -9 * by;
    steps.iter().all(|step| follows(*step, 1)) || steps.iter().all(|step| follows(*step, -1))
}

/// The text with look-alikes turned into letters and everything that is no letter taken out.
fn letters(text: &str) -> String {
    text.chars()
        .flat_map(char::to_lowercase)
        .map(|c| match c {
            '0' => 'o',
            '1' | '!' => 'i',
            '3' => 'e',
            '4' | '@' => 'a',
            '5' | '$' => 's',
            '7' => 't',
            other => other,
        })
        .filter(|c| c.is_alphabetic())
        .collect()
}

/// Whether the text is one or more common words in a row, with at most three letters beside them.
fn made_of_common_words(core: &str) -> bool {
    if core.is_empty() {
        // Digits and signs only, of more than four kinds: a number, which the run rule did not catch. Not
        // common.
        return false;
    }
    let mut rest = core.to_owned();
    for word in COMMON_WORDS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        rest = rest.replace(word, " ");
    }
    rest.chars().filter(|c| *c != ' ').count() <= 3 && rest.contains(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_common_passwords_are_refused_with_the_reason() {
        for (password, part) in [
            ("", "this has 0"),
            ("elevenchars", "this has 11"),
            ("Password2024!!", "first passwords"),
            ("P@ssw0rd1234", "first passwords"),
            ("passwordpassword", "first passwords"),
            ("123456789012", "first passwords"),
            ("987654321098", "first passwords"),
            ("abcdefghijklm", "first passwords"),
            ("qwertyuiop12", "first passwords"),
            ("aaaaaaaaaaaa", "first passwords"),
            ("121212121212", "first passwords"),
            ("Welcome12345", "first passwords"),
            ("letmein12345!", "first passwords"),
            ("iloveyou1234", "first passwords"),
            ("atelieratelier", "first passwords"),
            ("mara.lindqvist1", "e-mail name"),
        ] {
            let answer = check("password", password, "mara.lindqvist@example.org");
            assert!(answer.as_ref().is_err_and(|p| p.message.contains(part)), "{password}: {answer:?}");
        }
    }

    #[test]
    fn long_unrelated_words_and_random_text_are_taken() {
        for password in [
            "correct horse battery staple",
            "kettle-orbit-violin",
            "x9$Kq2!vLm#7",
            "früh-morgens-um-acht",
            "739104628513",
        ] {
            assert_eq!(check("password", password, "mara@example.org"), Ok(()), "{password}");
        }
    }

    #[test]
    fn a_huge_password_is_refused_and_not_quoted() {
        let answer = check("new", &"z9".repeat(5_000_000), "a@b.c");
        assert!(answer.is_err_and(|p| p.field == "new" && p.message.len() < 100));
    }
}
