//! The audit: everything that must always be true of a World, checked the slow way. For tests and
//! `atelier doctor`.

use std::collections::BTreeMap;

use super::{Awaited, OnNode, PoolKey, Record, World};
use crate::compute::cluster::ClusterPhase;
use crate::compute::instance::{InstancePhase, Wish};
use crate::compute::job::{After, AllocationState, JobPhase};
use crate::compute::node::{Holder, NodePhase};
use crate::compute::{JobId, NodeId, Resources};

impl World {
    /// All that is wrong, as sentences for engineers; nothing in a sound World.
    pub fn audit(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        self.audit_jobs(&mut wrong);
        self.audit_arrays(&mut wrong);
        self.audit_nodes(&mut wrong);
        self.audit_computes(&mut wrong);
        self.audit_limits(&mut wrong);
        self.audit_indexes(&mut wrong);
        wrong
    }

    fn audit_jobs(&self, wrong: &mut Vec<String>) {
        let mut expected: BTreeMap<NodeId, Vec<JobId>> = BTreeMap::new();
        for job in self.jobs.values() {
            let parts = job.allocations.iter().filter(|allocation| allocation.state != AllocationState::Off);
            parts.for_each(|allocation| expected.entry(allocation.node).or_default().push(job.id));
            let mut nodes: Vec<NodeId> = job.allocations.iter().map(|allocation| allocation.node).collect();
            nodes.sort_unstable();
            nodes.dedup();
            match &job.phase {
                JobPhase::Queued { .. } if !job.allocations.is_empty() => {
                    wrong.push(format!("{} waits and has allocations", job.id))
                }
                JobPhase::Queued { .. } => {}
                _ if nodes.len() != job.spec.nodes as usize || job.allocations.len() != nodes.len() => {
                    wrong.push(format!("{} needs {} nodes and has {:?}", job.id, job.spec.nodes, job.allocations));
                }
                _ if !self.has_part_left(job.id) => wrong.push(format!("{} is on no node and not over", job.id)),
                _ => {}
            }
            if let Some(gone) = job.waits_for().find(|after| !self.is_awaited_alive(after)) {
                wrong.push(format!("{} waits for {}, which is over", job.id, gone.job));
            }
            if job.held.is_some() && !job.is_queued() {
                wrong.push(format!("{} is held and does not wait", job.id));
            }
            for node in &job.own_nodes {
                if self.nodes.get(node).is_none_or(|node| node.holder != Holder::Job(job.id)) {
                    wrong.push(format!("{} calls {node} its own", job.id));
                }
            }
        }
        for (node, on) in &self.on {
            let mut jobs = on.jobs.clone();
            jobs.sort_unstable();
            if expected.remove(node).unwrap_or_default() != jobs {
                wrong.push(format!("{node} has {jobs:?}, which its jobs do not say"));
            }
        }
        expected
            .into_iter()
            .for_each(|(node, jobs)| wrong.push(format!("{jobs:?} are on {node}, which does not exist")));
    }

    fn is_awaited_alive(&self, after: &After) -> bool {
        match Awaited::by(after) {
            Awaited::Job(id) => self.is_alive(id),
            Awaited::Array(first) => self.arrays.contains_key(&first),
            Awaited::Environment(_) => true,
        }
    }

    fn audit_arrays(&self, wrong: &mut Vec<String>) {
        for array in self.arrays.values() {
            let first = array.first;
            let mut next = 0;
            for stretch in &array.rest {
                // Two stretches that touch would be one.
                let is_apart = stretch.from > next || (next == 0 && stretch.from == 0);
                if stretch.count == 0
                    || !is_apart
                    || u64::from(stretch.from) + u64::from(stretch.count) > array.count.into()
                {
                    wrong.push(format!("the array of {first} has the rest {:?}", array.rest));
                    break;
                }
                next = stretch.from + stretch.count;
                let ids = array.id(stretch.from)..array.id(next);
                if let Some((made, _)) = self.jobs.range(ids).next() {
                    wrong.push(format!("{made} is made and is not"));
                }
            }
            if array.rest.is_empty() && !self.members.contains_key(&first) {
                wrong.push(format!("the array of {first} is over and still there"));
            }
            if let Some(gone) = array.waits_for().find(|after| !array.rest.is_empty() && !self.is_awaited_alive(after))
            {
                wrong.push(format!("the array of {first} waits for {}, which is over", gone.job));
            }
        }
    }

    fn has_part_left(&self, id: JobId) -> bool {
        self.jobs
            .get(&id)
            .is_some_and(|job| job.allocations.iter().any(|allocation| allocation.state != AllocationState::Off))
    }

    fn audit_nodes(&self, wrong: &mut Vec<String>) {
        let mut used: BTreeMap<_, Resources> = BTreeMap::new();
        for node in self.nodes.values() {
            let sum = used.entry(node.site.clone()).or_default();
            *sum = sum.plus(node.shape);
            let Some(on) = self.on.get(&node.id) else {
                wrong.push(format!("{} has no index", node.id));
                continue;
            };
            let taken = on
                .jobs
                .iter()
                .filter_map(|job| self.jobs.get(job))
                .fold(Resources::NONE, |sum, job| sum.plus(job.takes()));
            if !taken.fits(node.shape) || on.free != node.shape.minus(taken) {
                wrong.push(format!("{} has {} of {} free and {taken} taken", node.id, on.free, node.shape));
            }
            match node.holder {
                Holder::Instance(id) => {
                    let instance = self.instances.get(&id);
                    if instance.is_none_or(|instance| instance.node != Some(node.id)) {
                        wrong.push(format!("{} is not the node of {id}", node.id));
                    }
                    if on.jobs.len() as u64 > node.shape.slots() {
                        wrong.push(format!("{} runs {} jobs", node.id, on.jobs.len()));
                    }
                }
                Holder::Cluster(id) if !self.clusters.contains_key(&id) => {
                    wrong.push(format!("{} belongs to nobody", node.id))
                }
                Holder::Cluster(_) => {}
                Holder::Job(id) => {
                    let is_wanted = self.jobs.get(&id).is_some_and(|job| job.own_nodes.contains(&node.id));
                    if !is_wanted && !matches!(node.phase, NodePhase::Releasing { .. }) {
                        wrong.push(format!("{} was made for {id}, which does not know it", node.id));
                    }
                }
            }
        }
        for (site, used) in used {
            let capacity = self.sites.get(&site).map_or(Resources::NONE, |site| site.capacity);
            if !used.fits(capacity) {
                wrong.push(format!("{site} has {capacity} and {used} are used"));
            }
        }
    }

    fn audit_computes(&self, wrong: &mut Vec<String>) {
        for instance in self.instances.values() {
            let is_resting = matches!(
                instance.phase,
                InstancePhase::Stopped | InstancePhase::Resizing { .. } | InstancePhase::Transferring { .. }
            );
            if is_resting && instance.node.is_some() {
                wrong.push(format!("{} rests and has a node", instance.id));
            }
            let is_planned =
                instance.postponed.is_some() || instance.draining.is_some() || !instance.notices.is_empty();
            if instance.wish != Wish::Run && is_planned {
                wrong.push(format!("{} is not to run and has a stop ahead", instance.id));
            }
            if instance.draining.is_some() && self.jobs_on(instance) == 0 {
                wrong.push(format!("{} waits for jobs that it has not", instance.id));
            }
            if instance.node.is_some() && !instance.has_quota {
                wrong.push(format!("{} has a node and no quota", instance.id));
            }
            if let Some(node) = instance.node
                && !self.nodes.contains_key(&node)
            {
                wrong.push(format!("{} has {node}, which does not exist", instance.id));
            }
        }
        for cluster in self.clusters.values() {
            let Some(pool) = self.pools.get(&PoolKey::Cluster(cluster.id)) else { continue };
            if matches!(cluster.phase, ClusterPhase::Deleting { .. }) && !pool.queue.is_empty() {
                wrong.push(format!("{} is being deleted and has a queue", cluster.id));
            }
            if pool.live > u64::from(cluster.scale.max) {
                wrong.push(format!("{} has {} nodes and at most {}", cluster.id, pool.live, cluster.scale.max));
            }
        }
    }

    fn audit_limits(&self, wrong: &mut Vec<String>) {
        for (key, usage) in &self.usage {
            if let Some(limit) = self.limit(key)
                && usage.total > limit
            {
                wrong.push(format!("{key:?}: {} held and {limit} allowed", usage.total));
            }
        }
    }

    /// The indexes are what they would be if the World were loaded anew.
    fn audit_indexes(&self, wrong: &mut Vec<String>) {
        let fresh = Self::load(self.records(), self.now);
        let mut check = |what: &str, is_same: bool| {
            if !is_same {
                wrong.push(format!("the index of {what} is off"));
            }
        };
        check("names", self.names == fresh.names);
        check("usage", self.usage == fresh.usage);
        check("nodes", sorted(&self.on) == sorted(&fresh.on));
        let used = |world: &Self| {
            let used = world.used_capacity.iter().filter(|(_, used)| **used != Resources::NONE);
            used.map(|(site, used)| (site.clone(), *used)).collect::<Vec<_>>()
        };
        check("capacity", used(self) == used(&fresh));
        check("schedules", self.by_target == fresh.by_target);
        let looks = |world: &Self| world.instances.keys().map(|id| world.looks.at(id)).collect::<Vec<_>>();
        check("stops to come", looks(self) == looks(&fresh));
        let own = |world: &Self| {
            let pools = world.pools.iter().filter(|(_, pool)| !pool.is_empty());
            pools
                .map(|(key, pool)| {
                    let idle: Vec<NodeId> = pool.idle.iter().map(|(_, node)| *node).collect();
                    let free: Vec<NodeId> = pool.free.values().flatten().copied().collect();
                    let counts = [pool.live, pool.busy, pool.launching, pool.demand.nodes()];
                    let jobs = (pool.arrays.clone(), pool.unmade, pool.ends.clone());
                    (key.clone(), pool.queue.dump(), counts, idle, free, jobs)
                })
                .collect::<Vec<_>>()
        };
        check("pools", own(self) == own(&fresh));
        check("queues", self.pools.values().all(|pool| pool.queue.is_sound()));
        let people = |world: &Self| {
            let teams = world.teams.iter().filter(|(_, team)| !team.people.is_empty());
            let people = teams.flat_map(|(workspace, team)| team.people.iter().map(move |found| (workspace, found)));
            people.map(|(workspace, (id, person))| (workspace.clone(), id.clone(), person.dump())).collect::<Vec<_>>()
        };
        let back = |world: &Self| {
            let sites = world.preemptible.iter().filter(|(_, nodes)| !nodes.is_empty());
            let coming = world.coming_back.iter().filter(|(_, coming)| **coming != Resources::NONE);
            let coming: Vec<_> = coming.map(|(site, coming)| (site.clone(), *coming)).collect();
            (sites.map(|(site, nodes)| (site.clone(), nodes.clone())).collect::<Vec<_>>(), coming)
        };
        check("what can be taken back", back(self) == back(&fresh));
        check("dependents", self.dependents == fresh.dependents);
        check("members", self.members == fresh.members);
        check("what nodes cost", self.burns == fresh.burns);
        let ends = |world: &Self| world.budgets.keys().map(|key| world.budget_ends.at(key)).collect::<Vec<_>>();
        check("months", ends(self) == ends(&fresh));
        check("people", people(self) == people(&fresh));
        check("deadlines", self.due_records() == fresh.due_records());
    }

    /// The deadlines of records; pools set theirs when they are looked at.
    fn due_records(&self) -> Vec<&(crate::time::Mono, super::Due)> {
        self.deadlines.iter().filter(|(_, due)| !matches!(due, super::Due::Pool(_) | super::Due::Budgets(_))).collect()
    }

    /// A sum over all records, to compare two Worlds cheaply: the same World gives the same number.
    pub fn fingerprint(&self) -> u64 {
        self.records().iter().fold(0xcbf2_9ce4_8422_2325, |hash, record: &Record| {
            format!("{record:?}")
                .bytes()
                .fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
        })
    }
}

fn sorted(on: &BTreeMap<NodeId, OnNode>) -> Vec<(NodeId, Vec<JobId>, Resources)> {
    on.iter()
        .map(|(node, on)| {
            let mut jobs = on.jobs.clone();
            jobs.sort_unstable();
            (*node, jobs, on.free)
        })
        .collect()
}
