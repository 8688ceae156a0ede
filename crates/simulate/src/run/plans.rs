//! What would become of each job that is not over: drawn when it comes, looked up when it starts.

use std::collections::BTreeMap;

use atelier_domain::compute::JobId;
use atelier_domain::world::Exit;

use super::arrivals::{Arrival, What};
use crate::dice::{Dice, Kind};
use crate::scenario::Scenario;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub person: usize,
    pub submitted: u64,
    /// How long an attempt runs.
    pub ran: u64,
    /// The chance that an attempt fails.
    fails: f64,
    /// Its number among all jobs, the same under every policy.
    ordinal: u64,
    /// Whether it has begun once.
    pub has_begun: bool,
}

impl Plan {
    /// How an attempt ends that nobody disturbs.
    pub fn exit(&self, seed: u64, attempt: u32) -> Exit {
        // Those that always or never fail need no dice.
        let fails = self.fails > 0.0 && Dice::of(seed, Kind::Attempt, self.ordinal, attempt.into()).chance(self.fails);
        Exit::Code(i32::from(fails))
    }
}

/// All jobs that are not over.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    jobs: BTreeMap<JobId, Plan>,
    count: u64,
}

impl Plans {
    pub fn get(&self, job: JobId) -> Option<&Plan> {
        self.jobs.get(&job)
    }

    pub fn get_mut(&mut self, job: JobId) -> Option<&mut Plan> {
        self.jobs.get_mut(&job)
    }

    pub fn remove(&mut self, job: JobId) -> Option<Plan> {
        self.jobs.remove(&job)
    }

    pub fn all(&self) -> impl Iterator<Item = (&JobId, &Plan)> {
        self.jobs.iter()
    }

    /// Draws what becomes of the jobs of one arrival, which have the numbers from `first` on.
    pub fn draw(&mut self, scenario: &Scenario, arrival: &Arrival, first: JobId) {
        let part = arrival.source.wrapping_mul(0x1_0000_0001).wrapping_add(arrival.number);
        let mut dice = Dice::of(scenario.seed, Kind::Runs, arrival.source, part);
        for index in 0..u64::from(arrival.count) {
            let (ran, fails) = match arrival.what {
                What::Rule(rule) => match scenario.rules.get(rule) {
                    Some(rule) => (rule.runs.draw(&mut dice), rule.fails),
                    None => continue,
                },
                What::Past(past) => match scenario.history.get(past) {
                    Some(past) => (past.ran, if past.fails { 1.0 } else { 0.0 }),
                    None => continue,
                },
            };
            let ordinal = self.count + index;
            let plan = Plan { person: arrival.person, submitted: arrival.at, ran, fails, ordinal, has_begun: false };
            self.jobs.insert(JobId(first.0 + index), plan);
        }
        self.count += u64::from(arrival.count);
    }

    /// A submission that was refused counts all the same, so that later jobs keep their luck.
    pub fn skip(&mut self, arrival: &Arrival) {
        self.count += u64::from(arrival.count);
    }
}
