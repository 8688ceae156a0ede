//! What only the core can judge.

use std::collections::BTreeSet;

use atelier_domain::reason::Reason;

use super::super::Scenario;
use super::super::refused::{Complaints, Refused};
use super::load::in_scenario;
use crate::run::site;
use crate::setup::apply_policy;

/// Makes the site under each policy and submits each kind of job once: whoever is refused there would be
/// refused later.
pub(super) fn ask_the_core(scenario: &Scenario) -> Result<(), Refused> {
    let mut complaints = Complaints::default();
    for (number, policy) in scenario.policies.iter().enumerate() {
        let mut setup = scenario.setup.clone();
        apply_policy(&mut setup, policy);
        let mut world = match site::make(scenario, &setup) {
            Ok((world, _)) => world,
            Err(site::NotMade { cluster, why }) => {
                let message = format!("The cluster {cluster} cannot be made so: {why}");
                complaints.add(format!("policy[{number}]"), message);
                continue;
            }
        };
        let mut judged = BTreeSet::new();
        let rules = scenario.rules.iter().enumerate().map(|(place, rule)| (format!("jobs[{place}]"), &rule.spec));
        let past = scenario.history.iter().enumerate();
        let past = past.map(|(place, job)| (format!("history job {}", place + 1), &job.spec));
        for (path, spec) in rules.chain(past) {
            if !judged.insert((spec.target.clone(), spec.shape, spec.nodes)) {
                continue;
            }
            if let Err(reason) = site::try_job(&mut world, scenario, spec) {
                let field = field_of(&reason);
                let next = reason.next_step().map(|step| format!(" {step}")).unwrap_or_default();
                let message = format!("Under the policy “{}”: {}{next}", policy.name, reason.sentence());
                complaints.add(format!("{path}{field}"), message);
            }
        }
    }
    complaints.finish()
}

/// The field of a job that a refusal is about.
fn field_of(reason: &Reason) -> String {
    match reason {
        Reason::TooLarge { needed, node, .. } if needed.cores > node.cores => ".cores".into(),
        Reason::TooLarge { needed, node, .. } if needed.memory > node.memory => ".memory_gib".into(),
        Reason::TooLarge { .. } => ".gpus".into(),
        Reason::Invalid { problem } => format!(".{}", in_scenario(&problem.field)),
        _ => ".nodes".into(),
    }
}
