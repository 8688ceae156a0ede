//! IANA time zones, from the tz database that is built in: alike on every machine.

use crate::text::{Problem, shortened};

/// A time zone that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneName(String);

impl ZoneName {
    /// Parses the field `time_zone`, such as `Europe/Berlin`; the case of letters does not matter.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let text = text.trim();
        if text.is_empty() {
            return Err(Problem::new("time_zone", "Choose a time zone, such as Europe/Berlin."));
        }
        match jiff::tz::db().get(text) {
            Ok(zone) => Ok(Self(zone.iana_name().unwrap_or(text).to_owned())),
            Err(_) => Err(Problem::new(
                "time_zone",
                format!("“{}” is not a time zone. Use an IANA name such as Europe/Berlin or UTC.", shortened(text)),
            )),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The zones people choose from: regions and `UTC`, sorted, without the tz database's old aliases (`EST5EDT`,
/// `Zulu`).
pub fn choices() -> Vec<String> {
    const REGIONS: [&str; 10] = [
        "Africa/",
        "America/",
        "Antarctica/",
        "Arctic/",
        "Asia/",
        "Atlantic/",
        "Australia/",
        "Europe/",
        "Indian/",
        "Pacific/",
    ];
    let mut names: Vec<String> = jiff::tz::db()
        .available()
        .map(|name| name.to_string())
        .filter(|name| name == "UTC" || REGIONS.iter().any(|region| name.starts_with(region)))
        .collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_zones_are_taken_and_others_refused_by_name() {
        for zone in ["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "UTC"] {
            assert_eq!(ZoneName::parse(zone).map(|z| z.as_str().to_owned()), Ok(zone.to_owned()));
        }
        assert_eq!(ZoneName::parse(" europe/berlin ").map(|z| z.as_str().to_owned()), Ok("Europe/Berlin".into()));
        assert!(ZoneName::parse("Mars/Olympus").is_err_and(|p| p.message.contains("Mars/Olympus")));
        assert!(ZoneName::parse(&"x/".repeat(5_000_000)).is_err_and(|p| p.message.len() < 200));
    }

    #[test]
    fn the_list_to_choose_from_is_real_and_sorted() {
        let zones = choices();
        assert!(zones.len() > 300 && zones.is_sorted());
        assert!(zones.iter().all(|zone| ZoneName::parse(zone).is_ok()));
    }
}
