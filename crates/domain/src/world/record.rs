//! Records: what the store keeps, and how a World is made of them again.

use serde::{Deserialize, Serialize};

use super::{Key, ScheduleEntry, Site, State, UnknownNode, World};
use crate::compute::array::Array;
use crate::compute::budget::{Budget, BudgetKey};
use crate::compute::cluster::Cluster;
use crate::compute::fair_share::{FairShare, FairShareRules};
use crate::compute::idle::IdleRules;
use crate::compute::instance::Instance;
use crate::compute::job::{AllocationState, Job};
use crate::compute::node::Node;
use crate::compute::quota::LimitKey;
use crate::compute::size::Size;
use crate::id::{UserId, WorkspaceId};
use crate::time::Now;

/// One record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Record {
    /// What belongs to the engine as a whole.
    State(State),
    /// A place where nodes are made.
    Site(Site),
    Size(Size),
    Limit(LimitKey, u64),
    /// What a workspace demands of idle shutdown.
    IdleRules(WorkspaceId, IdleRules),
    Budget(BudgetKey, Box<Budget>),
    /// How use fades in a workspace.
    #[serde(rename = "share-rules")]
    FairShareRules(WorkspaceId, FairShareRules),
    /// A person’s share in a workspace.
    #[serde(rename = "share")]
    FairShare(WorkspaceId, UserId, FairShare),
    Instance(Box<Instance>),
    Cluster(Box<Cluster>),
    Node(Box<Node>),
    Job(Box<Job>),
    Array(Box<Array>),
    Schedule(Box<ScheduleEntry>),
    /// Something found and not known.
    Unknown(UnknownNode),
}

impl World {
    /// The record of that name, as it is now.
    pub fn record(&self, key: &Key) -> Option<Record> {
        Some(match key {
            Key::State => Record::State(self.state.clone()),
            Key::Site(name) => Record::Site(self.sites.get(name)?.clone()),
            Key::Size(name) => Record::Size(self.sizes.get(name)?.clone()),
            Key::Limit(limit) => Record::Limit(limit.clone(), *self.limits.get(limit)?),
            Key::IdleRules(workspace) => Record::IdleRules(workspace.clone(), self.idle_rules.get(workspace)?.clone()),
            Key::Budget(key) => Record::Budget(key.clone(), Box::new(self.budgets.get(key)?.clone())),
            Key::FairShareRules(workspace) => {
                Record::FairShareRules(workspace.clone(), self.teams.get(workspace)?.rules?)
            }
            Key::FairShare(workspace, person) => {
                let share = self.person(workspace, person)?.fair_share?;
                Record::FairShare(workspace.clone(), person.clone(), share)
            }
            Key::Instance(id) => Record::Instance(Box::new(self.instances.get(id)?.clone())),
            Key::Cluster(id) => Record::Cluster(Box::new(self.clusters.get(id)?.clone())),
            Key::Node(id) => Record::Node(Box::new(self.nodes.get(id)?.clone())),
            Key::Job(id) => Record::Job(Box::new(self.jobs.get(id)?.clone())),
            Key::Array(first) => Record::Array(Box::new(self.arrays.get(first)?.clone())),
            Key::Schedule(id) => Record::Schedule(Box::new(self.schedules.get(id)?.clone())),
            Key::Unknown(site, name) => Record::Unknown(self.unknown.get(&(site.clone(), name.clone()))?.clone()),
        })
    }

    /// The names of all records.
    pub fn keys(&self) -> Vec<Key> {
        let mut keys = vec![Key::State];
        keys.extend(self.sites.keys().cloned().map(Key::Site));
        keys.extend(self.sizes.keys().cloned().map(Key::Size));
        keys.extend(self.limits.keys().cloned().map(Key::Limit));
        keys.extend(self.idle_rules.keys().cloned().map(Key::IdleRules));
        keys.extend(self.budgets.keys().cloned().map(Key::Budget));
        for (workspace, team) in &self.teams {
            keys.extend(team.rules.map(|_| Key::FairShareRules(workspace.clone())));
            let shares = team.people.iter().filter(|(_, person)| person.fair_share.is_some());
            keys.extend(shares.map(|(person, _)| Key::FairShare(workspace.clone(), person.clone())));
        }
        keys.extend(self.instances.keys().copied().map(Key::Instance));
        keys.extend(self.clusters.keys().copied().map(Key::Cluster));
        keys.extend(self.nodes.keys().copied().map(Key::Node));
        keys.extend(self.jobs.keys().copied().map(Key::Job));
        keys.extend(self.arrays.keys().copied().map(Key::Array));
        keys.extend(self.schedules.keys().copied().map(Key::Schedule));
        keys.extend(self.unknown.keys().cloned().map(|(site, name)| Key::Unknown(site, name)));
        keys
    }

    pub fn records(&self) -> Vec<Record> {
        self.keys().iter().filter_map(|key| self.record(key)).collect()
    }

    /// The World that these records are, in whatever order they come. Nothing is decided yet; the first step
    /// looks at every pool.
    pub fn load(records: impl IntoIterator<Item = Record>, now: Now) -> Self {
        let mut world = Self { now, ..Self::default() };
        let (mut instances, mut clusters, mut nodes, mut jobs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut schedules, mut arrays) = (Vec::new(), Vec::new());
        for record in records {
            match record {
                Record::State(state) => world.state = state,
                Record::Site(site) => drop(world.sites.insert(site.name.clone(), site)),
                Record::Size(size) => drop(world.sizes.insert(size.name.clone(), size)),
                Record::Limit(key, limit) => drop(world.limits.insert(key, limit)),
                Record::IdleRules(workspace, rules) => drop(world.idle_rules.insert(workspace, rules)),
                Record::Budget(key, budget) => world.put_budget(key, *budget),
                Record::FairShareRules(workspace, rules) => {
                    world.teams.entry(workspace).or_default().rules = Some(rules)
                }
                Record::FairShare(workspace, person, share) => world.put_fair_share(&workspace, &person, share),
                Record::Instance(instance) => instances.push(*instance),
                Record::Cluster(cluster) => clusters.push(*cluster),
                Record::Node(node) => nodes.push(*node),
                Record::Job(job) => jobs.push(*job),
                Record::Array(array) => arrays.push(*array),
                Record::Schedule(entry) => schedules.push(*entry),
                Record::Unknown(found) => drop(world.unknown.insert((found.site.clone(), found.name.clone()), found)),
            }
        }
        // In the order in which indexes build on each other.
        clusters.into_iter().for_each(|cluster| world.insert_cluster(cluster));
        instances.into_iter().for_each(|instance| world.insert_instance(instance));
        nodes.into_iter().for_each(|node| world.insert_node(node));
        // What a node has ahead of time is in the order in which it was handed over.
        jobs.sort_by_key(|job| (job.ahead.is_some(), job.when.assigned, job.id));
        for job in jobs {
            for allocation in job.allocations.iter().filter(|allocation| allocation.state != AllocationState::Off) {
                let taken = job.takes();
                world.edit_node(allocation.node, |_, on| match job.ahead {
                    Some(_) => on.add_ahead(job.id),
                    None => on.add(job.id, taken),
                });
            }
            world.insert_job(job);
        }
        arrays.into_iter().for_each(|array| world.insert_array(array));
        schedules.into_iter().for_each(|entry| world.put_schedule(entry));
        world.find_starved();
        world.wall_before = now.wall;
        world.out = super::Outcome::default();
        world
    }
}
