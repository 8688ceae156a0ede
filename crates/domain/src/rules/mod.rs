//! The rules: how the World answers what comes in. One rule per file; the order in which they are asked is
//! [`World::step`].
//!
//! Ground rules for rules:
//! - they change records through the World's `edit_…` functions only, and never look at all of anything: what
//!   is to be looked at again is a *dirty* pool or a deadline that has passed;
//! - what somebody else must do is never written down. A rule *kicks* the record, and [`effects`] reads from
//!   it what is wanted, now or after a crash;
//! - every decision that people can ask about leaves a [`Decision`](crate::world::Decision) with its reason.

mod ahead;
mod arrays;
mod backfill;
mod budgets;
mod cluster;
mod deadlines;
mod dependencies;
pub mod effects;
mod fair_shares;
mod instance;
mod job;
mod launch;
mod ledger;
mod node;
mod orders;
mod placement;
mod reclaim;
mod reports;
mod scaling;
mod schedule;
mod serverless;
mod sizes;
mod stops;
mod turns;

use std::collections::BTreeSet;

pub(crate) use self::scaling::aim;
use crate::compute::quota::Resource;
use crate::compute::size::{Size, Tier};
use crate::reason::Reason;
use crate::time::Now;
use crate::world::{Input, Lack, Outcome, PoolKey, World};

impl World {
    /// Looks at a batch of inputs and at what has become due, and says what follows. The only way to change a
    /// World.
    ///
    /// The same World, inputs and clocks give the same outcome, byte for byte.
    pub fn step(&mut self, inputs: &[Input], now: Now) -> Outcome {
        // The clock of what lasts never goes back, whatever the shell says.
        self.wall_before = self.now.wall;
        self.now = Now { wall: now.wall, mono: now.mono.max(self.now.mono) };
        self.out = Outcome::default();

        for input in inputs {
            let reply = match input {
                Input::Command(command) => Some(self.obey(command)),
                Input::Report(report) => {
                    self.hear(report);
                    None
                }
            };
            self.out.replies.push(reply);
        }
        self.meet_deadlines();
        self.fire_schedules();
        self.look_at_stops();
        self.settle_pools();
        self.settle_budgets();
        // A budget that is spent, or no longer, changes what clusters keep.
        self.settle_pools();

        self.out.effects = self.take_effects();
        // While acting is paused only planning goes on.
        self.out.wake = if self.state.pause.is_some() { self.next_pool_wake() } else { self.next_deadline() };
        self.out.wake_wall =
            [self.wheel.next_at(), self.looks.next_at(), self.budget_ends.next_at()].into_iter().flatten().min();
        std::mem::take(&mut self.out)
    }

    /// Looks at every pool in which something happened: first what waits is placed, then the pool grows or
    /// shrinks.
    fn settle_pools(&mut self) {
        self.settle_dependents();
        while let Some(key) = self.dirty.pop_first() {
            self.settle_pool(&key);
            // What the rule itself touched is settled by it; a pool is dirtied again only by another one.
            self.dirty.remove(&key);
            self.settle_dependents();
        }
    }

    fn settle_pool(&mut self, key: &PoolKey) {
        let was_starved = self.starved.remove(key);
        match key {
            PoolKey::Cluster(cluster) => {
                self.place_jobs(key);
                if self.scale_cluster(*cluster) {
                    // Nodes were called back, so something may fit now.
                    self.place_jobs(key);
                }
            }
            PoolKey::Instance(instance) => {
                self.review_stops(*instance);
                self.advance_instance(*instance);
                self.place_on_instance(*instance);
            }
            PoolKey::Serverless(..) => self.serve(key),
        }
        let lacks_room = |lack: Option<&Lack>| matches!(lack, Some(Lack::Room(_)));
        if lacks_room(was_starved.as_ref()) && !lacks_room(self.starved.get(key)) {
            // Whoever left the room to this one may have it now.
            self.wake_starved();
        }
        if let Some(lack) = self.starved.get(key).cloned()
            && was_starved.as_ref() != Some(&lack)
        {
            // Whoever has idle nodes to spare may have to give them up now.
            let spare = self.pools.iter().filter(|(other, pool)| !pool.idle.is_empty() && *other != key);
            let spare = spare.filter(|(other, _)| self.could_give(other, &lack)).map(|(other, _)| other.clone());
            let spare: Vec<PoolKey> = spare.collect();
            self.dirty.extend(spare);
        }
    }

    /// Notes what a pool lacks. It is looked at again when something is given back.
    fn starve(&mut self, key: &PoolKey, why: &Reason, times: u64) {
        if let Some(lack) = self.lack_in(key, why) {
            if let Reason::CapacityInUse { needed, .. } = why {
                self.reclaim_for(key, needed.times(times.max(1)));
            }
            self.starved.insert(key.clone(), lack);
        }
    }

    fn lack_in(&self, key: &PoolKey, why: &Reason) -> Option<Lack> {
        match why {
            Reason::CapacityInUse { .. } | Reason::RoomForDedicated { .. } => {
                self.size_of(key).map(|size| Lack::Room(size.site.clone()))
            }
            Reason::QuotaInUse { shortage } if shortage.is_personal => Some(Lack::OwnQuota),
            Reason::QuotaInUse { shortage } => {
                let workspace = match key {
                    PoolKey::Cluster(id) => self.clusters.get(id)?.workspace.clone(),
                    PoolKey::Instance(id) => self.instances.get(id)?.workspace.clone(),
                    PoolKey::Serverless(workspace, ..) => workspace.clone(),
                };
                Some(Lack::Quota(workspace, shortage.resource.clone()))
            }
            _ => None,
        }
    }

    /// What the nodes of a pool are.
    fn size_of(&self, key: &PoolKey) -> Option<&Size> {
        let size = match key {
            PoolKey::Cluster(id) => &self.clusters.get(id)?.size,
            PoolKey::Instance(id) => &self.instances.get(id)?.size,
            PoolKey::Serverless(_, size, _) => size,
        };
        self.sizes.get(size)
    }

    /// Whether an idle node of this pool holds what another one lacks.
    fn could_give(&self, key: &PoolKey, lack: &Lack) -> bool {
        let (PoolKey::Cluster(id), Some(size)) = (key, self.size_of(key)) else { return false };
        match lack {
            Lack::Room(site) => size.site == *site,
            Lack::Quota(workspace, resource) => {
                let counts = match resource {
                    Resource::Cores(family) => size.family == *family,
                    Resource::Gpus => size.shape.gpus > 0,
                    Resource::Computes | Resource::RunningJobs | Resource::RunningCores | Resource::RunningGpus => {
                        false
                    }
                };
                counts && self.clusters.get(id).is_some_and(|cluster| cluster.workspace == *workspace)
            }
            Lack::OwnQuota | Lack::Warm => false,
        }
    }

    /// Whether another pool waits for quota or room that this one's idle nodes hold.
    fn is_needed_elsewhere(&self, key: &PoolKey) -> bool {
        let takes = |other: &PoolKey| self.tier_of(key) == Tier::Preemptible || self.tier_of(other) == Tier::Dedicated;
        self.starved.iter().any(|(other, lack)| other != key && takes(other) && self.could_give(key, lack))
    }

    /// Works out anew what every pool lacks, without deciding anything: a World that was loaded knows it
    /// again.
    pub(crate) fn find_starved(&mut self) {
        // A compute without nodes and jobs has no pool yet, and may want its first node.
        let clusters = self.clusters.keys().copied().map(PoolKey::Cluster);
        let instances = self.instances.keys().copied().map(PoolKey::Instance);
        let serverless = self.pools.keys().filter(|key| matches!(key, PoolKey::Serverless(..))).cloned();
        let lacks = clusters.chain(instances).chain(serverless).filter_map(|key| {
            let why = match &key {
                PoolKey::Cluster(id) => self.explain_cluster(*id),
                PoolKey::Instance(id) => self.explain_instance(*id),
                PoolKey::Serverless(..) => {
                    self.next_to_serve(&key, &BTreeSet::new()).and_then(|job| self.explain_own(job))
                }
            };
            let lack = why.and_then(|why| self.lack_in(&key, &why));
            let lack = lack.or_else(|| self.lacks_warm(&key).then_some(Lack::Warm))?;
            Some((key, lack))
        });
        self.starved = lacks.collect();
    }
}
