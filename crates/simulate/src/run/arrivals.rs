//! Who submits what when, in the order of time. The same for every policy: it depends on the seed alone.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::dice::{Dice, Kind};
use crate::scenario::Scenario;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// When, after the start.
    pub at: u64,
    /// Whose, by their place among the people.
    pub person: usize,
    pub what: What,
    pub count: u32,
    /// Its number among the arrivals of its source, from 0.
    pub number: u64,
    /// Where it comes from.
    pub source: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// By a rule, by its place among them.
    Rule(usize),
    /// A job of the history, by its place in it.
    Past(usize),
}

/// One person who submits one kind of jobs.
#[derive(Debug)]
struct Source {
    rule: usize,
    person: usize,
    dice: Dice,
    /// The stretch of time in which the next one falls; none are looked at twice.
    window: usize,
    count: u64,
}

/// All that is still to come.
#[derive(Debug)]
pub(crate) struct Arrivals<'scenario> {
    scenario: &'scenario Scenario,
    sources: Vec<Source>,
    next: BinaryHeap<Reverse<(u64, usize)>>,
    past: usize,
}

impl<'scenario> Arrivals<'scenario> {
    pub fn new(scenario: &'scenario Scenario) -> Self {
        let pairs = scenario.rules.iter().enumerate();
        let pairs = pairs.flat_map(|(rule, jobs)| jobs.people.iter().map(move |person| (rule, *person)));
        let sources = pairs.map(|(rule, person)| {
            let dice = Dice::of(scenario.seed, Kind::Arrivals, rule as u64, person as u64);
            Source { rule, person, dice, window: 0, count: 0 }
        });
        let mut arrivals = Self { scenario, sources: sources.collect(), next: BinaryHeap::new(), past: 0 };
        for place in 0..arrivals.sources.len() {
            arrivals.plan(place, 0);
        }
        arrivals
    }

    /// Works out when a source comes next, after its last time.
    fn plan(&mut self, place: usize, after: u64) {
        let Some(source) = self.sources.get_mut(place) else { return };
        let Some(rule) = self.scenario.rules.get(source.rule) else { return };
        let gap = source.dice.exponential(rule.gap);
        // A gap beyond the end of numbers is one beyond the end of the scenario.
        let mut left = gap.min(u32::MAX as f64 * 1_000.0) as u64;
        let at = match &rule.windows {
            None => Some(after.saturating_add(left)),
            // Only time at work counts, so what is left over from one day goes on in the next.
            Some(windows) => loop {
                let Some((from, to)) = windows.get(source.window).copied() else { break None };
                let begin = from.max(after);
                let room = to.saturating_sub(begin);
                if left < room {
                    break Some(begin + left);
                }
                left -= room;
                source.window += 1;
            },
        };
        if let Some(at) = at.filter(|at| *at < self.scenario.length) {
            self.next.push(Reverse((at, place)));
        }
    }

    /// When the next one comes.
    pub fn next_at(&self) -> Option<u64> {
        let rule = self.next.peek().map(|Reverse((at, _))| *at);
        let past = self.scenario.history.get(self.past).map(|job| job.at);
        [rule, past].into_iter().flatten().min()
    }

    /// The next one, if it has come by then.
    pub fn take(&mut self, until: u64) -> Option<Arrival> {
        let past = self.scenario.history.get(self.past).map(|job| job.at);
        let rule = self.next.peek().map(|Reverse((at, _))| *at);
        if let Some(at) = past.filter(|at| *at <= until && rule.is_none_or(|rule| *at <= rule)) {
            let place = self.past;
            self.past += 1;
            let person = self.scenario.history.get(place)?.person;
            let (what, source) = (What::Past(place), u64::MAX);
            return Some(Arrival { at, person, what, count: 1, number: place as u64, source });
        }
        if rule? > until {
            return None;
        }
        let Reverse((at, place)) = self.next.pop()?;
        let source = self.sources.get_mut(place)?;
        let array = self.scenario.rules.get(source.rule)?.array;
        let count = source.dice.between(array.0.into(), array.1.into());
        let arrival = Arrival {
            at,
            person: source.person,
            what: What::Rule(source.rule),
            count: u32::try_from(count).unwrap_or(1),
            number: source.count,
            source: place as u64,
        };
        source.count += 1;
        self.plan(place, at);
        Some(arrival)
    }
}
