//! Taking back: dedicated work that lacks room on a site gets it from preemptible nodes, with notice. What
//! ran there goes back to the queue, and whatever is preemptible asks for no room as long as dedicated work
//! waits for it.

use crate::compute::job::{Job, Verdict};
use crate::compute::node::{Holder, NodePhase, RECLAIM_GRACE_MOST};
use crate::compute::size::{Size, Tier};
use crate::compute::verb::JobVerb;
use crate::compute::{JobId, NodeId, Resources};
use crate::reason::Reason;
use crate::text::Problem;
use crate::time::Span;
use crate::world::{About, Answer, Command, Key, Lack, PoolKey, World};

impl World {
    /// Whose work waits in a pool.
    pub(super) fn tier_of(&self, key: &PoolKey) -> Tier {
        match key {
            PoolKey::Cluster(id) => self.clusters.get(id).map(|cluster| cluster.tier).unwrap_or_default(),
            PoolKey::Instance(_) => Tier::Dedicated,
            PoolKey::Serverless(_, _, tier) => *tier,
        }
    }

    /// Why a preemptible cluster makes no node although there is room: dedicated work waits for it.
    pub(crate) fn spared(&self, key: &PoolKey, size: &Size) -> Option<Reason> {
        self.spared_for(self.tier_of(key), size)
    }

    /// The same for work of a tier.
    pub(crate) fn spared_for(&self, tier: Tier, size: &Size) -> Option<Reason> {
        if tier == Tier::Dedicated {
            return None;
        }
        let lacks = |key: &PoolKey, lack: &Lack| {
            self.tier_of(key) == Tier::Dedicated && matches!(lack, Lack::Room(site) if *site == size.site)
        };
        let waiting = self.starved.iter().filter(|(key, lack)| lacks(key, lack)).count() as u64;
        (waiting > 0).then(|| Reason::RoomForDedicated { site: size.site.to_string(), waiting })
    }

    /// Takes back so many preemptible nodes that what is needed will be free, if that is possible at all.
    pub(super) fn reclaim_for(&mut self, key: &PoolKey, needed: Resources) {
        if self.tier_of(key) != Tier::Dedicated {
            return;
        }
        let Some(size) = self.size_of(key) else { return };
        let (site, one) = (size.site.clone(), size.shape);
        let missing = |world: &Self| {
            let coming = world.coming_back.get(&site).copied().unwrap_or_default();
            needed.minus(world.free_capacity(&site).plus(coming))
        };
        let shape_of = |world: &Self, id: &NodeId| world.nodes.get(id).map_or(Resources::NONE, |node| node.shape);
        while missing(self) != Resources::NONE {
            let Some(nodes) = self.preemptible.get(&site).filter(|nodes| !nodes.is_empty()) else { return };
            let all = nodes.iter().fold(Resources::NONE, |sum, id| sum.plus(shape_of(self, id)));
            // Nobody is sent away for what would not suffice for a single node anyway.
            let coming = self.coming_back.get(&site).copied().unwrap_or_default();
            if !one.fits(self.free_capacity(&site).plus(coming).plus(all)) {
                return;
            }
            // Empty ones first, then the newest: least is lost there.
            let is_empty = |id: &&NodeId| self.on.get(id).is_some_and(|on| on.jobs.is_empty());
            let Some(victim) = nodes.iter().rev().find(is_empty).or_else(|| nodes.last()).copied() else { return };
            let grace = self.notice_on(victim);
            self.reclaim(victim, Reason::NodeReclaimed { node: victim, site: site.to_string(), grace });
        }
    }

    /// How long what runs on a node gets to end when the node is taken back.
    fn notice_on(&self, id: NodeId) -> Span {
        let jobs = self.on.get(&id).into_iter().flat_map(|on| &on.jobs).filter_map(|id| self.jobs.get(id));
        jobs.map(|job: &Job| job.spec.grace.min(RECLAIM_GRACE_MOST)).max().unwrap_or(Span::ZERO)
    }

    /// Tells what runs on a node to end, and releases the node as soon as nothing is left there.
    fn reclaim(&mut self, id: NodeId, why: Reason) {
        let Some(node) = self.nodes.get(&id) else { return };
        let (workspace, holder) = (node.workspace.clone(), node.holder);
        let jobs = self.on.get(&id).map(|on| on.jobs.clone()).unwrap_or_default();
        self.decide(&workspace, About::Node(id), why.clone());
        if jobs.is_empty() {
            self.release(id, why);
            // A job whose own node is taken back before it began gives the others back too, and waits again.
            if let Holder::Job(job) = holder {
                self.give_up_nodes(job);
            }
            return;
        }
        let until = self.now.mono.plus(self.notice_on(id)).plus(crate::compute::job::KILL_LIMIT);
        self.edit_node(id, |node, _| node.phase = NodePhase::Reclaiming { why: Box::new(why), until });
        self.kick(Key::Node(id));
        for job in jobs {
            self.end_job(job, Verdict::Preempted { node: id });
        }
    }

    /// The nodes that were made for a waiting job are released.
    fn give_up_nodes(&mut self, id: JobId) {
        let Some(job) = self.jobs.get(&id).filter(|job| job.is_queued()) else { return };
        for node in job.own_nodes.clone() {
            self.release(node, Reason::JobDone { job: id });
        }
        self.edit_job(id, |job| job.own_nodes.clear());
    }

    pub(super) fn evict_job(&mut self, command: &Command, id: JobId) -> Result<Answer, Reason> {
        if self.own_job(command, id, JobVerb::Evict)? == crate::compute::verb::Legality::Already {
            return Ok(Answer::Already);
        }
        let Some(job) = self.jobs.get(&id) else { return Err(Reason::IsOver { job: id }) };
        let Some(node) = job.allocations.first().map(|allocation| allocation.node) else {
            return Err(Reason::IsOver { job: id });
        };
        let (workspace, verdict) = (job.workspace.clone(), Verdict::Preempted { node });
        let grace = job.grace_for(&verdict);
        self.decide(&workspace, About::Job(id), Reason::Evicted { by: command.name.clone(), grace });
        self.end_job(id, verdict);
        Ok(Answer::Done)
    }

    pub(super) fn evict_node(&mut self, command: &Command, id: NodeId) -> Result<Answer, Reason> {
        let found = self.nodes.get(&id).filter(|node| node.workspace == command.workspace);
        let Some(node) = found else { return Err(Reason::NotFound { what: id.to_string() }) };
        if matches!(node.holder, Holder::Instance(_)) {
            let message =
                format!("{id} is the machine of an instance; only nodes of clusters and of jobs are taken back.");
            return Err(Reason::invalid(Problem::new("node", message)));
        }
        if matches!(node.phase, NodePhase::Reclaiming { .. } | NodePhase::Releasing { .. }) {
            return Ok(Answer::Already);
        }
        let grace = self.notice_on(id);
        self.reclaim(id, Reason::Evicted { by: command.name.clone(), grace });
        Ok(Answer::Done)
    }
}
