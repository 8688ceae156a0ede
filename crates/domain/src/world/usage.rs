//! What is held of quotas and capacity, counted as things come and go.

use std::collections::BTreeMap;

use super::pool::Demand;
use super::{Charge, LedgerKey, PoolKey, Running, Site, World};
use crate::compute::job::Job;
use crate::compute::node::{Holder, Node, NodePhase};
use crate::compute::quota::{Held, LimitKey, QuotaHolder, Resource, Scope, Shortage, UseKey};
use crate::compute::size::{Family, SiteName, Size, Tier};
use crate::compute::{ClusterId, InstanceId, NodeId, Resources};
use crate::id::{UserId, WorkspaceId};
use crate::time::Span;

/// The holders that a shortage names.
const NAMED_HOLDERS: usize = 5;

/// How much of one quota is held, and by what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub total: u64,
    pub by: BTreeMap<QuotaHolder, u64>,
}

impl World {
    /// What is held of a quota.
    pub fn used(&self, key: &UseKey) -> u64 {
        if key.resource.is_running() {
            let people = self.people(&key.workspace).filter(|(id, _)| key.person.as_ref().is_none_or(|one| one == *id));
            return people.map(|(_, person)| person.running.of(&key.resource)).sum();
        }
        self.usage.get(key).map_or(0, |usage| usage.total)
    }

    /// All that is held.
    pub fn usage(&self) -> impl Iterator<Item = (&UseKey, &Usage)> {
        self.usage.iter()
    }

    pub fn limits(&self) -> impl Iterator<Item = (&LimitKey, u64)> {
        self.limits.iter().map(|(key, limit)| (key, *limit))
    }

    /// The limit that counts for that use; a person's own before everybody's.
    pub fn limit(&self, key: &UseKey) -> Option<u64> {
        let find = |scope: Scope| {
            let (workspace, resource) = (key.workspace.clone(), key.resource.clone());
            self.limits.get(&LimitKey { workspace, scope, resource }).copied()
        };
        if self.limits.is_empty() {
            return None;
        }
        match &key.person {
            None => find(Scope::Workspace),
            Some(person) => find(Scope::Person(person.clone())).or_else(|| find(Scope::Everybody)),
        }
    }

    /// What is free on a site; nothing if there is no such site.
    pub fn free_capacity(&self, site: &SiteName) -> Resources {
        let total = self.sites.get(site).map_or(Resources::NONE, |site| site.capacity);
        total.minus(self.used_capacity.get(site).copied().unwrap_or_default())
    }

    /// Where nodes are made.
    pub fn sites(&self) -> impl Iterator<Item = &Site> {
        self.sites.values()
    }

    /// What nodes take of a site.
    pub fn used_capacity(&self, site: &SiteName) -> Resources {
        self.used_capacity.get(site).copied().unwrap_or_default()
    }

    /// What a node has cost since its time was last charged, in billionths of the currency. The World knows
    /// only the time of its last step: `later` is how long ago that was.
    pub fn unsettled(&self, node: &Node, later: Span) -> u64 {
        node.price.for_span(self.now.mono.since(node.settled).plus(later))
    }

    /// The same with who pays it.
    pub fn unsettled_charges(&self, node: &Node, later: Span) -> Vec<(LedgerKey, Charge)> {
        let millis = self.now.mono.since(node.settled).plus(later).as_millis();
        self.charges(node, u64::try_from(millis).unwrap_or_default())
    }

    pub(super) fn take_capacity(&mut self, site: &SiteName, shape: Resources) {
        let used = self.used_capacity.entry(site.clone()).or_default();
        *used = used.plus(shape);
    }

    pub(super) fn give_capacity(&mut self, site: &SiteName, shape: Resources) {
        if let Some(used) = self.used_capacity.get_mut(site) {
            *used = used.minus(shape);
        }
    }

    /// Keeps up to date which nodes can be taken back on a site, and what comes back anyway.
    pub(super) fn count_back(&mut self, id: NodeId, is_added: bool) {
        let Some(node) = self.nodes.get(&id) else { return };
        if matches!(node.phase, NodePhase::Reclaiming { .. } | NodePhase::Releasing { .. }) {
            let coming = self.coming_back.entry(node.site.clone()).or_default();
            *coming = if is_added { coming.plus(node.shape) } else { coming.minus(node.shape) };
        } else if node.tier == Tier::Preemptible {
            let nodes = self.preemptible.entry(node.site.clone()).or_default();
            if is_added {
                nodes.insert(id)
            } else {
                nodes.remove(&id)
            };
        }
    }

    pub(super) fn count_node(&mut self, node: &Node, is_added: bool) {
        // An instance holds its quota itself, also between two nodes.
        let holder = match node.holder {
            Holder::Instance(_) => return,
            Holder::Cluster(cluster) => QuotaHolder::Cluster(cluster),
            Holder::Job(_) => QuotaHolder::Serverless,
        };
        self.count_shape(&node.workspace, node.user.as_ref(), &node.family, node.shape, holder, is_added);
    }

    pub(super) fn count_instance(&mut self, id: InstanceId, is_added: bool) {
        let Some(instance) = self.instances.get(&id) else { return };
        let (workspace, owner) = (instance.workspace.clone(), instance.owner.clone());
        let holder = QuotaHolder::Instance(id);
        if instance.has_quota
            && let Some(size) = self.sizes.get(&instance.size)
        {
            let (family, shape) = (size.family.clone(), size.shape);
            self.count_shape(&workspace, Some(&owner), &family, shape, holder, is_added);
        }
        self.count(&workspace, Some(&owner), &Resource::Computes, 1, holder, is_added);
    }

    pub(super) fn count_cluster(&mut self, id: ClusterId, is_added: bool) {
        let Some(cluster) = self.clusters.get(&id) else { return };
        let (workspace, owner) = (cluster.workspace.clone(), cluster.owner.clone());
        self.count(&workspace, Some(&owner), &Resource::Computes, 1, QuotaHolder::Cluster(id), is_added);
    }

    fn count_shape(
        &mut self,
        workspace: &WorkspaceId,
        person: Option<&UserId>,
        family: &Family,
        shape: Resources,
        holder: QuotaHolder,
        is_added: bool,
    ) {
        self.count(workspace, person, &Resource::Cores(family.clone()), shape.cores, holder, is_added);
        if shape.gpus > 0 {
            self.count(workspace, person, &Resource::Gpus, shape.gpus, holder, is_added);
        }
    }

    /// Counts for the workspace and for the person.
    fn count(
        &mut self,
        workspace: &WorkspaceId,
        person: Option<&UserId>,
        resource: &Resource,
        amount: u64,
        holder: QuotaHolder,
        is_added: bool,
    ) {
        for person in [None, person.cloned()].into_iter().take(1 + usize::from(person.is_some())) {
            let key = UseKey { workspace: workspace.clone(), person, resource: resource.clone() };
            let usage = self.usage.entry(key.clone()).or_default();
            let by = usage.by.entry(holder).or_default();
            if is_added {
                usage.total += amount;
                *by += amount;
            } else {
                usage.total = usage.total.saturating_sub(amount);
                *by = by.saturating_sub(amount);
            }
            if *by == 0 {
                usage.by.remove(&holder);
            }
            if usage.by.is_empty() {
                self.usage.remove(&key);
            }
        }
    }

    /// The first quota that would not suffice for `count` more nodes of that size, with its numbers.
    pub fn shortage(
        &self,
        workspace: &WorkspaceId,
        person: Option<&UserId>,
        size: &Size,
        count: u64,
    ) -> Option<Shortage> {
        if self.limits.is_empty() {
            return None;
        }
        quotas_of(workspace, person, size, count).into_iter().find_map(|(key, needed)| {
            let (limit, used) = (self.limit(&key)?, self.used(&key));
            (used.saturating_add(needed) > limit).then(|| self.name_shortage(&key, needed, used, limit))
        })
    }

    /// The limit of running jobs that one more would break, with its numbers.
    pub fn own_limit(&self, job: &Job) -> Option<Shortage> {
        self.run_limits(&job.workspace, &job.owner, |resource, limit, used| {
            let needed = Running::needed(&job.spec).of(resource);
            (needed > 0 && used.saturating_add(needed) > limit).then(|| Shortage {
                resource: resource.clone(),
                is_personal: true,
                needed,
                used,
                limit,
                held_by: Vec::new(),
            })
        })
    }

    /// Looks at each limit of what somebody has running, with what they have.
    pub(crate) fn run_limits<T>(
        &self,
        workspace: &WorkspaceId,
        person: &UserId,
        mut look: impl FnMut(&Resource, u64, u64) -> Option<T>,
    ) -> Option<T> {
        if self.limits.is_empty() {
            return None;
        }
        let running = self.person(workspace, person).map(|person| person.running).unwrap_or_default();
        Resource::RUNNING.into_iter().find_map(|resource| {
            let key = UseKey { workspace: workspace.clone(), person: Some(person.clone()), resource };
            look(&key.resource, self.limit(&key)?, running.of(&key.resource))
        })
    }

    /// The nodes that waiting jobs need, as far as their owners may have so much running.
    pub(crate) fn demand(&self, key: &PoolKey) -> u64 {
        let Some(pool) = self.pools.get(key) else { return 0 };
        let is_limited = self.limits.keys().any(|limit| limit.resource.is_running());
        let (true, PoolKey::Cluster(id)) = (is_limited, key) else { return pool.demand.nodes() };
        let Some(workspace) = self.clusters.get(id).map(|cluster| &cluster.workspace) else { return 0 };
        let mut demand = Demand::default();
        for person in pool.queue.people() {
            let mut left: BTreeMap<Resource, u64> = BTreeMap::new();
            let _: Option<()> = self.run_limits(workspace, person, |resource, limit, used| {
                left.insert(resource.clone(), limit.saturating_sub(used));
                None
            });
            if left.is_empty() {
                pool.queue.wants_of(person).for_each(|wants| demand.add_all(wants, pool.shape));
                continue;
            }
            for spec in pool.queue.jobs_of(person).filter_map(|id| self.spec_of(id)) {
                let needed = Running::needed(spec);
                if left.iter().any(|(resource, left)| needed.of(resource) > *left) {
                    break;
                }
                left.iter_mut().for_each(|(resource, left)| *left -= needed.of(resource));
                demand.add(spec, pool.shape, 1);
            }
        }
        demand.nodes()
    }

    /// A quota that would not suffice even if nothing else were held, and the most nodes that it allows.
    pub fn impossible(
        &self,
        workspace: &WorkspaceId,
        person: Option<&UserId>,
        size: &Size,
        count: u64,
    ) -> Option<(Shortage, u64)> {
        if self.limits.is_empty() {
            return None;
        }
        quotas_of(workspace, person, size, count).into_iter().find_map(|(key, needed)| {
            let limit = self.limit(&key).filter(|limit| needed > *limit)?;
            let shortage = self.name_shortage(&key, needed, self.used(&key), limit);
            let per_node = needed.checked_div(count).unwrap_or(needed).max(1);
            Some((shortage, limit / per_node))
        })
    }

    /// Whether one more compute would be too many.
    pub fn too_many_computes(&self, workspace: &WorkspaceId, person: Option<&UserId>) -> Option<Shortage> {
        [None, person.cloned()].into_iter().take(1 + usize::from(person.is_some())).find_map(|person| {
            let key = UseKey { workspace: workspace.clone(), person, resource: Resource::Computes };
            let (limit, used) = (self.limit(&key)?, self.used(&key));
            (used + 1 > limit).then(|| self.name_shortage(&key, 1, used, limit))
        })
    }

    pub(crate) fn name_shortage(&self, key: &UseKey, needed: u64, used: u64, limit: u64) -> Shortage {
        let mut held: Vec<(u64, QuotaHolder)> = self
            .usage
            .get(key)
            .map(|usage| usage.by.iter().map(|(by, amount)| (*amount, *by)).collect())
            .unwrap_or_default();
        held.sort_by(|a, b| b.cmp(a));
        let held_by =
            held.into_iter().take(NAMED_HOLDERS).map(|(amount, holder)| Held { by: self.holder_name(holder), amount });
        Shortage {
            resource: key.resource.clone(),
            is_personal: key.person.is_some(),
            needed,
            used,
            limit,
            held_by: held_by.collect(),
        }
    }

    /// What a holder is called.
    pub fn holder_name(&self, holder: QuotaHolder) -> String {
        let name = match holder {
            QuotaHolder::Instance(id) => self.instances.get(&id).map(|instance| instance.name.to_string()),
            QuotaHolder::Cluster(id) => self.clusters.get(&id).map(|cluster| cluster.name.to_string()),
            QuotaHolder::Serverless => Some("serverless jobs".into()),
        };
        name.unwrap_or_else(|| "something that is going".into())
    }
}

/// What so many nodes of that size count against, workspace first.
fn quotas_of(workspace: &WorkspaceId, person: Option<&UserId>, size: &Size, count: u64) -> Vec<(UseKey, u64)> {
    let shape = size.shape.times(count);
    let mut keys = Vec::with_capacity(4);
    for person in [None, person.cloned()].into_iter().take(1 + usize::from(person.is_some())) {
        let key = |resource| UseKey { workspace: workspace.clone(), person: person.clone(), resource };
        keys.push((key(Resource::Cores(size.family.clone())), shape.cores));
        if shape.gpus > 0 {
            keys.push((key(Resource::Gpus), shape.gpus));
        }
    }
    keys
}
