//! A part of the World, for who works out beside the loop what will come: small enough to be taken between
//! two batches.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::pool::PoolKey;
use super::{Record, ScheduleTarget, Site, World};
use crate::compute::node::{Holder, Node};
use crate::compute::quota::{QuotaHolder, Scope, UseKey};
use crate::compute::{JobId, NodeId, Resources};
use crate::id::WorkspaceId;
use crate::time::Now;

/// Records enough to go on from.
#[derive(Clone, Debug)]
pub struct Excerpt {
    pub records: Vec<Record>,
    /// When the World was like this.
    pub now: Now,
    /// Whether nothing was left out. Otherwise it is one pool, its queue as far as it was taken, and what
    /// others hold is taken to stay theirs.
    pub is_whole: bool,
}

impl World {
    /// What both clocks showed at the last step.
    pub const fn clocks(&self) -> Now {
        self.now
    }

    /// All records if they are few, else those that say most about the future of one pool: its nodes, what
    /// runs on them, and the first `most` of its queue. Jobs of `also` come along wherever they stand.
    pub fn excerpt(&self, key: &PoolKey, also: &[JobId], most: usize) -> Excerpt {
        if self.jobs.len().saturating_add(self.nodes.len()) <= most {
            return Excerpt { records: self.records(), now: self.now, is_whole: true };
        }
        let mut records = vec![Record::State(self.state.clone())];
        records.extend(self.sizes.values().cloned().map(Record::Size));
        let workspace = self.workspace_of(key);
        if let Some(rules) = workspace.as_ref().and_then(|id| self.teams.get(id)).and_then(|team| team.rules) {
            records.extend(workspace.clone().map(|id| Record::FairShareRules(id, rules)));
        }
        let (nodes, jobs) = self.excerpt_of_pool(key, also, most);
        let nodes: Vec<&Node> = nodes.iter().filter_map(|id| self.nodes.get(id)).collect();
        // What others hold is taken to stay theirs.
        for site in self.sites.values() {
            let own = nodes.iter().filter(|node| node.site == site.name).map(|node| node.shape);
            let own = own.fold(Resources::NONE, Resources::plus);
            let others = self.used_capacity(&site.name).minus(own);
            records.push(Record::Site(Site { capacity: site.capacity.minus(others), ..site.clone() }));
        }
        let holder = match key {
            PoolKey::Cluster(id) => QuotaHolder::Cluster(*id),
            PoolKey::Instance(id) => QuotaHolder::Instance(*id),
            PoolKey::Serverless(..) => QuotaHolder::Serverless,
        };
        for (limit, most) in &self.limits {
            let others = if limit.scope == Scope::Workspace && !limit.resource.is_running() {
                let (workspace, resource) = (limit.workspace.clone(), limit.resource.clone());
                let usage = self.usage.get(&UseKey { workspace, person: None, resource });
                usage.map_or(0, |usage| usage.total - usage.by.get(&holder).copied().unwrap_or(0).min(usage.total))
            } else {
                0
            };
            records.push(Record::Limit(limit.clone(), most.saturating_sub(others)));
        }
        for (person, known) in workspace.iter().flat_map(|id| self.people(id)) {
            if let (Some(share), Some(workspace)) = (known.fair_share, workspace.clone()) {
                records.push(Record::FairShare(workspace, person.clone(), share));
            }
        }
        let target = match key {
            PoolKey::Cluster(id) => {
                records.extend(self.clusters.get(id).cloned().map(Box::new).map(Record::Cluster));
                Some(ScheduleTarget::Cluster(*id))
            }
            PoolKey::Instance(id) => {
                records.extend(self.instances.get(id).cloned().map(Box::new).map(Record::Instance));
                Some(ScheduleTarget::Instance(*id))
            }
            PoolKey::Serverless(..) => None,
        };
        let schedules = target.into_iter().flat_map(|target| self.schedules_for(target));
        records.extend(schedules.cloned().map(Box::new).map(Record::Schedule));
        records.extend(nodes.into_iter().cloned().map(Box::new).map(Record::Node));
        // Jobs of large arrays that are not made yet come as if they were.
        let jobs = jobs.iter().filter_map(|id| self.look_up(*id)).map(Cow::into_owned);
        records.extend(jobs.map(Box::new).map(Record::Job));
        Excerpt { records, now: self.now, is_whole: false }
    }

    fn workspace_of(&self, key: &PoolKey) -> Option<WorkspaceId> {
        Some(match key {
            PoolKey::Cluster(id) => self.clusters.get(id)?.workspace.clone(),
            PoolKey::Instance(id) => self.instances.get(id)?.workspace.clone(),
            PoolKey::Serverless(workspace, ..) => workspace.clone(),
        })
    }

    /// Nodes and jobs of a pool, with all that runs on those nodes.
    fn excerpt_of_pool(&self, key: &PoolKey, also: &[JobId], most: usize) -> (BTreeSet<NodeId>, BTreeSet<JobId>) {
        let (mut nodes, mut jobs) = (BTreeSet::new(), BTreeSet::new());
        if let Some(pool) = self.pools.get(key) {
            nodes.extend(pool.nodes.iter().copied());
            jobs.extend(pool.queue.in_order(most));
            // Those with nodes of their own came before those that wait for some.
            let has_nodes = |id: &&JobId| self.jobs.get(id).is_some_and(|job| !job.own_nodes.is_empty());
            jobs.extend(pool.jobs.iter().take(most).filter(has_nodes));
        }
        let is_here = |id: &&JobId| self.look_up(**id).is_some_and(|job| PoolKey::of_job(&job) == *key);
        jobs.extend(also.iter().filter(is_here));
        nodes.extend(jobs.iter().filter_map(|id| self.jobs.get(id)).flat_map(|job| &job.own_nodes));
        jobs.extend(nodes.iter().filter_map(|id| self.on.get(id)).flat_map(|on| &on.jobs));
        // A part of a job without its node would be nothing to go on from.
        let elsewhere = jobs.iter().filter_map(|id| self.jobs.get(id)).flat_map(|job| &job.allocations);
        nodes.extend(elsewhere.map(|allocation| allocation.node));
        nodes.retain(|id| {
            self.nodes.get(id).is_some_and(|node| !matches!(node.holder, Holder::Job(job) if !jobs.contains(&job)))
        });
        (nodes, jobs)
    }
}
