//! Money: a node's time is shared by the jobs that run on it, by their cores; time without a job is its holder's.

use crate::compute::NodeId;
use crate::compute::node::Holder;
use crate::id::UserId;
use crate::time::Span;
use crate::world::{LedgerKey, World};

impl World {
    /// Charges a node's time up to now. To be called before what runs there changes, so that every millisecond goes to
    /// those who had the node then; the parts add up to the whole exactly.
    pub(super) fn charge_node(&mut self, id: NodeId) {
        let now = self.now.mono;
        let Some(node) = self.nodes.get(&id) else { return };
        let millis = now.0.saturating_sub(node.settled.0);
        if millis == 0 {
            return;
        }
        let key = |job, user| LedgerKey {
            workspace: node.workspace.clone(),
            holder: node.holder,
            job,
            user,
            size: node.size.clone(),
        };
        let jobs: Vec<_> =
            self.on.get(&id).into_iter().flat_map(|on| &on.jobs).filter_map(|job| self.jobs.get(job)).collect();
        let mut charges = Vec::with_capacity(jobs.len().max(1));
        // A job on an instance takes no cores of its own; there every job counts the same.
        let weights: Vec<u64> = jobs.iter().map(|job| job.takes().cores.max(1)).collect();
        let all: u64 = weights.iter().sum();
        let mut left = millis;
        for (index, (job, weight)) in jobs.iter().zip(&weights).enumerate() {
            let exact = u128::from(millis) * u128::from(*weight) / u128::from(all.max(1));
            let share = if index + 1 == jobs.len() { left } else { u64::try_from(exact).unwrap_or(left).min(left) };
            left -= share;
            charges.push((key(Some(job.id), job.owner.clone()), share));
        }
        if jobs.is_empty() {
            charges.push((key(None, self.payer(node.holder, node.user.as_ref())), millis));
        }
        let price = node.price;
        for (key, share) in charges {
            let charge = self.out.ledger.entry(key).or_default();
            charge.millis += share;
            charge.cost = charge.cost.saturating_add(price.for_span(Span::millis(share)));
        }
        self.edit_node(id, |node, _| node.settled = now);
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
