//! What is compared.

use std::collections::BTreeMap;

use atelier_domain::text::shortened;

use super::super::MAX_POLICIES;
use super::super::draft::PolicyDraft;
use super::place::ChangeFields;
use super::{Check, find};
use crate::setup::{Policy, Setup, apply_policy, judge};

impl Check {
    pub(super) fn policies(&mut self, drafts: &[PolicyDraft], setup: &Setup) -> Vec<Policy> {
        if drafts.is_empty() {
            return vec![Policy { name: "as it is".into(), ..Policy::default() }];
        }
        if drafts.len() > MAX_POLICIES {
            let message =
                format!("There are at most {MAX_POLICIES} policies side by side; these are {}.", drafts.len());
            self.complaints.add("policy", message);
            return Vec::new();
        }
        let clusters: Vec<String> = setup.clusters.iter().map(|cluster| cluster.name.to_string()).collect();
        let mut policies: Vec<Policy> = Vec::new();
        for (number, draft) in drafts.iter().enumerate() {
            let path = format!("policy[{number}]");
            self.name(&format!("{path}.name"), &draft.name);
            if policies.iter().any(|policy| policy.name == draft.name) {
                let message = format!("There are two policies “{}”; give one another name.", shortened(&draft.name));
                self.complaints.add(format!("{path}.name"), message);
            }
            let all = self.changes(
                &path,
                &ChangeFields {
                    min: draft.min,
                    max: draft.max,
                    idle: draft.idle.as_deref(),
                    order: draft.order.as_deref(),
                    backfill: draft.backfill,
                    warm: draft.warm,
                    scheduled_min: draft.scheduled_min.as_ref(),
                },
            );
            let mut policy = Policy { name: draft.name.clone(), all, single: BTreeMap::new() };
            for (place, draft) in draft.cluster.iter().enumerate() {
                let path = format!("{path}.cluster[{place}]");
                let found = find(&clusters, &draft.name.to_lowercase(), "cluster");
                let Some(found) = self.complaints.take(&format!("{path}.name"), found) else { continue };
                let changes = self.changes(
                    &path,
                    &ChangeFields {
                        min: draft.min,
                        max: draft.max,
                        idle: draft.idle.as_deref(),
                        order: draft.order.as_deref(),
                        backfill: draft.backfill,
                        warm: draft.warm,
                        scheduled_min: draft.scheduled_min.as_ref(),
                    },
                );
                policy.single.insert(found, changes);
            }
            let mut changed = setup.clone();
            apply_policy(&mut changed, &policy);
            for (cluster, before) in changed.clusters.iter().zip(&setup.clusters) {
                // What is wrong with the cluster itself was said there.
                let known = judge(before);
                for problem in judge(cluster).into_iter().filter(|problem| !known.contains(problem)) {
                    let message = format!("For the cluster {}: {}", cluster.name, problem.message);
                    self.complaints.add(format!("{path}.{}", problem.field), message);
                }
            }
            policies.push(policy);
        }
        policies
    }
}
