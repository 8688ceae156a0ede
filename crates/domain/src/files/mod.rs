//! Files of the workspace: what a path may be, and how text is told apart for its colours. Paths are judged
//! here before anything asks the disk; that nothing leaves the area is the kernel's own rule on top of it.

pub mod colour;
mod path;

pub use path::{FilePath, MAX_DEPTH, MAX_NAME, MAX_PATH, STAGING, USERS, check_new_name};

/// A size in bytes, as people say it: `1.5 KiB`, `200 MiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut unit = 0;
    let mut tenths = u128::from(count) * 10;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1_024;
        unit += 1;
    }
    match (unit, tenths) {
        (0, _) => format!("{count} B"),
        (_, tenths) if tenths >= 1_000 => format!("{} {}", tenths / 10, UNITS[unit]),
        (_, tenths) => format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit]),
    }
}

/// A size as people write it: `500`, `20 GiB`, `1.5 TB` (which is taken for TiB).
pub fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || part.len() > 3 || part.contains('.') || (number.contains('.') && part.is_empty()) {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let thousandths: u64 = if part.is_empty() { 0 } else { format!("{part:0<3}").parse().ok()? };
    whole.checked_mul(factor)?.checked_add(factor.checked_mul(thousandths)? / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_and_read_as_people_do() {
        for (count, said) in [(0, "0 B"), (1_023, "1023 B"), (1_536, "1.5 KiB"), (200 << 20, "200 MiB")] {
            assert_eq!(bytes(count), said);
            assert_eq!(parse_bytes(said), Some(count), "{said}");
        }
        for (text, count) in [("20 GiB", 20 << 30), ("1.5tb", 3 << 39), ("7", 7), (" 2 k ", 2_048)] {
            assert_eq!(parse_bytes(text), Some(count), "{text}");
        }
        for text in ["", "GiB", "-1", "1.2.3 GiB", "1. GiB", "5 furlongs", "99999999999999999999", "20000000 TiB"] {
            assert_eq!(parse_bytes(text), None, "{text}");
        }
    }
}
