//! Looks at a draft as a whole. Everything that is wrong is gathered; what only the core can judge (does such
//! a job fit there, can such a cluster be) is asked of the core itself, by making the site and submitting
//! each kind of job once.

mod ask;
mod compare;
mod load;
mod place;

use atelier_domain::schedule::{LocalTime, Zone};
use atelier_domain::text::{and_list, shortened, shortened_to};
use atelier_domain::time::Timestamp;

use self::load::Places;
use super::draft::Draft;
use super::refused::{Complaints, Refused};
use super::{DEFAULT_EVENTS, MAX_EVENTS, Scenario};
use crate::length;
use crate::recorded::Recorded;

/// The most sites, sizes, clusters, kinds of jobs.
const MOST_THINGS: usize = 200;
/// Submitters of all kinds of jobs together.
const MOST_SOURCES: usize = 200_000;
/// The longest name that is kept.
const MAX_NAME: usize = 60;

pub(super) fn check(draft: &Draft, history: Vec<Recorded>) -> Result<Scenario, Refused> {
    let mut check = Check { complaints: Complaints::default(), zone: None };
    let scenario = check.scenario(draft, history);
    check.complaints.finish()?;
    let Some(scenario) = scenario else {
        return Err(Refused::one("", "The scenario could not be understood."));
    };
    ask::ask_the_core(&scenario)?;
    Ok(scenario)
}

struct Check {
    complaints: Complaints,
    /// The scenario's own zone.
    zone: Option<Zone>,
}

/// Finds a thing by name, or says which there are.
fn find(names: &[String], name: &str, what: &str) -> Result<usize, String> {
    names.iter().position(|known| known == name).ok_or_else(|| match names {
        [] => format!("There is no {what} “{}”, and no other either.", shortened(name)),
        _ => format!("There is no {what} “{}”; there is {}.", shortened(name), shortened_to(&and_list(names), 300)),
    })
}

impl Check {
    fn scenario(&mut self, draft: &Draft, history: Vec<Recorded>) -> Option<Scenario> {
        self.name("name", &draft.name);
        let zone = self.complaints.take_parsed("zone", Zone::parse(draft.zone.as_deref().unwrap_or("UTC")));
        self.zone.clone_from(&zone);
        let currency = draft.currency.clone().unwrap_or_else(|| "EUR".into());
        if currency.len() != 3 || !currency.bytes().all(|byte| byte.is_ascii_uppercase()) {
            self.complaints
                .add("currency", format!("“{}” is not a currency: three capitals, such as EUR.", shortened(&currency)));
        }
        for (field, count) in [
            ("site", draft.site.len()),
            ("size", draft.size.len()),
            ("cluster", draft.cluster.len()),
            ("people", draft.people.len()),
            ("jobs", draft.jobs.len()),
        ] {
            if count > MOST_THINGS {
                self.complaints.add(field, format!("There are at most {MOST_THINGS} of them; these are {count}."));
                return None;
            }
        }
        let time = self.time(draft, zone.as_ref(), &history);
        // Without a time of its own the rest is looked at in some other.
        let (start, length) = time.unwrap_or((Timestamp(0), 86_400_000));
        let wind_down = self.length_or("wind_down", draft.wind_down.as_deref(), 0);
        let tick = self.length_or("tick", draft.tick.as_deref(), 1);
        if !(1..=60_000).contains(&tick) {
            self.complaints.add("tick", format!("A tick is between 1 ms and 60 s, not {}.", length::say(tick)));
        }
        let max_events = draft.max_events.unwrap_or(DEFAULT_EVENTS);
        if !(1..=MAX_EVENTS).contains(&max_events) {
            self.complaints.add("max_events", format!("It is between 1 and {MAX_EVENTS}, not {max_events}."));
        }
        let (sites, drivers) = self.sites(&draft.site);
        let sizes = self.sizes(&draft.size, &sites, &drivers);
        let setup = self.clusters(&draft.cluster, &sizes);
        let (mut people, groups) = self.people(&draft.people);
        let places = Places::new(&sizes, &setup);
        let mut rules = Vec::new();
        for (number, jobs) in draft.jobs.iter().enumerate() {
            rules.extend(self.jobs(&format!("jobs[{number}]"), jobs, &places, &groups, (start, length)));
        }
        if rules.iter().map(|rule| rule.people.len()).sum::<usize>() > MOST_SOURCES {
            let message = format!("People times kinds of jobs are at most {MOST_SOURCES}; name fewer in jobs.people.");
            self.complaints.add("jobs", message);
        }
        let (past, left_out) = self.history(draft.history.as_ref(), history, &places, &mut people, (start, length));
        if draft.history.is_some() && past.is_empty() && left_out == 0 {
            self.complaints.add("history.file", "It has no jobs.");
        }
        if draft.jobs.is_empty() && draft.history.is_none() {
            self.complaints.add("jobs", "Nobody submits anything. Describe jobs with [[jobs]], or name a history.");
        }
        if time.is_some() {
            self.expected(&rules, past.len(), length, max_events);
        }
        let policies = self.policies(&draft.policy, &setup);
        Some(Scenario {
            name: draft.name.trim().to_owned(),
            about: shortened_to(draft.about.trim(), 500),
            currency,
            seed: draft.seed,
            zone: zone?,
            start,
            length,
            whole: length.saturating_add(wind_down),
            tick,
            max_events,
            sites,
            sizes,
            setup,
            people,
            rules,
            history: past,
            left_out,
            policies,
        })
    }

    // ---- single fields
    // ----------------------------------------------------------------------------------------------

    fn name(&mut self, field: &str, name: &str) {
        let count = name.trim().chars().count();
        if count == 0 || count > MAX_NAME || name.chars().any(char::is_control) {
            self.complaints.add(field, format!("A name has 1 to {MAX_NAME} characters on one line; this has {count}."));
        }
    }

    fn length_or(&mut self, field: &str, text: Option<&str>, otherwise: u64) -> u64 {
        text.and_then(|text| self.complaints.take(field, length::parse(text))).unwrap_or(otherwise)
    }

    /// Thousandths of cores.
    fn cores(&mut self, field: &str, cores: f64) -> u64 {
        (self.complaints.number(field, cores, 0.001, 1e12, "A number of cores") * 1_000.0).round() as u64
    }

    /// MiB.
    fn memory(&mut self, field: &str, gib: f64) -> u64 {
        (self.complaints.number(field, gib, 0.001, 1e12, "Memory in GiB") * 1_024.0).round().max(1.0) as u64
    }

    fn zone_of(&mut self, field: &str, zone: Option<&str>) -> Option<Zone> {
        match zone {
            Some(zone) => self.complaints.take_parsed(field, Zone::parse(zone)),
            None => self.zone.clone(),
        }
    }

    /// When the scenario begins and for how long people submit. A history says so itself if nobody else does.
    fn time(&mut self, draft: &Draft, zone: Option<&Zone>, history: &[Recorded]) -> Option<(Timestamp, u64)> {
        const HOUR: i64 = 3_600_000;
        let first = history.iter().map(|job| job.submitted.0).min();
        let last = history.iter().map(|job| job.submitted.0).max();
        let start = match (&draft.start, first) {
            (Some(start), _) => self
                .complaints
                .take_parsed("start", LocalTime::parse(start))
                .zip(zone)
                .map(|(local, zone)| zone.instant(local)),
            (None, Some(first)) => Some(Timestamp(first.div_euclid(HOUR) * HOUR)),
            (None, None) => {
                self.complaints.add("start", "Say when it begins, such as 2026-03-02T00:00.");
                None
            }
        };
        let length = match (&draft.length, last) {
            (Some(length), _) => self.complaints.take("length", length::parse(length)),
            (None, Some(last)) => start.map(|start| {
                let until = Timestamp(last.div_euclid(HOUR).saturating_add(1).saturating_mul(HOUR));
                until.since(start).as_millis().unsigned_abs()
            }),
            (None, None) => {
                self.complaints.add("length", format!("Say for how long: {}.", length::SHAPE));
                None
            }
        };
        let (start, length) = (start?, length?);
        if length == 0 {
            self.complaints.add("length", "It ends when it begins. Choose a length above 0 s.");
        }
        if length > length::LONGEST {
            self.complaints.add("length", "It is longer than 366 days, which is the most.");
        }
        // Before 1970 and after 2999 there is no calendar.
        if !(0..32_503_680_000_000).contains(&start.0) {
            self.complaints.add("start", "The year must be 1970 to 2999.");
        }
        Some((start, length.min(length::LONGEST)))
    }
}
