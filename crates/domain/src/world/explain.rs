//! Explaining: what something waits for right now, worked out when somebody asks and not before.

use super::pool::{Place, Pool, PoolKey};
use super::{ComputeRef, World};
use crate::compute::instance::InstancePhase;
use crate::compute::job::{Hold, Job, JobPhase, MemberState, Target};
use crate::compute::node::{Node, NodePhase};
use crate::compute::quota::Shortage;
use crate::compute::size::ComputeName;
use crate::compute::{ClusterId, InstanceId, JobId, NodeId, Resources};
use crate::id::WorkspaceId;
use crate::reason::Reason;
use crate::rules::{aim, slots};

impl World {
    /// The instance or cluster of that name.
    pub fn compute(&self, workspace: &WorkspaceId, name: &ComputeName) -> Option<ComputeRef> {
        self.names.get(&(workspace.clone(), name.clone())).copied()
    }

    /// A job's place in its queue, from 1, and how many wait there; none if it does not wait for its turn.
    pub fn position(&self, id: JobId) -> Option<(u64, u64)> {
        let job = self.jobs.get(&id).filter(|job| job.is_eligible())?;
        let pool = self.pools.get(&PoolKey::of_job(job))?;
        let ahead = pool.queue.range(..Place::of(job)).count();
        Some((ahead as u64 + 1, pool.queue.len() as u64))
    }

    /// What a job waits for; nothing while it runs.
    pub fn explain_job(&self, id: JobId) -> Option<Reason> {
        let job = self.jobs.get(&id)?;
        let now = self.now.mono;
        let not_off = job.members.iter().filter(|member| member.state != MemberState::Off).count() as u64;
        match &job.phase {
            JobPhase::Running { .. } => None,
            JobPhase::Starting { .. } => {
                if let Some(pause) = self.engine_pause() {
                    return Some(pause);
                }
                let waiting = job.members.iter().filter(|member| member.state == MemberState::Assigned).count() as u64;
                Some(Reason::Handed { waiting, nodes: job.members.len() as u64 })
            }
            JobPhase::Finalizing { .. } => Some(Reason::Collecting { waiting: not_off }),
            JobPhase::Ending { verdict, .. } => {
                Some(Reason::Ending { waiting: not_off, what: format!("It {}", verdict.phrase()) })
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
                if let crate::compute::cluster::ClusterPhase::Paused { by } = &cluster.phase {
                    return Some(Reason::ClusterPaused { cluster: cluster.name.to_string(), by: by.clone() });
                }
            }
            PoolKey::Instance(id) => {
                let instance = self.instances.get(id)?;
                if !instance.takes_jobs() {
                    let (instance, state) = (instance.name.to_string(), self.instance_state(instance));
                    return Some(Reason::InstanceNotReady { instance, state });
                }
            }
            PoolKey::Serverless(..) => {}
        }
        // One's own quota holds one up wherever one stands.
        if let Some(reason @ Reason::QuotaInUse { shortage: Shortage { is_personal: true, .. } }) =
            &self.explain_own(job.id)
        {
            return Some(reason.clone());
        }
        if pool.queue.first().map(|place| place.job) != Some(job.id) {
            let (position, of) = self.position(job.id)?;
            return Some(Reason::InQueue { position, of });
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
                        let max = self.clusters.get(id).map_or(0, |cluster| u64::from(cluster.scale.max));
                        Some(Reason::NodesBusy { busy: pool.busy, max, shape: job.spec.shape })
                    }
                })
            }
            PoolKey::Instance(id) => {
                let node = self.instances.get(id)?.node?;
                let on = self.on.get(&node)?;
                let (running, slots) = (on.jobs.len() as u64, slots(pool.shape.cores));
                Some(if running < slots {
                    Reason::InstanceFull { needed: Resources { cores: 0, ..job.spec.shape }, free: on.free }
                } else {
                    Reason::SlotsBusy { running, slots }
                })
            }
            PoolKey::Serverless(..) => self.explain_own(job.id).or_else(|| self.engine_pause()),
        }
    }

    /// Why no nodes can be made for a serverless job now.
    pub(crate) fn explain_own(&self, id: JobId) -> Option<Reason> {
        let job = self.jobs.get(&id)?;
        let Target::Serverless(size) = &job.spec.target else { return None };
        let size = self.sizes.get(size)?;
        self.blocked(&job.workspace, Some(&job.owner), size, u64::from(job.spec.nodes), true)
    }

    /// Why a cluster has as many nodes as it has.
    pub fn explain_cluster(&self, id: ClusterId) -> Option<Reason> {
        let cluster = self.clusters.get(&id)?;
        let empty = Pool::default();
        let pool = self.pools.get(&PoolKey::Cluster(id)).unwrap_or(&empty);
        let aim = aim(cluster, pool.busy, pool.demand.nodes(), self.now.mono);
        if let Some(until) = cluster.yields_until.filter(|until| *until > self.now.mono) {
            return Some(Reason::Yielding { left: until.since(self.now.mono) });
        }
        let wanted = aim.busy.saturating_add(aim.demand);
        if let crate::compute::cluster::ClusterPhase::Paused { by } = &cluster.phase {
            return Some(Reason::ClusterPaused { cluster: cluster.name.to_string(), by: by.clone() });
        }
        if pool.live < aim.target {
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
            if let Some(size) = self.sizes.get(&cluster.size)
                && let Some(reason) = self.blocked(&cluster.workspace, None, size, 1, true)
            {
                return Some(reason);
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
            NodePhase::Cordoned { why, .. } | NodePhase::Releasing { why, .. } => Some((**why).clone()),
            NodePhase::Launching { until } => Some(Reason::OnItsWay { left: until.since(self.now.mono) }),
            NodePhase::Ready | NodePhase::Silent { .. } | NodePhase::Unusable => None,
        }
    }
}
