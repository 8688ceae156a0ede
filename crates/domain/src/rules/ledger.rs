//! Money: a node's time is shared by the jobs that run on it, by their cores; time without a job is its
//! holder's.

use crate::compute::node::{Holder, Node};
use crate::compute::{JobId, NodeId};
use crate::id::UserId;
use crate::time::Span;
use crate::world::{Charge, LedgerKey, World};

impl World {
    /// Charges a node's time up to now. To be called before what runs there changes, so that every
    /// millisecond goes to those who had the node then; the parts add up to the whole exactly.
    pub(super) fn charge_node(&mut self, id: NodeId) {
        let now = self.now.mono;
        let Some(node) = self.nodes.get(&id) else { return };
        let millis = now.0.saturating_sub(node.settled.0);
        if millis == 0 {
            return;
        }
        let charges = self.charges(node, millis);
        self.spend(&charges);
        let users: Vec<JobId> = charges.iter().filter_map(|(key, _)| key.job).collect();
        for (key, charge) in charges {
            let sum = self.out.ledger.entry(key).or_default();
            sum.millis += charge.millis;
            sum.cost = sum.cost.saturating_add(charge.cost);
        }
        // Whoever runs there uses what is theirs, whether or not the rest of the node is idle.
        users.into_iter().for_each(|job| self.use_fair_share(job, millis));
        self.settle_node(id);
    }

    /// Who pays what for so many milliseconds of a node, with what runs on it now.
    pub fn charges(&self, node: &Node, millis: u64) -> Vec<(LedgerKey, Charge)> {
        let charge = |job, user, millis| {
            let key = LedgerKey {
                workspace: node.workspace.clone(),
                holder: node.holder,
                job,
                user,
                size: node.size.clone(),
            };
            (key, Charge { millis, cost: node.price.for_span(Span::millis(millis)) })
        };
        let on = self.on.get(&node.id).into_iter().flat_map(|on| &on.jobs);
        // What only waits there has used nothing.
        let jobs: Vec<_> = on.filter_map(|job| self.jobs.get(job)).filter(|job| job.ahead.is_none()).collect();
        if jobs.is_empty() {
            return vec![charge(None, self.payer(node.holder, node.user.as_ref()), millis)];
        }
        // A job on an instance takes no cores of its own; there every job counts the same.
        let weights: Vec<u64> = jobs.iter().map(|job| job.takes().cores.max(1)).collect();
        let all: u64 = weights.iter().sum();
        let mut left = millis;
        let mut charges = Vec::with_capacity(jobs.len());
        for (index, (job, weight)) in jobs.iter().zip(&weights).enumerate() {
            let exact = u128::from(millis) * u128::from(*weight) / u128::from(all.max(1));
            let part = if index + 1 == jobs.len() { left } else { u64::try_from(exact).unwrap_or(left).min(left) };
            left -= part;
            charges.push(charge(Some(job.id), job.owner.clone(), part));
        }
        charges
    }

    fn payer(&self, holder: Holder, user: Option<&UserId>) -> UserId {
        let owner = match holder {
            Holder::Cluster(id) => self.clusters.get(&id).map(|cluster| cluster.owner.clone()),
            Holder::Instance(id) => self.instances.get(&id).map(|instance| instance.owner.clone()),
            Holder::Job(id) => self.jobs.get(&id).map(|job| job.owner.clone()),
        };
        owner.or_else(|| user.cloned()).unwrap_or_else(|| UserId::new(""))
    }
}
