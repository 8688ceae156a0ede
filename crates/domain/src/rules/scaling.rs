//! Scaling of clusters: towards `clamp(min, busy + demand, max)` and what is kept ready beyond, up at once,
//! down in two phases.

use crate::compute::cluster::{Cluster, ClusterPhase};
use crate::compute::node::Holder;
use crate::compute::{ClusterId, NodeId};
use crate::reason::Reason;
use crate::time::{Mono, Span};
use crate::world::{About, Lack, PoolKey, World};

/// What a cluster goes for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aim {
    pub target: u64,
    pub busy: u64,
    /// Needed by what waits.
    pub demand: u64,
    pub min: u64,
    /// The most.
    pub max: u64,
    /// Idle nodes that are kept ready beyond what is needed.
    pub warm: u64,
}

impl Aim {
    /// So many nodes without those that are only kept ready.
    pub const fn needed(&self) -> u64 {
        self.target - self.warm
    }
}

/// The one formula. A cluster that is paused keeps what is busy; one that is being deleted keeps nothing.
pub fn aim(cluster: &Cluster, busy: u64, demand: u64, now: Mono, keeps_idle: bool) -> Aim {
    let (min, max) = (if keeps_idle { u64::from(cluster.min()) } else { 0 }, u64::from(cluster.scale.max));
    let demand = if cluster.is_active() && !cluster.yields(now) { demand } else { 0 };
    let needed = match cluster.phase {
        ClusterPhase::Deleting { .. } => 0,
        ClusterPhase::Active | ClusterPhase::Paused { .. } => busy.saturating_add(demand).clamp(min, max),
    };
    let is_warm = keeps_idle && cluster.is_active() && !cluster.yields(now);
    // Nodes of the minimum that are idle are ready too.
    let wanted = busy.saturating_add(demand).saturating_add(if is_warm { u64::from(cluster.scale.warm) } else { 0 });
    let warm = wanted.min(max).saturating_sub(needed);
    Aim { target: needed + warm, busy, demand, min, max, warm }
}

impl World {
    /// Adds or removes nodes of a cluster. Says whether nodes were called back, on which something may fit
    /// now.
    pub(super) fn scale_cluster(&mut self, id: ClusterId) -> bool {
        let key = PoolKey::Cluster(id);
        if !self.clusters.contains_key(&id) {
            self.set_pool_wake(&key, None);
            return false;
        }
        self.pool_mut(&key);
        let (Some(cluster), Some(pool)) = (self.clusters.get(&id), self.pools.get(&key)) else { return false };
        let aim = aim(cluster, pool.busy, self.demand(&key), self.now.mono, !self.keeps_no_idle(cluster));
        let yields_until = cluster.yields_until.filter(|until| *until > self.now.mono);
        let live = pool.live;
        let is_deleting = matches!(cluster.phase, ClusterPhase::Deleting { .. });
        let (mut wake, mut why, mut called_back, mut aim) = (None, None, 0, aim);
        // What is only kept ready gives way to what others need.
        if aim.warm > 0 && self.is_needed_elsewhere(&key) {
            aim = Aim { target: aim.needed(), warm: 0, ..aim };
        }
        if live < aim.target {
            (called_back, wake, why) = self.grow(id, &key, aim);
        } else if live > aim.max || is_deleting {
            self.shed(id, &key, aim);
            aim = self.aim_of(id).unwrap_or(aim);
        }
        if self.pools.get(&key).is_some_and(|pool| pool.live > aim.target) {
            wake = self.shrink(id, &key, aim);
        }
        if let Some(until) = yields_until {
            wake = Some(wake.map_or(until, |wake| wake.min(until)));
            let left = until.since(self.now.mono);
            why = Some(Reason::Yielding { left });
        }
        if !self.starved.contains_key(&key) && self.lacks_warm(&key) {
            self.starved.insert(key.clone(), Lack::Warm);
        }
        self.set_pool_wake(&key, wake);
        self.note(id, &key, aim, why);
        self.finish_delete(id);
        called_back > 0
    }

    /// Whether a cluster has fewer nodes than it would keep ready.
    pub(super) fn lacks_warm(&self, key: &PoolKey) -> bool {
        let PoolKey::Cluster(id) = key else { return false };
        let live = self.pools.get(key).map_or(0, |pool| pool.live);
        self.clusters.get(id).is_some_and(|cluster| {
            let busy = self.pools.get(key).map_or(0, |pool| pool.busy);
            let aim = aim(cluster, busy, self.demand(key), self.now.mono, !self.keeps_no_idle(cluster));
            aim.warm > 0 && live < aim.target
        })
    }

    fn aim_of(&self, id: ClusterId) -> Option<Aim> {
        let key = PoolKey::Cluster(id);
        let (cluster, pool) = (self.clusters.get(&id)?, self.pools.get(&key)?);
        Some(aim(cluster, pool.busy, self.demand(&key), self.now.mono, !self.keeps_no_idle(cluster)))
    }

    /// Calls nodes back that are on their way out, then launches what is missing, as far as it may.
    fn grow(&mut self, id: ClusterId, key: &PoolKey, aim: Aim) -> (u64, Option<Mono>, Option<Reason>) {
        let mut called_back = 0;
        let next = |world: &Self| {
            let pool = world.pools.get(key).filter(|pool| pool.live < aim.target)?;
            pool.cordoned.first().copied()
        };
        while let Some(node) = next(self) {
            self.call_back(node);
            called_back += 1;
        }
        let Some(cluster) = self.clusters.get(&id) else { return (called_back, None, None) };
        let (workspace, trouble) = (cluster.workspace.clone(), cluster.trouble.clone());
        let Some(size) = self.sizes.get(&cluster.size).cloned() else { return (called_back, None, None) };
        let (mut added, mut wake, mut why) = (0, None, None);
        while let Some(pool) = self.pools.get(key).filter(|pool| pool.live < aim.target) {
            if pool.nodes.len() as u64 >= aim.max {
                why = Some(Reason::NodesLeaving { leaving: pool.leaving(), max: aim.max });
                break;
            }
            if trouble.not_before > self.now.mono {
                let left = trouble.not_before.since(self.now.mono);
                let last = trouble.history.last().map(|failed| failed.detail.clone()).unwrap_or_else(|| "".into());
                why = Some(Reason::LaunchPause { failures: trouble.failures, last, left });
                wake = Some(trouble.not_before);
                break;
            }
            let is_needed = pool.live < aim.needed();
            let missing = aim.needed().saturating_sub(pool.live);
            let reason = self.blocked(&workspace, None, &size, 1, true).or_else(|| self.spared(key, &size));
            if let Some(reason) = reason {
                // Whatever is only kept ready takes nothing from anybody, and is looked at when something is
                // given back.
                if is_needed {
                    self.starve(key, &reason, missing);
                }
                why = Some(reason);
                break;
            }
            self.launch(&workspace, Holder::Cluster(id), None, &size);
            added += 1;
        }
        if added + called_back > 0 {
            let head = self.pools.get(key).and_then(|pool| pool.queue.first());
            let Aim { busy, demand, min, max, .. } = aim;
            let is_warm = self.pools.get(key).is_some_and(|pool| pool.live > aim.needed());
            let reason = if is_warm && head.is_none() {
                Reason::ScaleWarm { added: added + called_back, warm: aim.warm, busy }
            } else if busy + demand > min || head.is_some() {
                Reason::ScaleUp { added: added + called_back, called_back, busy, demand, max, head }
            } else {
                Reason::ScaleToMin { added: added + called_back, min }
            };
            self.decide(&workspace, About::Cluster(id), reason);
        }
        (called_back, wake, why)
    }

    /// More nodes than allowed: idle ones go at once, busy ones as soon as they are free. Nothing is killed.
    fn shed(&mut self, id: ClusterId, key: &PoolKey, aim: Aim) {
        let Some(cluster) = self.clusters.get(&id) else { return };
        let workspace = cluster.workspace.clone();
        let deleted_by = match &cluster.phase {
            ClusterPhase::Deleting { by } => Some((cluster.name.to_string(), by.clone())),
            _ => None,
        };
        let most = if deleted_by.is_some() { 0 } else { aim.max };
        loop {
            let Some(pool) = self.pools.get(key).filter(|pool| pool.live > most) else { return };
            let reason = match &deleted_by {
                Some((cluster, by)) => Reason::ClusterDeleted { cluster: cluster.clone(), by: by.clone() },
                None => Reason::OverMax { nodes: pool.live, max: aim.max },
            };
            // The longest idle first; then what is not up yet; then the newest.
            let idle = pool.idle.first().map(|(_, node)| *node);
            let live = |node: &&NodeId| self.nodes.get(*node).is_some_and(crate::compute::node::Node::is_live);
            let is_empty = |node: &NodeId| self.on.get(node).is_some_and(|on| on.jobs.is_empty());
            let newest = || {
                let unused = pool.nodes.iter().rev().filter(live).find(|node| is_empty(node));
                unused.or_else(|| pool.nodes.iter().rev().find(live)).copied()
            };
            let Some(node) = idle.or_else(newest) else { return };
            let is_idle = is_empty(&node);
            self.decide(&workspace, About::Cluster(id), reason.clone());
            if is_idle && deleted_by.is_some() {
                self.release(node, reason);
            } else if matches!(
                self.nodes.get(&node).map(|node| &node.phase),
                Some(crate::compute::node::NodePhase::Ready)
            ) {
                self.cordon(node, reason);
            } else {
                self.leave_silently(node, reason);
            }
        }
    }

    /// A node that is not up, or does not answer, cannot drain: it is released if nothing runs there, else
    /// cordoned. One that is silent is reported so again.
    fn leave_silently(&mut self, node: NodeId, reason: Reason) {
        if self.on.get(&node).is_some_and(|on| on.jobs.is_empty()) {
            self.release(node, reason);
        } else {
            self.cordon(node, reason);
        }
    }

    /// More nodes than needed: those that have been idle for long enough go, the longest idle first. Says
    /// when the next one has been.
    fn shrink(&mut self, id: ClusterId, key: &PoolKey, aim: Aim) -> Option<Mono> {
        let cluster = self.clusters.get(&id)?;
        let (workspace, idle_time) = (cluster.workspace.clone(), cluster.scale.idle);
        // What others wait for is not kept in case it might be needed.
        let is_needed = self.is_needed_elsewhere(key);
        let allowed = if is_needed { Span::ZERO } else { idle_time };
        loop {
            let pool = self.pools.get(key).filter(|pool| pool.live > aim.target)?;
            let (since, node) = *pool.idle.first()?;
            let due = since.plus(allowed);
            if due > self.now.mono {
                return Some(due);
            }
            let idle = self.now.mono.since(since);
            let stays = pool.live - 1;
            let reason = if is_needed {
                Reason::NeededElsewhere { idle, stays }
            } else {
                Reason::ScaleDownIdle { idle, allowed: idle_time, stays }
            };
            self.decide(&workspace, About::Cluster(id), reason.clone());
            self.cordon(node, reason);
        }
    }

    /// Writes down what the cluster goes for, when that changes.
    fn note(&mut self, id: ClusterId, key: &PoolKey, aim: Aim, why: Option<Reason>) {
        let (Some(cluster), Some(pool)) = (self.clusters.get(&id), self.pools.get(key)) else { return };
        let wanted = aim.busy.saturating_add(aim.demand);
        let is_resting = pool.live == aim.target && pool.launching == 0;
        let why = why.or_else(|| match &cluster.phase {
            ClusterPhase::Paused { by, .. } => {
                Some(Reason::ClusterPaused { cluster: cluster.name.to_string(), by: by.clone() })
            }
            ClusterPhase::Active if aim.demand > 0 && aim.target == aim.max && wanted > aim.max => {
                Some(Reason::AtMax { max: aim.max, wanted: wanted - aim.max })
            }
            _ if is_resting => Some(Reason::Steady {
                nodes: pool.live,
                busy: aim.busy,
                queued: pool.queue.len() as u64,
                min: aim.min,
                max: aim.max,
            }),
            _ => None,
        });
        let target = u32::try_from(aim.target).unwrap_or(u32::MAX);
        let code = |reason: Option<&Reason>| reason.map(Reason::code);
        let is_same = cluster.plan.target == target && code(cluster.plan.why.as_deref()) == code(why.as_ref());
        if is_same {
            return;
        }
        let workspace = cluster.workspace.clone();
        // What stands in the way belongs in the log; that all is well does not.
        if let Some(reason) = why.as_ref().filter(|reason| reason.kind() == crate::reason::Kind::Wait)
            && code(cluster.plan.why.as_deref()) != Some(reason.code())
        {
            self.decide(&workspace, About::Cluster(id), reason.clone());
        }
        self.note_plan(id, |cluster| {
            cluster.plan.target = target;
            cluster.plan.why = why.map(Box::new);
        });
    }
}
