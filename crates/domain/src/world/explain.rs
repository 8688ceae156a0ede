//! Explaining: what something waits for right now, worked out when somebody asks and not before.

use std::borrow::Cow;

use super::pool::{Pool, PoolKey};
use super::{Awaited, ComputeRef, Waiter, World};
use crate::compute::fair_share::{QueueOrder, tenths_of_core_hours};
use crate::compute::instance::InstancePhase;
use crate::compute::job::{AllocationState, Hold, Job, JobPhase, Lane, Target};
use crate::compute::node::{Node, NodePhase, SILENCE_LIMIT, SILENT_AFTER};
use crate::compute::quota::Shortage;
use crate::compute::size::ComputeName;
use crate::compute::{ClusterId, InstanceId, JobId, NodeId, Resources};
use crate::id::{UserId, WorkspaceId};
use crate::reason::Reason;
use crate::rules::aim;

impl World {
    /// The instance or cluster of that name.
    pub fn compute(&self, workspace: &WorkspaceId, name: &ComputeName) -> Option<ComputeRef> {
        self.names.get(&(workspace.clone(), name.clone())).copied()
    }

    /// Whose an instance or a cluster is.
    pub fn compute_owner(&self, compute: ComputeRef) -> Option<&UserId> {
        match compute {
            ComputeRef::Instance(id) => self.instance(id).map(|instance| &instance.owner),
            ComputeRef::Cluster(id) => self.cluster(id).map(|cluster| &cluster.owner),
        }
    }

    /// A job's place in its queue, from 1, and how many wait there; none if it does not wait for its turn.
    pub fn position(&self, id: JobId) -> Option<(u64, u64)> {
        let job = self.look_up(id).filter(|job| job.is_eligible())?;
        let pool = self.pools.get(&PoolKey::of_job(&job))?;
        Some((pool.queue.position(&job)?, pool.queue.len() as u64))
    }

    /// The jobs that wait for another one, or for the whole array that it is the first of; of an array whose
    /// jobs are not made yet, the next one.
    pub fn dependents(&self, id: JobId) -> impl Iterator<Item = Cow<'_, Job>> {
        let waiting =
            [Awaited::Job(id), Awaited::Array(id)].into_iter().filter_map(|awaited| self.dependents.get(&awaited));
        waiting.flatten().filter_map(|waiter| match waiter {
            Waiter::Job(other) => self.look_up(*other),
            Waiter::Array(first) => {
                let array = self.arrays.get(first)?;
                Some(Cow::Owned(array.job(array.rest.first()?.from)))
            }
        })
    }

    /// What a job waits for; nothing while it runs.
    pub fn explain_job(&self, id: JobId) -> Option<Reason> {
        let job = &*self.look_up(id)?;
        let now = self.now.mono;
        let not_off =
            job.allocations.iter().filter(|allocation| allocation.state != AllocationState::Off).count() as u64;
        match &job.phase {
            JobPhase::Running { .. } => job.silent_node().and_then(|node| self.explain_node(node)),
            JobPhase::Starting { .. } => {
                if let Some(pause) = self.engine_pause() {
                    return Some(pause);
                }
                let waiting =
                    job.allocations.iter().filter(|allocation| allocation.state == AllocationState::Assigned).count()
                        as u64;
                Some(Reason::Handed { waiting, nodes: job.allocations.len() as u64 })
            }
            JobPhase::Finalizing { .. } => Some(Reason::Collecting { waiting: not_off }),
            JobPhase::Ending { verdict, .. } => {
                Some(Reason::Ending { waiting: not_off, what: format!("It {}", verdict.phrase()) })
            }
            JobPhase::Queued { .. } if job.held.is_some() => {
                let held = job.held.as_ref()?;
                Some(Reason::OnHold { by: held.by.clone(), why: held.why.clone() })
            }
            JobPhase::Queued { .. } if job.waits_for().next().is_some() => {
                let needs_success = job.waits_for().any(|after| after.needs.needs_success());
                let jobs: Vec<JobId> = job.waits_for().map(|after| after.job).collect();
                let (count, jobs) = (jobs.len() as u64, jobs.into_iter().take(5).collect());
                Some(Reason::WaitsForJobs { jobs, count, needs_success })
            }
            JobPhase::Queued { .. } if job.spec.awaited_environment().is_some() => {
                let environment = job.spec.awaited_environment()?.to_string();
                Some(Reason::EnvironmentComing { environment })
            }
            JobPhase::Queued { hold: Some(hold), .. } => {
                let left = hold.until().since(now);
                Some(match hold {
                    Hold::Retry { after, .. } => {
                        Reason::RetryPause { attempt: job.attempt + 1, after: after.phrase(), left }
                    }
                    Hold::SteppedAside { .. } => {
                        Reason::SteppedAside { needed: u64::from(job.spec.nodes), times: job.steps_aside, left }
                    }
                    Hold::Impossible { why, .. } => (**why).clone(),
                    Hold::Launch { detail, .. } => {
                        Reason::LaunchPause { failures: job.launch_failures, last: detail.clone(), left }
                    }
                })
            }
            JobPhase::Queued { hold: None, gathering } => self.explain_queued(job, gathering.is_some()),
        }
    }

    fn engine_pause(&self) -> Option<Reason> {
        let pause = self.state.pause.as_ref()?;
        Some(Reason::EnginePaused { by: pause.by.clone(), why: pause.why.clone() })
    }

    fn explain_queued(&self, job: &Job, is_gathering: bool) -> Option<Reason> {
        let needed = u64::from(job.spec.nodes);
        if !job.own_nodes.is_empty() {
            let ready =
                job.own_nodes.iter().filter(|node| self.nodes.get(node).is_some_and(Node::takes_jobs)).count() as u64;
            let starting = job.own_nodes.len() as u64 - ready;
            return Some(self.engine_pause().unwrap_or(Reason::NodesStarting { ready, starting, needed }));
        }
        let key = PoolKey::of_job(job);
        // Whoever stops the whole queue comes before the place in it.
        let pool = self.pools.get(&key)?;
        match &key {
            PoolKey::Cluster(id) => {
                let cluster = self.clusters.get(id)?;
                if let crate::compute::cluster::ClusterPhase::Paused { by, .. } = &cluster.phase {
                    return Some(Reason::ClusterPaused { cluster: cluster.name.to_string(), by: by.clone() });
                }
            }
            PoolKey::Instance(id) => {
                let instance = self.instances.get(id)?;
                if let (InstancePhase::Running, Some(draining)) = (&instance.phase, &instance.draining) {
                    let left = draining.until.since(self.now.mono);
                    return Some(Reason::InstanceDraining { instance: instance.name.to_string(), left });
                }
                if !instance.takes_jobs() {
                    let (instance, state) = (instance.name.to_string(), self.instance_state(instance));
                    return Some(Reason::InstanceNotReady { instance, state });
                }
            }
            PoolKey::Serverless(..) => {}
        }
        // One's own limit holds one up wherever one stands, and so does one's own quota.
        if let Some(shortage) = self.own_limit(job).filter(|_| !matches!(key, PoolKey::Instance(_))) {
            return Some(Reason::OwnLimit { shortage });
        }
        if let Some(reason @ Reason::QuotaInUse { shortage: Shortage { is_personal: true, .. } }) =
            &self.explain_own(job.id)
        {
            return Some(reason.clone());
        }
        if pool.queue.first() != Some(job.id) {
            return self.explain_turn(job, pool);
        }
        match &key {
            PoolKey::Cluster(id) => {
                let ready = pool.fitting(job.takes(), job.spec.nodes as usize).len() as u64;
                if is_gathering && let JobPhase::Queued { gathering: Some(since), .. } = job.phase {
                    let left = since.plus(job.gather_limit()).since(self.now.mono);
                    return Some(Reason::Gathering { ready, needed, left });
                }
                self.engine_pause().or_else(|| match self.explain_cluster(*id) {
                    // How many it needs itself, of those on their way.
                    Some(Reason::NodesStarting { starting, .. }) => {
                        Some(Reason::NodesStarting { ready, starting, needed })
                    }
                    Some(reason) if reason.kind() == crate::reason::Kind::Wait => Some(reason),
                    _ => {
                        let reserved = self.reserved_start(&key).filter(|_| self.queue_policy(&key).backfill);
                        if let Some(left) = reserved.map(|at| at.since(self.now.mono)) {
                            return Some(Reason::Reserved { needed, left });
                        }
                        let max = self.clusters.get(id).map_or(0, |cluster| u64::from(cluster.scale.max));
                        Some(Reason::NodesBusy { busy: pool.busy, max, shape: job.spec.shape })
                    }
                })
            }
            PoolKey::Instance(id) => {
                let node = self.instances.get(id)?.node?;
                let on = self.on.get(&node)?;
                let (running, slots) = (on.jobs.len() as u64, pool.shape.slots());
                Some(if running < slots {
                    Reason::InstanceFull { needed: Resources { cores: 0, ..job.spec.shape }, free: on.free }
                } else {
                    Reason::SlotsBusy { running, slots }
                })
            }
            PoolKey::Serverless(..) => self.explain_own(job.id).or_else(|| self.engine_pause()),
        }
    }

    /// Why others come before it.
    fn explain_turn(&self, job: &Job, pool: &Pool) -> Option<Reason> {
        let (position, of) = self.position(job.id)?;
        let people = pool.queue.people();
        let is_shared = pool.queue.order() == QueueOrder::FairShare && job.lane() == Lane::Line && people.len() > 1;
        if !is_shared {
            return Some(Reason::InQueue { position, of });
        }
        let own = self.fair_share_standing(&job.workspace, &job.owner);
        let weight = |person: &UserId| {
            let share = self.person(&job.workspace, person).and_then(|person| person.fair_share);
            u64::from(share.unwrap_or_default().weight)
        };
        Some(Reason::FairQueue {
            position,
            of,
            before: pool.queue.people_before(job),
            used: tenths_of_core_hours(own.used),
            used_by_all: tenths_of_core_hours(own.used_by_all),
            weight: u64::from(own.weight),
            weights: people.map(weight).sum(),
        })
    }

    /// Why no nodes can be made for a serverless job now.
    pub(crate) fn explain_own(&self, id: JobId) -> Option<Reason> {
        let job = self.look_up(id)?;
        let Target::Serverless(size) = &job.spec.target else { return None };
        let size = self.sizes.get(size)?;
        let blocked = self.blocked(&job.workspace, Some(&job.owner), size, u64::from(job.spec.nodes), true);
        blocked.or_else(|| self.spared_for(job.spec.tier, size))
    }

    /// Why a cluster has as many nodes as it has.
    pub fn explain_cluster(&self, id: ClusterId) -> Option<Reason> {
        let cluster = self.clusters.get(&id)?;
        let empty = Pool::default();
        let key = PoolKey::Cluster(id);
        let pool = self.pools.get(&key).unwrap_or(&empty);
        let aim = aim(cluster, pool.busy, self.demand(&key), self.now.mono, !self.keeps_no_idle(cluster));
        if let Some(until) = cluster.yields_until.filter(|until| *until > self.now.mono) {
            return Some(Reason::Yielding { left: until.since(self.now.mono) });
        }
        let wanted = aim.busy.saturating_add(aim.demand);
        if let crate::compute::cluster::ClusterPhase::Paused { by, .. } = &cluster.phase {
            return Some(Reason::ClusterPaused { cluster: cluster.name.to_string(), by: by.clone() });
        }
        if pool.live < aim.needed() {
            let now = self.now.mono;
            if pool.nodes.len() as u64 >= aim.max {
                return Some(Reason::NodesLeaving { leaving: pool.leaving(), max: aim.max });
            }
            if cluster.trouble.not_before > now {
                let last =
                    cluster.trouble.history.last().map(|failed| failed.detail.clone()).unwrap_or_else(|| "".into());
                let left = cluster.trouble.not_before.since(now);
                return Some(Reason::LaunchPause { failures: cluster.trouble.failures, last, left });
            }
            if let Some(size) = self.sizes.get(&cluster.size) {
                let blocked = self.blocked(&cluster.workspace, None, size, 1, true);
                if let Some(reason) = blocked.or_else(|| self.spared(&key, size)) {
                    return Some(reason);
                }
            }
        }
        if aim.demand > 0 && aim.target == aim.max && wanted > aim.max && pool.launching == 0 {
            return Some(Reason::AtMax { max: aim.max, wanted: wanted - aim.max });
        }
        if pool.launching > 0 {
            let (ready, starting) = (pool.live - pool.launching, pool.launching);
            return Some(Reason::NodesStarting { ready, starting, needed: aim.target });
        }
        Some(Reason::Steady {
            nodes: pool.live,
            busy: aim.busy,
            queued: pool.queue.len() as u64,
            min: aim.min,
            max: aim.max,
        })
    }

    /// What an instance waits for; nothing if it rests.
    pub fn explain_instance(&self, id: InstanceId) -> Option<Reason> {
        let instance = self.instances.get(&id)?;
        let left = instance.phase.deadline()?.since(self.now.mono);
        match &instance.phase {
            InstancePhase::Creating { .. } | InstancePhase::Starting { .. } => {
                if let Some(pause) = self.engine_pause() {
                    return Some(pause);
                }
                if instance.node.is_some() {
                    return Some(Reason::OnItsWay { left });
                }
                let trouble = &instance.trouble;
                if trouble.not_before > self.now.mono {
                    let last = trouble.history.last().map(|failed| failed.detail.clone()).unwrap_or_else(|| "".into());
                    let left = trouble.not_before.since(self.now.mono);
                    return Some(Reason::LaunchPause { failures: trouble.failures, last, left });
                }
                let size = self.sizes.get(&instance.size)?;
                let blocked = self.blocked(&instance.workspace, Some(&instance.owner), size, 1, !instance.has_quota);
                Some(blocked.unwrap_or(Reason::OnItsWay { left }))
            }
            InstancePhase::SettingUp { .. }
            | InstancePhase::UserSettingUp { .. }
            | InstancePhase::Restarting { .. } => {
                Some(Reason::SettingUp { state: self.instance_state(instance), left })
            }
            InstancePhase::Stopping { .. } | InstancePhase::Deleting { .. } => {
                instance.node.and_then(|node| self.explain_node(node)).or(Some(Reason::OnItsWay { left }))
            }
            _ => Some(Reason::OnItsWay { left }),
        }
    }

    /// Why a node is on its way out, or what its removal waits for.
    pub fn explain_node(&self, id: NodeId) -> Option<Reason> {
        match &self.nodes.get(&id)?.phase {
            NodePhase::Releasing { since, tries, .. } if *tries > 1 => {
                let waiting = self.now.mono.since(*since);
                Some(Reason::ReleaseUnconfirmed { node: id, tries: *tries, waiting })
            }
            NodePhase::Cordoned { why, .. } | NodePhase::Reclaiming { why, .. } | NodePhase::Releasing { why, .. } => {
                Some((**why).clone())
            }
            NodePhase::Launching { until } => Some(Reason::OnItsWay { left: until.since(self.now.mono) }),
            NodePhase::Silent { until } => {
                let left = until.since(self.now.mono);
                let silent = SILENT_AFTER.plus(SILENCE_LIMIT).minus(left);
                Some(Reason::NodeSilent { node: id, silent, left })
            }
            NodePhase::Unusable => Some(Reason::NodeUnusable { node: id, silent: SILENT_AFTER.plus(SILENCE_LIMIT) }),
            NodePhase::Ready => None,
        }
    }
}
