//! People: what each has running, has used and is meant to have, and where they wait.

use std::collections::{BTreeMap, BTreeSet};

use super::queue::Seat;
use super::{Key, PoolKey, World};
use crate::compute::fair_share::{Amount, COUNTED_AHEAD, FairShare, FairShareRules, QueuePolicy, work_of};
use crate::compute::job::{Job, JobSpec, Target};
use crate::compute::quota::Resource;
use crate::compute::{JobId, Resources};
use crate::id::{UserId, WorkspaceId};
use crate::time::Mono;

/// What somebody's jobs have on nodes now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Running {
    pub jobs: u64,
    /// What they take in all.
    pub shape: Resources,
}

impl Running {
    /// What one job has when it runs.
    pub fn needed(spec: &JobSpec) -> Self {
        Self { jobs: 1, shape: spec.shape.times(u64::from(spec.nodes)) }
    }

    /// How much of a limited thing.
    pub const fn of(&self, resource: &Resource) -> u64 {
        match resource {
            Resource::RunningJobs => self.jobs,
            Resource::RunningCores => self.shape.cores,
            Resource::RunningGpus => self.shape.gpus,
            Resource::Cores(_) | Resource::Gpus | Resource::Computes => 0,
        }
    }
}

/// One person in one workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    /// The record, once there is one.
    pub fair_share: Option<FairShare>,
    pub running: Running,
    /// What that counts for, beside what is settled.
    pub metered: Amount,
    /// The queues in which they have a line, with where it is found there.
    waits_in: BTreeMap<PoolKey, Seat>,
}

impl Person {
    /// Who has the smaller one goes first.
    fn key(&self) -> u128 {
        let share = self.fair_share.unwrap_or_default();
        share.used.plus(self.metered).0 / u128::from(share.weight.max(1))
    }

    /// The same person with what follows from it, whatever their seats.
    pub(super) fn dump(&self) -> (Option<FairShare>, Running, Amount, Vec<PoolKey>) {
        (self.fair_share, self.running, self.metered, self.waits_in.keys().cloned().collect())
    }
}

/// The people of one workspace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Team {
    pub(crate) rules: Option<FairShareRules>,
    pub(crate) people: BTreeMap<UserId, Person>,
}

/// What a job counts for, for its owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    running: Running,
    /// Since when it is metered.
    since: Option<Mono>,
}

impl Counted {
    fn metered(&self, rules: &FairShareRules) -> Amount {
        let ahead = COUNTED_AHEAD.as_millis().unsigned_abs();
        let metered = self.since.map(|since| rules.amount(work_of(self.running.shape), ahead, since));
        metered.unwrap_or_default()
    }
}

/// Somebody's share, for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FairShareStanding {
    /// What they have used lately, with what runs, in thousandths of core-milliseconds.
    pub used: u128,
    /// What everybody in the workspace has.
    pub used_by_all: u128,
    pub weight: u32,
}

impl World {
    /// How use fades in a workspace, and how its serverless queues are served.
    pub fn fair_share_rules(&self, workspace: &WorkspaceId) -> FairShareRules {
        self.teams.get(workspace).and_then(|team| team.rules).unwrap_or_default()
    }

    /// How a queue is served.
    pub fn queue_policy(&self, key: &PoolKey) -> QueuePolicy {
        match key {
            PoolKey::Cluster(id) => self.clusters.get(id).map_or_else(QueuePolicy::default, |cluster| cluster.queue),
            PoolKey::Serverless(workspace, ..) => self.fair_share_rules(workspace).serverless,
            PoolKey::Instance(_) => QueuePolicy::plain(),
        }
    }

    /// Somebody in a workspace, if there is anything to know about them.
    pub fn person(&self, workspace: &WorkspaceId, person: &UserId) -> Option<&Person> {
        self.teams.get(workspace)?.people.get(person)
    }

    /// Everybody of a workspace with a share of their own, something running or something waiting.
    pub fn people(&self, workspace: &WorkspaceId) -> impl Iterator<Item = (&UserId, &Person)> {
        self.teams.get(workspace).into_iter().flat_map(|team| &team.people)
    }

    /// How somebody stands beside the others of a workspace.
    pub fn fair_share_standing(&self, workspace: &WorkspaceId, person: &UserId) -> FairShareStanding {
        let (rules, now) = (self.fair_share_rules(workspace), self.now.mono);
        let used = |person: &Person| rules.faded(person.fair_share.unwrap_or_default().used.plus(person.metered), now);
        let own = self.person(workspace, person);
        FairShareStanding {
            used: own.map_or(0, used),
            used_by_all: self.people(workspace).map(|(_, person)| used(person)).sum(),
            weight: own.and_then(|person| person.fair_share).unwrap_or_default().weight,
        }
    }

    pub(super) fn fair_share_key(&self, workspace: &WorkspaceId, person: &UserId) -> u128 {
        self.person(workspace, person).map_or(0, Person::key)
    }

    /// Changes what is known of a person; their lines move if their share did.
    fn edit_person(&mut self, workspace: &WorkspaceId, person: &UserId, change: impl FnOnce(&mut Person)) {
        let team = self.teams.entry(workspace.clone()).or_default();
        let found = team.people.entry(person.clone()).or_default();
        let before = found.running;
        change(found);
        let key = found.key();
        // Whoever has less running than before may start something again.
        let frees = found.running.jobs < before.jobs || !before.shape.fits(found.running.shape);
        if frees {
            self.dirty.extend(found.waits_in.keys().cloned());
        }
        for (name, seat) in &found.waits_in {
            let Some(pool) = self.pools.get_mut(name) else { continue };
            if self.dirty.contains(name) {
                pool.queue.rekey(*seat, key, frees);
                continue;
            }
            let before = pool.queue.first();
            pool.queue.rekey(*seat, key, frees);
            let after = pool.queue.first();
            // Somebody else is first now. Who needs no less than the one before cannot start either, nor
            // who fits nowhere.
            let needs = |id: Option<JobId>| {
                let id = id?;
                let spec = match self.jobs.get(&id) {
                    Some(job) => &job.spec,
                    None => &self.arrays.range(..=id).next_back()?.1.spec,
                };
                Some((spec.nodes, spec.shape))
            };
            if before != after
                && let (Some((nodes, shape)), Some((more_nodes, more))) = (needs(after), needs(before))
                && (nodes > 1 || nodes < more_nodes || !more.fits(shape))
                && (matches!(name, PoolKey::Serverless(..)) || !pool.fitting(shape, 1).is_empty())
            {
                self.dirty.insert(name.clone());
            }
        }
        if *found == Person::default() {
            team.people.remove(person);
        }
    }

    /// Somebody's line in a queue has come or gone.
    pub(super) fn note_line(&mut self, workspace: &WorkspaceId, person: &UserId, pool: &PoolKey) {
        if matches!(pool, PoolKey::Instance(_)) {
            return;
        }
        let seat = self.pools.get(pool).and_then(|pool| pool.queue.seat_of(person));
        let known = self.person(workspace, person).and_then(|person| person.waits_in.get(pool).copied());
        if seat != known {
            self.edit_person(workspace, person, |person| match seat {
                Some(seat) => drop(person.waits_in.insert(pool.clone(), seat)),
                None => drop(person.waits_in.remove(pool)),
            });
        }
    }

    /// What a job counts for now: nothing while it waits, and nothing on its owner's own instance.
    pub(super) fn counted(job: &Job) -> Counted {
        let has_nodes = !job.is_queued() || !job.own_nodes.is_empty();
        if !has_nodes || matches!(job.spec.target, Target::Instance(_)) {
            return Counted::default();
        }
        Counted { running: Running::needed(&job.spec), since: job.metered }
    }

    pub(super) fn count_job(&mut self, workspace: &WorkspaceId, owner: &UserId, before: Counted, after: Counted) {
        if before == after {
            return;
        }
        let rules = self.fair_share_rules(workspace);
        let (less, more) = (before.metered(&rules), after.metered(&rules));
        self.edit_person(workspace, owner, |person| {
            let running = &mut person.running;
            running.jobs = running.jobs.saturating_sub(before.running.jobs) + after.running.jobs;
            running.shape = running.shape.minus(before.running.shape).plus(after.running.shape);
            person.metered = person.metered.minus(less).plus(more);
        });
    }

    /// A job has used so much of a node for so long.
    pub(crate) fn use_fair_share(&mut self, id: JobId, millis: u64) {
        let Some(job) = self.jobs.get(&id) else { return };
        if matches!(job.spec.target, Target::Instance(_)) || millis == 0 {
            return;
        }
        let (workspace, owner, work) = (job.workspace.clone(), job.owner.clone(), work_of(job.takes()));
        self.rebase_fair_shares(&workspace);
        let amount = self.fair_share_rules(&workspace).amount(work, millis, self.now.mono);
        self.edit_person(&workspace, &owner, |person| {
            let share = person.fair_share.get_or_insert_default();
            share.used = share.used.plus(amount);
        });
        self.changed(Key::FairShare(workspace, owner));
    }

    pub(crate) fn put_fair_share(&mut self, workspace: &WorkspaceId, person: &UserId, share: FairShare) {
        self.edit_person(workspace, person, |person| person.fair_share = Some(share));
        self.changed(Key::FairShare(workspace.clone(), person.clone()));
    }

    /// Other rules from now on. What was used until now counts as much as it did a moment ago.
    pub(crate) fn put_fair_share_rules(&mut self, workspace: &WorkspaceId, rules: FairShareRules) {
        let (before, now) = (self.fair_share_rules(workspace), self.now.mono);
        if before.half_life != rules.half_life {
            let rules = FairShareRules { base: now, ..rules };
            let factor = before.factor(now).max(1);
            // At its base the new factor is one.
            self.refactor(workspace, rules, |amount| Amount((amount.0 / factor).saturating_mul(rules.factor(now))));
        } else {
            self.refactor(workspace, rules, |amount| amount);
        }
    }

    /// Makes all numbers of a workspace smaller when they have grown for long. The order stays as it is.
    pub(crate) fn rebase_fair_shares(&mut self, workspace: &WorkspaceId) {
        let rules = self.fair_share_rules(workspace);
        if let Some(halvings) = rules.rebase_at(self.now.mono) {
            self.refactor(workspace, rules.rebased(halvings), |amount| {
                Amount(amount.0.checked_shr(halvings).unwrap_or_default())
            });
        }
    }

    fn refactor(&mut self, workspace: &WorkspaceId, rules: FairShareRules, change: impl Fn(Amount) -> Amount) {
        self.teams.entry(workspace.clone()).or_default().rules = Some(rules);
        self.changed(Key::FairShareRules(workspace.clone()));
        let everybody: Vec<UserId> = self.people(workspace).map(|(person, _)| person.clone()).collect();
        // What runs is counted anew by the same rules.
        let mut metered: BTreeMap<UserId, Amount> = BTreeMap::new();
        let running: BTreeSet<JobId> = self.on.values().flat_map(|on| on.jobs.iter().copied()).collect();
        for job in running.iter().filter_map(|id| self.jobs.get(id)).filter(|job| job.workspace == *workspace) {
            let sum = metered.entry(job.owner.clone()).or_default();
            *sum = sum.plus(Self::counted(job).metered(&rules));
        }
        for person in everybody {
            let metered = metered.remove(&person).unwrap_or_default();
            let has_share = self.person(workspace, &person).is_some_and(|person| person.fair_share.is_some());
            self.edit_person(workspace, &person, |person| {
                person.metered = metered;
                if let Some(share) = &mut person.fair_share {
                    share.used = change(share.used);
                }
            });
            if has_share {
                self.changed(Key::FairShare(workspace.clone(), person));
            }
        }
    }

    /// Limits have changed: whoever was left out is looked at again.
    pub(crate) fn unpark_everybody(&mut self) {
        for (key, pool) in &mut self.pools {
            if !pool.queue.is_empty() {
                pool.queue.unpark_all();
                self.dirty.insert(key.clone());
            }
        }
    }

    /// A queue is served in another order from now on.
    pub(crate) fn reorder_pool(&mut self, key: &PoolKey, workspace: &WorkspaceId) {
        let order = self.queue_policy(key).order;
        let keys: BTreeMap<UserId, u128> =
            self.people(workspace).map(|(id, person)| (id.clone(), person.key())).collect();
        if let Some(pool) = self.pools.get_mut(key) {
            pool.queue.reorder(order, |person| keys.get(person).copied().unwrap_or(0));
            self.dirty.insert(key.clone());
        }
    }
}
