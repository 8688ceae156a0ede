//! Backfill: what is small and short starts while the first in the queue waits for its nodes, if that cannot
//! delay it.
//!
//! When the first one can start is worked out from the time limits of what runs; what has none counts as
//! endless. A job may start before it only if it is surely over by then, or if enough other nodes are there
//! by then. Where nobody can say when the first one starts, nobody passes it.

use std::collections::{BTreeMap, BTreeSet};

use crate::compute::fair_share::QueueOrder;
use crate::compute::job::{AllocationState, Job, KILL_LIMIT, START_LIMIT};
use crate::compute::{JobId, NodeId, Resources};
use crate::reason::Reason;
use crate::time::Mono;
use crate::world::{About, PoolKey, World};

/// Running jobs that one look takes into account, those that end first.
const MOST_ENDS: usize = 256;
/// Waiting jobs that one look considers; the next one goes on where it stopped.
const MOST_CANDIDATES: usize = 64;
/// Nodes that are tried for one of them, beside those that it needs.
const MOST_NODES: usize = 16;

/// What is known of the start of the first in a queue.
struct Outlook {
    /// It cannot start before.
    earliest: Mono,
    /// By the time limits of what runs it starts then; none if nodes that nobody knows of yet are needed.
    reserved: Option<Mono>,
    /// What it takes of each of its nodes.
    shape: Resources,
    /// The nodes on which it fits until then: since when, and what they have free then.
    fits: BTreeMap<NodeId, (Mono, Resources)>,
    /// Nodes on which it fits at any moment, or in a while: something there is being ended.
    ending: BTreeSet<NodeId>,
    /// How many of those on which it fits it does not need.
    spare: usize,
}

impl Outlook {
    /// Whether a job may have a part of a node without delaying the first one. Nothing is said about how long
    /// it would run if it has no end.
    fn allows(&self, node: NodeId, takes: Resources, ends: Option<Mono>) -> bool {
        if ends.is_some_and(|ends| ends <= self.earliest) {
            return true;
        }
        if self.ending.contains(&node) {
            return false;
        }
        match (self.fits.get(&node), self.reserved) {
            (Some((_, free)), _) if self.shape.fits(free.minus(takes)) && takes.fits(*free) => true,
            (Some((since, _)), Some(reserved)) => self.spare > 0 && *since == reserved,
            (Some(_), None) => false,
            // There are enough others before this one would do.
            (None, reserved) => reserved.is_some(),
        }
    }

    fn take(&mut self, node: NodeId, takes: Resources, ends: Option<Mono>) {
        if ends.is_some_and(|ends| ends <= self.earliest) {
            return;
        }
        if let Some((_, free)) = self.fits.get_mut(&node) {
            *free = free.minus(takes);
            if !self.shape.fits(*free) {
                self.fits.remove(&node);
                self.spare = self.spare.saturating_sub(1);
            }
        }
    }
}

impl World {
    /// When the first in a cluster's queue starts at the latest, by the time limits of what runs.
    pub fn reserved_start(&self, key: &PoolKey) -> Option<Mono> {
        let head = self.look_up(self.pools.get(key)?.queue.first()?)?;
        self.outlook(key, &head)?.reserved
    }

    fn outlook(&self, key: &PoolKey, head: &Job) -> Option<Outlook> {
        let PoolKey::Cluster(id) = key else { return None };
        let (cluster, pool, now) = (self.clusters.get(id)?, self.pools.get(key)?, self.now.mono);
        let (shape, count) = (head.takes(), head.spec.nodes as usize);
        let free_of = |node: NodeId| self.on.get(&node).map_or(Resources::NONE, |on| on.free);
        let mut fits: BTreeMap<NodeId, (Mono, Resources)> =
            pool.fitting(shape, count).into_iter().map(|node| (node, (now, free_of(node)))).collect();
        // Nodes that may come at any time, or not at all.
        let ready = pool.idle.len() + pool.ahead.len();
        let room = (cluster.scale.max as usize).saturating_sub(pool.nodes.len());
        let grows = room > 0
            && self
                .sizes
                .get(&cluster.size)
                .is_some_and(|size| self.blocked(&cluster.workspace, None, size, 1, true).is_none());
        let unsure = (pool.live as usize).saturating_sub(ready) + pool.cordoned.len() + if grows { room } else { 0 };
        let mut earliest = (fits.len() + unsure >= count).then_some(now);
        let (mut reserved, mut last, mut looked_at) = ((fits.len() >= count).then_some(now), now, 0);
        let (mut freed, mut ending) = (BTreeMap::<NodeId, Resources>::new(), BTreeSet::new());
        for (end, job) in pool.ends.iter().take(if reserved.is_some() { 0 } else { MOST_ENDS }) {
            looked_at += 1;
            last = (*end).max(now);
            let Some(job) = self.jobs.get(job) else { continue };
            for allocation in job.allocations.iter().filter(|allocation| allocation.state != AllocationState::Off) {
                let is_ready = self.nodes.get(&allocation.node).is_some_and(crate::compute::node::Node::takes_jobs);
                let sum = freed.entry(allocation.node).or_default();
                *sum = sum.plus(job.takes());
                let free = free_of(allocation.node).plus(*sum);
                // What is being ended may be over at any moment, or take a while.
                if *end == Mono(0) {
                    if is_ready && shape.fits(free) {
                        ending.insert(allocation.node);
                    }
                } else if is_ready && shape.fits(free) {
                    fits.entry(allocation.node).or_insert((last, free));
                }
            }
            if earliest.is_none() && fits.len() + ending.len() + unsure >= count {
                earliest = Some(last);
            }
            if fits.len() >= count {
                reserved = Some(last);
                break;
            }
        }
        // Cut short: it starts after all that was looked at, and nobody knows when.
        let earliest = earliest.or_else(|| (looked_at == MOST_ENDS).then_some(last))?;
        let spare = fits.len().saturating_sub(count);
        Some(Outlook { earliest, reserved, shape, fits, ending, spare })
    }

    /// Starts what can be started before the first in the queue, which waits.
    pub(super) fn backfill(&mut self, key: &PoolKey, head: JobId) {
        let PoolKey::Cluster(id) = key else { return };
        let (Some(cluster), Some(pool)) = (self.clusters.get(id), self.pools.get(key)) else { return };
        // Where jobs are handed over ahead of time nobody knows what a node will have free.
        if !cluster.queue.backfill || cluster.is_quick || pool.queue.len() < 2 {
            return;
        }
        let has_room = |free: &Resources| free.cores > 0 && free.memory > 0;
        if !pool.free.keys().next_back().is_some_and(has_room) || !pool.may_fit() {
            return;
        }
        let from = cluster.backfill_from;
        let Some(first) = self.jobs.get(&head) else { return };
        let (owner, is_shared) = (first.owner.clone(), pool.queue.order() == QueueOrder::FairShare);
        let is_alone = !pool.queue.has_others(&owner);
        let Some(mut outlook) = self.outlook(key, first) else { return };
        let from = from.and_then(|from| self.look_up(from));
        let (candidates, next) = pool.queue.candidates(from.as_deref(), MOST_CANDIDATES);
        if cluster.backfill_from != next {
            self.note_plan(*id, |cluster| cluster.backfill_from = next);
        }
        for candidate in candidates {
            let Some(job) = self.look_up(candidate).filter(|job| job.id != head && job.is_eligible()) else {
                continue;
            };
            // More running would put its owner behind others, and the first one with them.
            if is_shared && !is_alone && job.owner == owner {
                continue;
            }
            if self.own_limit(&job).is_some() {
                continue;
            }
            let ends = job.surely_over(self.now.mono);
            let (takes, count) = (job.takes(), job.spec.nodes as usize);
            let Some(nodes) = self.nodes_beside(key, &outlook, takes, count, ends) else { continue };
            nodes.iter().for_each(|node| outlook.take(*node, takes, ends));
            let earliest = outlook.earliest.since(self.now.mono);
            let within = ends.filter(|ends| *ends <= outlook.earliest).map(|ends| ends.since(self.now.mono));
            let workspace = job.workspace.clone();
            self.make_job(candidate);
            self.assign(candidate, nodes);
            self.decide(&workspace, About::Job(candidate), Reason::Backfilled { head, within, earliest });
        }
    }

    /// Nodes that a job may have without delaying the first one.
    fn nodes_beside(
        &self,
        key: &PoolKey,
        outlook: &Outlook,
        takes: Resources,
        count: usize,
        ends: Option<Mono>,
    ) -> Option<Vec<NodeId>> {
        let mut trial = BTreeSet::new();
        let mut spare = outlook.spare;
        for node in self.pools.get(key)?.fitting(takes, count + MOST_NODES) {
            let is_spare = outlook.fits.contains_key(&node)
                && ends.is_none_or(|ends| ends > outlook.earliest)
                && !outlook.fits.get(&node).is_some_and(|(_, free)| outlook.shape.fits(free.minus(takes)));
            if !outlook.allows(node, takes, ends) || (is_spare && spare == 0) {
                continue;
            }
            spare -= usize::from(is_spare);
            trial.insert(node);
            if trial.len() == count {
                return Some(trial.into_iter().collect());
            }
        }
        None
    }
}

impl Job {
    /// When it is surely over if it is handed over now; none without a time limit.
    pub(crate) fn surely_over(&self, now: Mono) -> Option<Mono> {
        let timeout = self.spec.timeout?;
        Some(now.plus(START_LIMIT).plus(timeout).plus(self.spec.grace).plus(KILL_LIMIT))
    }
}
