//! Making nodes: whether quota and capacity allow one more, and what it becomes.

use crate::compute::node::{Holder, LAUNCH_LIMIT, Node, NodePhase};
use crate::compute::size::Size;
use crate::compute::{NodeId, Resources};
use crate::id::{UserId, WorkspaceId};
use crate::reason::Reason;
use crate::world::{Key, World};

impl World {
    /// Why `count` more nodes of that size cannot be made now, if so. `checks_quota` is false for what holds
    /// it already.
    pub(crate) fn blocked(
        &self,
        workspace: &WorkspaceId,
        person: Option<&UserId>,
        size: &Size,
        count: u64,
        checks_quota: bool,
    ) -> Option<Reason> {
        if checks_quota && let Some(shortage) = self.shortage(workspace, person, size, count) {
            return Some(Reason::QuotaInUse { shortage });
        }
        let free = self.free_capacity(&size.site);
        if !size.shape.times(count).fits(free) {
            let needed = size.shape.times(count);
            return Some(Reason::CapacityInUse { site: size.site.to_string(), needed, free });
        }
        None
    }

    /// Why so many nodes of that size can never be made, if so: the first two answers of the three. Other
    /// sizes are proposed if such a job fits on them.
    pub(crate) fn never(
        &self,
        workspace: &WorkspaceId,
        person: Option<&UserId>,
        size: &Size,
        count: u64,
        shape: Resources,
    ) -> Option<Reason> {
        if let Some((shortage, valid)) = self.impossible(workspace, person, size, count) {
            return Some(if valid > 0 {
                Reason::QuotaTooSmall { shortage, valid }
            } else {
                let needs = Resources { gpus: shape.gpus.max(size.shape.gpus.min(1)), ..shape };
                let fits = |other: &&Size| {
                    needs.fits(other.shape) && self.impossible(workspace, person, other, count).is_none()
                };
                let mut others: Vec<&Size> = self.sizes.values().filter(fits).collect();
                others.sort_by_key(|other| (std::cmp::Reverse(other.shape.cores), other.price, other.name.clone()));
                let instead = others.into_iter().take(3).map(|other| other.name.to_string()).collect();
                Reason::QuotaNone { shortage, instead }
            });
        }
        let Some(site) = self.sites.get(&size.site) else {
            let known = self.sites.keys().map(ToString::to_string).collect();
            return Some(Reason::UnknownSite { site: size.site.to_string(), known });
        };
        let needed = size.shape.times(count);
        (!needed.fits(site.capacity)).then(|| Reason::CapacityTooSmall {
            site: site.name.to_string(),
            needed,
            total: site.capacity,
        })
    }

    /// Makes a node of that size on its way.
    pub(super) fn launch(
        &mut self,
        workspace: &WorkspaceId,
        holder: Holder,
        user: Option<&UserId>,
        size: &Size,
    ) -> NodeId {
        let tier = match holder {
            Holder::Cluster(cluster) => self.clusters.get(&cluster).map(|cluster| cluster.tier),
            Holder::Job(job) => self.jobs.get(&job).map(|job| job.spec.tier),
            Holder::Instance(_) => None,
        };
        let tier = tier.unwrap_or_default();
        self.state.nodes += 1;
        let id = NodeId(self.state.nodes);
        let now = self.now;
        self.insert_node(Node {
            id,
            workspace: workspace.clone(),
            holder,
            user: user.cloned(),
            size: size.name.clone(),
            family: size.family.clone(),
            site: size.site.clone(),
            shape: size.shape,
            price: size.price,
            tier,
            phase: NodePhase::Launching { until: now.mono.plus(LAUNCH_LIMIT) },
            created: now.wall,
            up: now.mono,
            idle_since: now.mono,
            settled: now.mono,
        });
        self.kick(Key::Node(id));
        self.changed(Key::State);
        id
    }
}
