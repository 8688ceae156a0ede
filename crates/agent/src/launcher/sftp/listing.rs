//! Entries of folders, with a line for people as `ls -l` has it.

use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;

/// An entry of a folder.
pub struct Entry {
    pub name: Vec<u8>,
    pub line: Vec<u8>,
    pub metadata: Option<Metadata>,
}

impl Entry {
    /// With what is known of it.
    pub fn of(name: OsString, metadata: Option<Metadata>) -> Self {
        let name = name.into_vec();
        let mut line = metadata.as_ref().map(described).unwrap_or_default().into_bytes();
        line.extend(&name);
        Self { name, line, metadata }
    }

    pub fn named(name: Vec<u8>) -> Self {
        Self { line: name.clone(), name, metadata: None }
    }
}

fn described(of: &Metadata) -> String {
    let (rights, when) = (rights(of.mode()), when(of.mtime()));
    format!("{rights} {:>4} {:<8} {:<8} {:>8} {when} ", of.nlink(), of.uid(), of.gid(), of.size())
}

fn rights(mode: u32) -> String {
    let kind = match mode & 0o170_000 {
        0o040_000 => 'd',
        0o120_000 => 'l',
        0o020_000 => 'c',
        0o060_000 => 'b',
        0o010_000 => 'p',
        0o140_000 => 's',
        _ => '-',
    };
    let mut text = String::from(kind);
    for place in [6, 3, 0] {
        let bits = mode >> place;
        for (bit, letter) in [(4, 'r'), (2, 'w'), (1, 'x')] {
            text.push(if bits & bit != 0 { letter } else { '-' });
        }
    }
    text
}

/// Day and year, in universal time. Clients that want the hour read the number beside it.
fn when(seconds: i64) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    // Years that begin in March have their leap day at the end, so months follow from the day by a division.
    let days = seconds.div_euclid(86_400) + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let of = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * of + of / 4 - of / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = (shifted + 2) % 12;
    let year = of + era * 400 + i64::from(month < 2);
    let name = usize::try_from(month).ok().and_then(|month| MONTHS.get(month)).copied().unwrap_or("Jan");
    format!("{name} {day:>2}  {year}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "Jan  1  1970"),
            (951_782_400, "Feb 29  2000"),
            (951_868_800, "Mar  1  2000"),
            (1_735_689_599, "Dec 31  2024"),
            (-1, "Dec 31  1969"),
        ] {
            assert_eq!(when(seconds), text);
        }
    }

    #[test]
    fn rights_are_written_as_ls_does() {
        assert_eq!(rights(0o100_644), "-rw-r--r--");
        assert_eq!(rights(0o040_755), "drwxr-xr-x");
        assert_eq!(rights(0o120_777), "lrwxrwxrwx");
    }
}
