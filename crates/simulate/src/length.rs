//! Lengths of time as people write them: `90 s`, `1 h 30 min`, `7 days`.

use atelier_domain::text::shortened;

/// The longest length that is understood: a year.
pub(crate) const LONGEST: u64 = 366 * 86_400_000;

/// What a length looks like, for those who wrote something else.
pub(crate) const SHAPE: &str = "write a number and one of ms, s, min, h or days, such as “90 s” or “1 h 30 min”";

/// Reads a length, in milliseconds.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let wrong = || format!("“{}” is not a length of time: {SHAPE}.", shortened(text.trim()));
    let mut rest = text.trim();
    if rest.is_empty() || rest.len() > 60 {
        return Err(wrong());
    }
    let mut sum = 0_u64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let count: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ms" => 1,
            "s" => 1_000,
            "min" => 60_000,
            "h" => 3_600_000,
            "day" | "days" => 86_400_000,
            _ => return Err(wrong()),
        };
        rest = rest[letters..].trim_start();
        sum = count.checked_mul(unit).and_then(|part| sum.checked_add(part)).ok_or_else(wrong)?;
    }
    if sum > LONGEST {
        return Err(format!("“{}” is longer than 366 days, which is the most.", shortened(text.trim())));
    }
    Ok(sum)
}

/// Reads a length or a stretch between two: `60 s to 2 min`.
pub(crate) fn parse_range(text: &str) -> Result<(u64, u64), String> {
    let Some((low, high)) = text.split_once(" to ") else { return parse(text).map(|length| (length, length)) };
    let (low, high) = (parse(low)?, parse(high)?);
    if low > high {
        return Err(format!("“{}” ends before it begins: the shorter one comes first.", shortened(text.trim())));
    }
    Ok((low, high))
}

/// Milliseconds for people, with as many digits as matter: `820 ms`, `4.2 s`, `12 min`, `3 h 20 min`.
pub(crate) fn say(millis: u64) -> String {
    match millis {
        0 => "0 s".into(),
        1..1_000 => format!("{millis} ms"),
        1_000..10_000 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        10_000..120_000 => format!("{} s", (millis + 500) / 1_000),
        120_000..7_200_000 => {
            let (minutes, seconds) = (millis / 60_000, millis / 1_000 % 60);
            if minutes < 10 && seconds > 0 { format!("{minutes} min {seconds:02} s") } else { format!("{minutes} min") }
        }
        7_200_000..172_800_000 => format!("{} h {:02} min", millis / 3_600_000, millis / 60_000 % 60),
        _ => format!("{} days {} h", millis / 86_400_000, millis / 3_600_000 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_people_write_them() {
        for (text, millis) in [
            ("250 ms", 250),
            ("90 s", 90_000),
            ("90s", 90_000),
            (" 1 h 30 min ", 5_400_000),
            ("1 day", 86_400_000),
            ("7 days", 7 * 86_400_000),
            ("0 s", 0),
        ] {
            assert_eq!(parse(text), Ok(millis), "{text}");
        }
        for text in ["", "5", "s", "-5 s", "1.5 h", "5 weeks", "5 s 3", "99999999999999999999 s", "é5 s", "5 é"] {
            assert!(parse(text).is_err_and(|message| message.contains("is not a length")), "{text}");
        }
        assert!(parse("367 days").is_err_and(|message| message.contains("366 days")));
        assert_eq!(parse_range("60 s to 2 min"), Ok((60_000, 120_000)));
        assert!(parse_range("2 min to 60 s").is_err());
    }

    #[test]
    fn lengths_are_said_with_the_digits_that_matter() {
        for (millis, said) in [
            (0, "0 s"),
            (820, "820 ms"),
            (4_240, "4.2 s"),
            (59_600, "60 s"),
            (125_000, "2 min 05 s"),
            (240_000, "4 min"),
            (720_000, "12 min"),
            (12_000_000, "3 h 20 min"),
            (200_000_000, "2 days 7 h"),
        ] {
            assert_eq!(say(millis), said);
        }
    }
}
