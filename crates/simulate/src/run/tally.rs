//! Counts what happens under one policy. Nothing is kept for single jobs that are over.

use std::collections::BTreeMap;

use atelier_domain::UserId;
use atelier_domain::compute::job::{Job, Verdict};
use atelier_domain::reason::Reason;
use atelier_domain::time::Span;
use atelier_domain::world::{Outcome, World};

use super::machines::Work;
use super::plans::Plans;
use super::timeline::Recorder;
use crate::histogram::Histogram;
use crate::report::{Jobs, Nodes, PersonReport, PolicyReport, Waits, ratio};
use crate::scenario::Scenario;
use crate::setup::Policy;

/// What is counted of one person.
#[derive(Clone, Debug, Default)]
struct OfPerson {
    submitted: u64,
    completed: u64,
    waits: Histogram,
    /// Billionths of the currency.
    cost: u64,
}

pub(crate) struct Tally {
    people: Vec<OfPerson>,
    by_id: BTreeMap<UserId, usize>,
    waits: Histogram,
    pub submitted: u64,
    refused: BTreeMap<&'static str, u64>,
    /// What the core has charged for nodes, to whomever, in billionths of the currency.
    charged: u64,
    jobs: Jobs,
    decisions: BTreeMap<&'static str, u64>,
    peak_nodes: u64,
    peak_waiting: u64,
    recorder: Recorder,
}

impl Tally {
    pub fn new(scenario: &Scenario) -> Self {
        Self {
            people: vec![OfPerson::default(); scenario.people.len()],
            by_id: scenario.people.iter().enumerate().map(|(place, person)| (person.id.clone(), place)).collect(),
            waits: Histogram::default(),
            submitted: 0,
            refused: BTreeMap::new(),
            charged: 0,
            jobs: Jobs::default(),
            decisions: BTreeMap::new(),
            peak_nodes: 0,
            peak_waiting: 0,
            recorder: Recorder::new(scenario.whole),
        }
    }

    pub fn submit(&mut self, person: usize, count: u32) {
        self.submitted += u64::from(count);
        if let Some(person) = self.people.get_mut(person) {
            person.submitted += u64::from(count);
        }
    }

    pub fn refuse(&mut self, reason: &Reason, count: u32) {
        *self.refused.entry(reason.code()).or_insert(0) += u64::from(count);
    }

    pub fn begin(&mut self, person: usize, waited: u64) {
        self.waits.add(waited);
        if let Some(person) = self.people.get_mut(person) {
            person.waits.add(waited);
        }
    }

    pub fn note(&mut self, at: u64, waiting: u64, nodes: u64, busy: u64) {
        self.peak_nodes = self.peak_nodes.max(nodes);
        self.peak_waiting = self.peak_waiting.max(waiting);
        self.recorder.note(at, [waiting, nodes, busy]);
    }

    /// Counts what a step brought about, and forgets the jobs that are over.
    pub fn take(&mut self, outcome: &Outcome, plans: &mut Plans) {
        for decision in &outcome.decisions {
            *self.decisions.entry(decision.reason.code()).or_insert(0) += 1;
            if matches!(decision.reason, Reason::AttemptEnded { .. }) {
                self.jobs.tried_again += 1;
            }
        }
        for ended in &outcome.ended {
            let person = plans.remove(ended.job.id).and_then(|plan| self.people.get_mut(plan.person));
            match ended.verdict {
                Verdict::Succeeded => {
                    self.jobs.completed += 1;
                    if let Some(person) = person {
                        person.completed += 1;
                    }
                }
                Verdict::TimedOut { .. } => self.jobs.timed_out += 1,
                Verdict::NodeLost { .. } => self.jobs.lost += 1,
                Verdict::Preempted { .. } => self.jobs.preempted += 1,
                _ => self.jobs.failed += 1,
            }
        }
        for (key, charge) in &outcome.ledger {
            self.charged = self.charged.saturating_add(charge.cost);
            if key.job.is_some() {
                self.charge(&key.user, charge.cost);
            }
        }
    }

    fn charge(&mut self, user: &UserId, cost: u64) {
        if let Some(person) = self.by_id.get(user).and_then(|place| self.people.get_mut(*place)) {
            person.cost = person.cost.saturating_add(cost);
        }
    }

    /// Counts what is not over at the end, and charges what the core would charge later.
    pub fn close(&mut self, world: &World, plans: &Plans, at: u64) {
        for (id, plan) in plans.all() {
            let Some(job) = world.job(*id) else { continue };
            if job.is_queued() {
                self.jobs.still_waiting += 1;
                self.jobs.longest_still_waiting_ms =
                    self.jobs.longest_still_waiting_ms.max(at - plan.submitted.min(at));
            } else {
                self.jobs.still_running += 1;
            }
        }
        for node in world.nodes() {
            let cost = world.unsettled(node, Span::millis(at.saturating_sub(world.mono().0)));
            self.charged = self.charged.saturating_add(cost);
            let on = world.on_node(node.id).map(|on| on.jobs.as_slice()).unwrap_or_default();
            let jobs: Vec<&Job> = on.iter().filter_map(|job| world.job(*job)).collect();
            let cores: u64 = jobs.iter().map(|job| job.takes().cores).sum();
            for job in jobs {
                let part = u128::from(cost) * u128::from(job.takes().cores) / u128::from(cores.max(1));
                self.charge(&job.owner, u64::try_from(part).unwrap_or(0));
            }
        }
    }

    pub fn report(mut self, scenario: &Scenario, policy: &Policy, work: &Work) -> PolicyReport {
        self.jobs.submitted = self.submitted;
        self.jobs.refused = self.refused.values().sum();
        let (mut node_time, mut paid_cores, mut paid_gpus) = (0_u128, 0_u128, 0_u128);
        for (model, time) in scenario.sizes.iter().zip(&work.node_time) {
            node_time += time;
            paid_cores += time * u128::from(model.size.shape.cores);
            paid_gpus += time * u128::from(model.size.shape.gpus);
        }
        let used: u64 = self.people.iter().map(|person| person.cost).sum();
        let people = scenario.people.iter().zip(&self.people).zip(&work.busy_by_person);
        let people =
            people.filter(|((_, counted), _)| counted.submitted > 0).map(|((person, counted), busy)| PersonReport {
                name: person.name.to_string(),
                weight: person.weight,
                jobs: counted.submitted,
                completed: counted.completed,
                core_hours: hours(busy / 1_000),
                cost: money(counted.cost),
                waits: waits(&counted.waits),
            });
        let owned = |counts: BTreeMap<&'static str, u64>| {
            counts.into_iter().map(|(code, count)| (code.to_owned(), count)).collect()
        };
        PolicyReport {
            name: policy.name.clone(),
            changes: changes(scenario, policy),
            waits: waits(&self.waits),
            utilisation: ratio(work.busy_cores, paid_cores),
            gpu_utilisation: (paid_gpus > 0).then(|| ratio(work.busy_gpus, paid_gpus)),
            node_hours: hours(node_time),
            core_hours: hours(work.busy_cores / 1_000),
            cost: money(self.charged),
            idle_cost: money(self.charged.saturating_sub(used)),
            jobs: self.jobs,
            refusals: owned(self.refused),
            nodes: Nodes {
                peak: self.peak_nodes,
                launches: work.launches,
                failed_launches: work.failed_launches,
                lost: work.lost,
                preempted: work.preempted,
            },
            peak_waiting: self.peak_waiting,
            decisions: owned(self.decisions),
            people: people.collect(),
            timeline: self.recorder.finish(),
        }
    }
}

/// What a policy changes, in words.
fn changes(scenario: &Scenario, policy: &Policy) -> Vec<String> {
    let all = policy.all.sentence();
    let mut words = Vec::new();
    if !all.is_empty() {
        words.push(all);
    }
    for (place, changes) in &policy.single {
        if let Some(cluster) = scenario.setup.clusters.get(*place) {
            words.push(format!("{}: {}", cluster.name, changes.sentence()));
        }
    }
    words
}

fn waits(histogram: &Histogram) -> Waits {
    Waits {
        count: histogram.count(),
        mean_ms: histogram.mean(),
        median_ms: histogram.per_mille(500),
        p90_ms: histogram.per_mille(900),
        p99_ms: histogram.per_mille(990),
        max_ms: histogram.max(),
    }
}

/// Milliseconds as hours with three digits.
fn hours(millis: u128) -> f64 {
    (millis / 3_600) as f64 / 1_000.0
}

/// Billionths of the currency as the currency, with four digits.
fn money(billionths: u64) -> f64 {
    (billionths / 100_000) as f64 / 10_000.0
}
