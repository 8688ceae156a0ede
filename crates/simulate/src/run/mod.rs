//! The run: the core on a clock that jumps from one event to the next.

mod arrivals;
mod machines;
mod plans;
pub(crate) mod site;
mod tally;
mod timeline;

use std::ops::ControlFlow;

use atelier_domain::compute::JobId;
use atelier_domain::time::{Span, Timestamp};
use atelier_domain::world::{Answer, Input, Order, Outcome, World};

use self::arrivals::{Arrival, Arrivals, What};
use self::machines::Machines;
use self::plans::Plans;
use self::tally::Tally;
pub use self::timeline::Timeline;
use crate::report::{PolicyReport, Report};
use crate::scenario::Scenario;
use crate::setup::{Policy, apply_policy};

/// How far a simulation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Which policy, from 0.
    pub policy: usize,
    /// How many there are.
    pub policies: usize,
    /// What has happened under it: inputs and steps of the core.
    pub events: u64,
    /// The time of the scenario.
    pub at: Timestamp,
    /// Thousandths of the whole, all policies together.
    pub done: u32,
}

/// Why a simulation came to no report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Whoever asked for it does not want it any more.
    Canceled,
    /// More happens than the scenario allows.
    TooManyEvents {
        policy: String,
        allowed: u64,
        /// How far it came.
        at: Timestamp,
        /// Jobs that had come by then.
        jobs: u64,
    },
    /// The core would not make the site.
    NotMade {
        policy: String,
        /// In the core's own words.
        why: String,
    },
}

impl std::fmt::Display for Stopped {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Canceled => out.write_str("The simulation was canceled."),
            Self::TooManyEvents { policy, allowed, jobs, .. } => write!(
                out,
                "Under the policy “{policy}” more than {allowed} events happen; {jobs} jobs had come by then. Raise \
                 max_events, shorten the scenario, or choose a coarser tick."
            ),
            Self::NotMade { policy, why } => write!(out, "Under the policy “{policy}” the site cannot be made: {why}"),
        }
    }
}

impl std::error::Error for Stopped {}

/// After so many steps whoever waits is told how far it is.
const TELL_EVERY: u64 = 512;

/// Runs a scenario under each of its policies. `hear` is told how far it is now and then, and may stop it.
///
/// The same scenario gives the same report, byte for byte.
pub fn simulate(scenario: &Scenario, hear: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<Report, Stopped> {
    let mut policies = Vec::with_capacity(scenario.policies.len());
    for (number, policy) in scenario.policies.iter().enumerate() {
        let mut run = Run::new(scenario, policy)?;
        run.pass(&mut |run| hear(run.progress(number)))?;
        policies.push(run.finish(policy));
    }
    Ok(Report::new(scenario, policies))
}

struct Run<'scenario> {
    scenario: &'scenario Scenario,
    policy: &'scenario Policy,
    world: World,
    machines: Machines<'scenario>,
    arrivals: Arrivals<'scenario>,
    plans: Plans,
    tally: Tally,
    now: u64,
    wake: Option<u64>,
    events: u64,
    steps: u64,
}

impl<'scenario> Run<'scenario> {
    fn new(scenario: &'scenario Scenario, policy: &'scenario Policy) -> Result<Self, Stopped> {
        let mut setup = scenario.setup.clone();
        apply_policy(&mut setup, policy);
        let (world, outcome) = site::make(scenario, &setup)
            .map_err(|site::NotMade { why, .. }| Stopped::NotMade { policy: policy.name.clone(), why })?;
        let mut run = Self {
            scenario,
            policy,
            world,
            machines: Machines::new(scenario),
            arrivals: Arrivals::new(scenario),
            plans: Plans::default(),
            tally: Tally::new(scenario),
            now: 0,
            wake: None,
            events: 0,
            steps: 0,
        };
        run.take(outcome, &[]);
        Ok(run)
    }

    fn progress(&self, number: usize) -> Progress {
        let policies = self.scenario.policies.len();
        let within = u128::from(self.now) * 1_000 / u128::from(self.scenario.whole.max(1));
        let done = (number as u128 * 1_000 + within.min(1_000)) / policies.max(1) as u128;
        Progress {
            policy: number,
            policies,
            events: self.events,
            at: self.at(),
            done: u32::try_from(done).unwrap_or(1_000),
        }
    }

    fn at(&self) -> Timestamp {
        self.scenario.start.plus(Span::millis(self.now))
    }

    /// Lets the whole time of the scenario pass.
    fn pass(&mut self, hear: &mut dyn FnMut(&Self) -> ControlFlow<()>) -> Result<(), Stopped> {
        let (mut inputs, mut arrived) = (Vec::new(), Vec::new());
        let tick = self.scenario.tick;
        while let Some(next) = self.next_at() {
            // Everything happens at ticks, and never twice at the same one.
            let next = next.max(self.now + 1).div_ceil(tick).saturating_mul(tick);
            if next > self.scenario.whole {
                break;
            }
            self.now = next;
            inputs.clear();
            arrived.clear();
            while let Some(arrival) = self.arrivals.take(next) {
                inputs.extend(self.submission(&arrival));
                arrived.push(arrival);
            }
            self.machines.run(next, &mut self.plans, |report| inputs.push(Input::Report(report)));
            let is_due = self.wake.is_some_and(|wake| wake <= next);
            if !inputs.is_empty() || is_due {
                let outcome = self.world.step(&inputs, site::clocks(self.scenario, next));
                self.events += inputs.len() as u64;
                self.take(outcome, &arrived);
            }
            self.steps += 1;
            self.events += 1;
            if self.events > self.scenario.max_events {
                return Err(Stopped::TooManyEvents {
                    policy: self.policy.name.clone(),
                    allowed: self.scenario.max_events,
                    at: self.at(),
                    jobs: self.tally.submitted,
                });
            }
            if self.steps.is_multiple_of(TELL_EVERY) && hear(self).is_break() {
                return Err(Stopped::Canceled);
            }
        }
        self.now = self.scenario.whole;
        if hear(self).is_break() { Err(Stopped::Canceled) } else { Ok(()) }
    }

    fn next_at(&self) -> Option<u64> {
        [self.arrivals.next_at(), self.machines.next_at(), self.wake].into_iter().flatten().min()
    }

    fn submission(&self, arrival: &Arrival) -> Option<Input> {
        let person = self.scenario.people.get(arrival.person)?;
        let spec = match arrival.what {
            What::Rule(rule) => &self.scenario.rules.get(rule)?.spec,
            What::Past(past) => &self.scenario.history.get(past)?.spec,
        };
        let order = match arrival.count {
            1 => Order::Submit(spec.clone()),
            count => Order::SubmitArray { spec: spec.clone(), count },
        };
        Some(site::order(&person.id, person.name.clone(), order))
    }

    /// Carries out and counts what a step brought about.
    fn take(&mut self, outcome: Outcome, arrived: &[Arrival]) {
        for (arrival, reply) in arrived.iter().zip(&outcome.replies) {
            match reply {
                Some(Ok(Answer::Job(first) | Answer::Jobs { first, .. })) => self.draw(arrival, *first),
                Some(Err(reason)) => {
                    self.tally.refuse(reason, arrival.count);
                    self.plans.skip(arrival);
                }
                _ => self.plans.skip(arrival),
            }
        }
        self.machines.act(self.now, &outcome.effects);
        self.tally.take(&outcome, &mut self.plans);
        for begun in self.machines.begun.drain(..) {
            self.tally.begin(begun.person, begun.waited);
        }
        let wall = outcome.wake_wall.map(|at| at.since(self.scenario.start).as_millis().unsigned_abs());
        self.wake = [outcome.wake.map(|at| at.0), wall].into_iter().flatten().min();
        self.tally.note(self.now, self.world.queued() as u64, self.machines.count(), self.machines.busy);
    }

    fn draw(&mut self, arrival: &Arrival, first: JobId) {
        self.plans.draw(self.scenario, arrival, first);
        self.tally.submit(arrival.person, arrival.count);
    }

    fn finish(mut self, policy: &Policy) -> PolicyReport {
        self.machines.close(self.now, &self.plans);
        self.tally.close(&self.world, &self.plans, self.now);
        self.tally.report(self.scenario, policy, &self.machines.work)
    }
}
