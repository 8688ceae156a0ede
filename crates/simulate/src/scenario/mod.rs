//! Scenarios: what is there, who wants what, and what is compared. Written in TOML, looked at as a whole
//! before anything runs.

mod check;
pub mod draft;
pub mod hours;
mod refused;
mod server;
mod text;

use std::io::BufRead;

use atelier_domain::UserId;
use atelier_domain::compute::Resources;
use atelier_domain::compute::job::JobSpec;
use atelier_domain::compute::size::{SiteName, Size};
use atelier_domain::schedule::Zone;
use atelier_domain::text::Text;
use atelier_domain::time::Timestamp;

pub use self::draft::Draft;
pub use self::refused::Refused;
use crate::dice::Dice;
use crate::recorded::{Recorded, read_history};
use crate::setup::{Policy, Setup};

/// What may happen under one policy unless the scenario says otherwise.
pub const DEFAULT_EVENTS: u64 = 10_000_000;
/// The most that a scenario may allow.
pub const MAX_EVENTS: u64 = 1_000_000_000;
/// The most policies side by side.
pub const MAX_POLICIES: usize = 8;
/// What somebody's share may be.
pub const WEIGHTS: std::ops::RangeInclusive<i64> = 1..=1_000;
/// The share of whoever has none of their own.
pub const DEFAULT_WEIGHT: i64 = 100;
/// The most people.
pub const MAX_PEOPLE: usize = 10_000;

/// How well nodes are made and how long they last.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct DriverModel {
    /// A launch takes between so many milliseconds.
    pub launch: (u64, u64),
    /// A removal takes so many.
    pub removal: u64,
    /// The share of launches that come to nothing.
    pub failed: f64,
    /// The chance to die in an hour.
    pub lost: f64,
    /// The chance to be taken back in an hour.
    pub preempted: f64,
}

/// A size and how its nodes come and go.
#[derive(Clone, Debug)]
pub(crate) struct SizeModel {
    pub size: Size,
    pub driver: DriverModel,
}

#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub id: UserId,
    pub name: Text,
    /// Their share where the order is by shares.
    pub weight: i64,
}

/// How long jobs run, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Runs {
    Between(u64, u64),
    Exponential { mean: f64, most: u64 },
    Lognormal { median: f64, spread: f64, most: u64 },
}

impl Runs {
    pub fn draw(&self, dice: &mut Dice) -> u64 {
        // What is not a number becomes 0 by this conversion, and no job runs for less than a millisecond.
        let whole = |millis: f64, most: u64| (millis.min(most as f64) as u64).max(1);
        match *self {
            Self::Between(low, high) => dice.between(low, high).max(1),
            Self::Exponential { mean, most } => whole(dice.exponential(mean), most),
            Self::Lognormal { median, spread, most } => whole(dice.lognormal(median, spread), most),
        }
    }
}

/// What some people submit again and again.
#[derive(Clone, Debug)]
pub(crate) struct JobRule {
    /// Who, by their place among the people.
    pub people: Vec<usize>,
    pub spec: JobSpec,
    /// The mean time between two submissions of one person while they are at it.
    pub gap: f64,
    /// When they are at it; always if there are none.
    pub windows: Option<Vec<(u64, u64)>>,
    pub array: (u32, u32),
    pub runs: Runs,
    pub fails: f64,
}

/// A job of a history.
#[derive(Clone, Debug)]
pub(crate) struct PastJob {
    /// When, after the start.
    pub at: u64,
    pub person: usize,
    pub spec: JobSpec,
    pub ran: u64,
    pub fails: bool,
}

/// A scenario that can be run.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) currency: String,
    pub(crate) seed: u64,
    pub(crate) zone: Zone,
    pub(crate) start: Timestamp,
    /// For how long people submit, in milliseconds; so for the next two.
    pub(crate) length: u64,
    /// How long everything takes.
    pub(crate) whole: u64,
    pub(crate) tick: u64,
    pub(crate) max_events: u64,
    pub(crate) sites: Vec<(SiteName, Resources)>,
    pub(crate) sizes: Vec<SizeModel>,
    pub(crate) setup: Setup,
    pub(crate) people: Vec<Person>,
    pub(crate) rules: Vec<JobRule>,
    pub(crate) history: Vec<PastJob>,
    /// Recorded jobs that are not of the scenario's time.
    pub(crate) left_out: u64,
    pub(crate) policies: Vec<Policy>,
}

impl Scenario {
    /// Reads a scenario without a history.
    pub fn from_toml(text: &str) -> Result<Self, Refused> {
        Self::check(&Draft::from_toml(text)?, Vec::new())
    }

    /// Reads a scenario, and its history if it names one: `open` is asked for that file.
    pub fn load<R: BufRead>(text: &str, open: impl FnOnce(&str) -> Result<R, String>) -> Result<Self, Refused> {
        let draft = Draft::from_toml(text)?;
        let history = match &draft.history {
            None => Vec::new(),
            Some(history) => {
                read_history(open(&history.file).map_err(|message| Refused::one("history.file", message))?)?
            }
        };
        Self::check(&draft, history)
    }

    /// Looks at a scenario as a whole, with the jobs of its history if it has one.
    pub fn check(draft: &Draft, history: Vec<Recorded>) -> Result<Self, Refused> {
        check::check(draft, history)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }
}
