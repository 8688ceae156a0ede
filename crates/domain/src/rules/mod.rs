//! The rules: how the World answers what comes in. One rule per file; the order in which they are asked is [`World::step`].
//!
//! Ground rules for rules:
//! - they change records through the World's `edit_…` functions only, and never look at all of anything: what is to be
//!   looked at again is a *dirty* pool or a deadline that has passed;
//! - what somebody else must do is never written down. A rule *kicks* the record, and [`effects`] reads from it what is
//!   wanted, now or after a crash;
//! - every decision that people can ask about leaves a [`Decision`](crate::world::Decision) with its reason.

mod cluster;
mod deadlines;
pub mod effects;
mod instance;
mod job;
mod launch;
mod ledger;
mod node;
mod orders;
mod placement;
mod scaling;
mod schedule;
mod serverless;
mod sizes;

pub(crate) use self::placement::slots;
pub(crate) use self::scaling::aim;
use crate::compute::size::SiteName;
use crate::time::Now;
use crate::world::{Input, Outcome, PoolKey, World};

impl World {
    /// Looks at a batch of inputs and at what has become due, and says what follows. The only way to change a World.
    ///
    /// The same World, inputs and clocks give the same outcome, byte for byte.
    pub fn step(&mut self, inputs: &[Input], now: Now) -> Outcome {
        // The clock of what lasts never goes back, whatever the shell says.
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
        self.settle_pools();

        self.out.effects = self.take_effects();
        self.out.wake = if self.state.pause.is_some() { None } else { self.next_deadline() };
        self.out.wake_wall = self.wheel.next_at();
        std::mem::take(&mut self.out)
    }

    /// Looks at every pool in which something happened: first what waits is placed, then the pool grows or shrinks.
    fn settle_pools(&mut self) {
        while let Some(key) = self.dirty.pop_first() {
            self.settle_pool(&key);
            // What the rule itself touched is settled by it; a pool is dirtied again only by another one.
            self.dirty.remove(&key);
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
                self.advance_instance(*instance);
                self.place_on_instance(*instance);
            }
            PoolKey::Serverless(..) => self.serve(key),
        }
        if !was_starved && self.starved.contains(key) {
            // Whoever has idle nodes to spare may have to give them up now.
            let spare = self.pools.iter().filter(|(other, pool)| !pool.idle.is_empty() && *other != key);
            let spare: Vec<PoolKey> = spare.map(|(other, _)| other.clone()).collect();
            self.dirty.extend(spare);
        }
    }

    /// Where the nodes of a pool are made.
    fn site_of(&self, key: &PoolKey) -> Option<&SiteName> {
        let size = match key {
            PoolKey::Cluster(id) => &self.clusters.get(id)?.size,
            PoolKey::Instance(id) => &self.instances.get(id)?.size,
            PoolKey::Serverless(_, size) => size,
        };
        self.sizes.get(size).map(|size| &size.site)
    }

    /// Whether another pool waits for quota or capacity that this one's idle nodes hold.
    fn is_needed_elsewhere(&self, key: &PoolKey) -> bool {
        let mut others = self.starved.iter().filter(|other| *other != key).peekable();
        others.peek().is_some() && {
            let site = self.site_of(key);
            others.any(|other| self.site_of(other) == site)
        }
    }
}
