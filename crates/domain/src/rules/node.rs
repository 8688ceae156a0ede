//! Nodes: what drivers and agents say about them, and the two ways out.
//!
//! A node leaves in two phases. *Cordoned*, it takes no new jobs and can be called back. *Released*, the driver removes
//! it, and only the driver's word that it is gone ends it: what may still run is never forgotten.

use crate::compute::cluster::FailedLaunch;
use crate::compute::idle::Source;
use crate::compute::instance::InstancePhase;
use crate::compute::job::{JobPhase, MemberState, Verdict};
use crate::compute::node::{
    DRAIN_LIMIT, Holder, LAUNCH_LIMIT, NodePhase, RELEASE_ALARM, RELEASE_RETRY, RELEASE_RETRY_MOST, SILENCE_LIMIT,
};
use crate::compute::size::SiteName;
use crate::compute::{JobId, NodeId};
use crate::reason::Reason;
use crate::text::Text;
use crate::time::Mono;
use crate::world::{About, FoundNode, Key, Report, Site, UnknownNode, World};

/// No driver names things longer than this; what claims to be is not taken up.
const MAX_FOUND_NAME: usize = 1_000;

impl World {
    /// Takes a report. Whatever is old, doubled or about things that are gone changes nothing.
    pub(super) fn hear(&mut self, report: &Report) {
        match report {
            Report::Site { site, capacity } => {
                let known = Site { name: site.clone(), capacity: *capacity };
                if self.sites.get(site) != Some(&known) {
                    self.sites.insert(site.clone(), known);
                    self.changed(Key::Site(site.clone()));
                    self.wake_starved();
                }
            }
            Report::Found { site, nodes, as_of } => self.compare(site, nodes, *as_of),
            Report::Absent { away } => self.resume_after(*away),
            Report::NodeUp(node) => self.node_up(*node),
            Report::LaunchFailed { node, detail } => self.launch_failed(*node, detail),
            Report::NodeSilent(node) => self.node_silent(*node),
            Report::NodeDrained(node) => self.node_drained(*node),
            Report::NodePreempted(node) => {
                let id = *node;
                self.lose_node(id, Reason::NodePreempted { node: id }, |node| Verdict::Preempted { node });
            }
            Report::NodeGone(node) => self.node_gone(*node),
            Report::JobStarted(part) => self.job_started(*part),
            Report::JobGivenBack(part) => self.job_given_back(*part),
            Report::JobRefused { part, detail } => self.job_refused(*part, detail),
            Report::JobExited { part, exit } => self.job_exited(*part, *exit),
            Report::JobOff { part, exit } => self.job_off(*part, *exit),
            Report::SetUp { instance, generation, failure } => {
                self.set_up_done(*instance, *generation, failure.as_ref())
            }
            Report::ScriptDone { instance, generation, creation_done, failure } => {
                self.script_done(*instance, *generation, *creation_done, failure.as_ref());
            }
            Report::Healthy { instance, generation } => self.instance_healthy(*instance, *generation),
            Report::Resized { instance, generation, failure } => self.resized(*instance, *generation, failure.as_ref()),
            Report::Transferred { instance, generation, failure } => {
                self.transferred(*instance, *generation, failure.as_ref());
            }
            Report::Activity { instance, active, stretch } => self.activity(*instance, active, *stretch),
            Report::Environment { hash, failure } => self.environment_done(*hash, failure.as_ref()),
        }
    }

    fn node_up(&mut self, id: NodeId) {
        let Some(node) = self.nodes.get(&id) else { return };
        let holder = node.holder;
        match node.phase {
            NodePhase::Launching { .. } => {
                let now = self.now.mono;
                self.edit_node(id, |node, _| {
                    node.phase = NodePhase::Ready;
                    node.up = now;
                    node.idle_since = now;
                });
                match holder {
                    Holder::Cluster(cluster) => {
                        if self.clusters.get(&cluster).is_some_and(|cluster| cluster.trouble.failures > 0) {
                            self.edit_cluster(cluster, |cluster| cluster.trouble.is_over());
                        }
                    }
                    Holder::Instance(instance) => self.instance_node_up(instance),
                    Holder::Job(job) => self.own_node_up(job),
                }
            }
            NodePhase::Silent { .. } | NodePhase::Unusable => {
                self.edit_node(id, |node, _| node.phase = NodePhase::Ready);
                match holder {
                    Holder::Instance(instance) => self.instance_node_back(instance),
                    Holder::Job(job) => self.own_node_up(job),
                    Holder::Cluster(_) => {}
                }
            }
            // The agent is told again to drain, or the driver to remove it.
            NodePhase::Cordoned { .. } => {
                self.edit_node(id, |node, _| {
                    if let NodePhase::Cordoned { silent, .. } = &mut node.phase {
                        *silent = None;
                    }
                });
                self.kick(Key::Node(id));
            }
            NodePhase::Reclaiming { .. } | NodePhase::Releasing { .. } => self.kick(Key::Node(id)),
            NodePhase::Ready => {}
        }
        // After a reconnect the agent may have missed something.
        for job in self.on.get(&id).map(|on| on.jobs.clone()).unwrap_or_default() {
            self.kick(Key::Job(job));
        }
        if let Holder::Instance(instance) = holder {
            self.kick(Key::Instance(instance));
        }
    }

    fn launch_failed(&mut self, id: NodeId, detail: &Text) {
        let Some(node) = self.nodes.get(&id) else { return };
        if matches!(node.phase, NodePhase::Launching { .. }) {
            let detail: Text = crate::text::shortened_to(detail, 300).into();
            self.fail_launch(id, Reason::LaunchFailed { node: id, detail: detail.clone() }, detail);
        }
    }

    /// A launch came to nothing: what may have been made is removed, and the next try waits.
    fn fail_launch(&mut self, id: NodeId, why: Reason, detail: Text) {
        let Some(node) = self.nodes.get(&id) else { return };
        let (holder, workspace) = (node.holder, node.workspace.clone());
        let failed = FailedLaunch { at: self.now.wall, node: id, detail: detail.clone() };
        let now = self.now.mono;
        self.release(id, why.clone());
        match holder {
            Holder::Cluster(cluster) => {
                self.decide(&workspace, About::Cluster(cluster), why);
                self.edit_cluster(cluster, |cluster| cluster.trouble.add(failed, now));
            }
            Holder::Instance(instance) => {
                self.decide(&workspace, About::Instance(instance), why.clone());
                self.instance_launch_failed(instance, failed, why);
            }
            Holder::Job(job) => {
                self.decide(&workspace, About::Job(job), why);
                self.own_launch_failed(job, &detail);
            }
        }
    }

    fn node_silent(&mut self, id: NodeId) {
        let until = self.now.mono.plus(SILENCE_LIMIT);
        let Some(node) = self.nodes.get(&id) else { return };
        if let NodePhase::Cordoned { silent: None, .. } = node.phase {
            let now = self.now.mono;
            self.edit_node(id, |node, _| {
                if let NodePhase::Cordoned { silent, .. } = &mut node.phase {
                    *silent = Some(now);
                }
            });
            return;
        }
        if !matches!(node.phase, NodePhase::Ready) {
            return;
        }
        let holder = node.holder;
        self.edit_node(id, |node, _| node.phase = NodePhase::Silent { until });
        if let Holder::Instance(instance) = holder {
            self.instance_node_silent(instance);
        }
    }

    fn node_drained(&mut self, id: NodeId) {
        let Some(node) = self.nodes.get(&id) else { return };
        let NodePhase::Cordoned { why, .. } = &node.phase else { return };
        let why = (**why).clone();
        // The World knows of a job there that the agent has not heard of: then it is not empty.
        if self.on.get(&id).is_some_and(|on| on.jobs.is_empty()) {
            self.release(id, why);
        }
    }

    /// The driver confirms that a node does not exist any more.
    pub(super) fn node_gone(&mut self, id: NodeId) {
        let Some(node) = self.nodes.get(&id) else { return };
        let (holder, workspace) = (node.holder, node.workspace.clone());
        let was_expected = matches!(node.phase, NodePhase::Releasing { .. });
        let was_launching = matches!(node.phase, NodePhase::Launching { .. });
        if was_launching {
            let detail: Text = "it went away before its agent called".into();
            self.fail_launch(id, Reason::LaunchFailed { node: id, detail: detail.clone() }, detail);
        } else if !was_expected {
            self.decide(&workspace, About::Node(id), Reason::NodeGone { node: id });
        }
        self.charge_node(id);
        for job in self.on.get(&id).map(|on| on.jobs.clone()).unwrap_or_default() {
            self.end_job(job, Verdict::NodeLost { node: id });
            self.member_off(job, id);
        }
        self.remove_node(id);
        match holder {
            Holder::Cluster(cluster) => self.cluster_node_gone(cluster),
            Holder::Instance(instance) => self.instance_node_gone(instance, id, was_expected || was_launching),
            Holder::Job(job) => self.own_node_gone(job, id),
        }
    }

    /// A node that cannot be counted on any more is released, and its jobs end for that reason.
    pub(super) fn lose_node(&mut self, id: NodeId, why: Reason, verdict: impl Fn(NodeId) -> Verdict) {
        let Some(node) = self.nodes.get(&id) else { return };
        if matches!(node.phase, NodePhase::Releasing { .. }) {
            return;
        }
        let (holder, workspace) = (node.holder, node.workspace.clone());
        self.decide(&workspace, About::Node(id), why.clone());
        if matches!(node_phase(self, id), Some(NodePhase::Launching { .. })) {
            self.fail_launch(id, why.clone(), why.sentence().into());
            return;
        }
        self.release(id, why.clone());
        for job in self.on.get(&id).map(|on| on.jobs.clone()).unwrap_or_default() {
            self.end_job(job, verdict(id));
        }
        match holder {
            Holder::Instance(instance) => self.instance_node_lost(instance, why),
            Holder::Job(job) => self.own_node_lost(job, verdict(id)),
            Holder::Cluster(_) => {}
        }
    }

    /// The first phase of leaving: no new jobs, and demand calls it back.
    pub(super) fn cordon(&mut self, id: NodeId, why: Reason) {
        let until = self.now.mono.plus(DRAIN_LIMIT);
        self.edit_node(id, |node, _| node.phase = NodePhase::Cordoned { why: Box::new(why), until, silent: None });
        self.kick(Key::Node(id));
    }

    /// Leaving is called off.
    pub(super) fn call_back(&mut self, id: NodeId) {
        let now = self.now.mono;
        self.edit_node(id, |node, on| {
            node.phase = NodePhase::Ready;
            if on.jobs.is_empty() {
                node.idle_since = now;
            }
        });
        self.kick(Key::Node(id));
    }

    /// The second phase of leaving: the driver removes it.
    pub(super) fn release(&mut self, id: NodeId, why: Reason) {
        let now = self.now.mono;
        if matches!(node_phase(self, id), None | Some(NodePhase::Releasing { .. })) {
            return;
        }
        self.edit_node(id, |node, _| {
            node.phase =
                NodePhase::Releasing { why: Box::new(why), since: now, until: now.plus(RELEASE_RETRY), tries: 1 };
        });
        self.kick(Key::Node(id));
    }

    /// A node's phase has come to its end, or its time is to be charged.
    pub(super) fn node_due(&mut self, id: NodeId) {
        self.charge_node(id);
        let now = self.now.mono;
        let Some(node) = self.nodes.get(&id) else { return };
        if node.deadline().is_none_or(|until| until > now) {
            return;
        }
        let holder = node.holder;
        match node.phase.clone() {
            NodePhase::Launching { .. } => {
                let why = Reason::LaunchTimedOut { node: id, limit: LAUNCH_LIMIT };
                self.fail_launch(id, why.clone(), why.sentence().into());
            }
            NodePhase::Silent { .. } => {
                let why = Reason::NodeLost { node: id, silent: SILENCE_LIMIT };
                if let Holder::Instance(instance) = holder {
                    // Somebody's workstation: it may come back, and only its owner gives it up.
                    self.edit_node(id, |node, _| node.phase = NodePhase::Unusable);
                    self.instance_node_unusable(instance, why);
                } else {
                    self.lose_node(id, why, |node| Verdict::NodeLost { node });
                }
            }
            NodePhase::Cordoned { why, silent, .. } => {
                let quiet = silent.map(|since| now.since(since)).unwrap_or_default();
                if self.on.get(&id).is_some_and(|on| on.jobs.is_empty()) {
                    self.release(id, *why);
                } else if quiet >= SILENCE_LIMIT {
                    let why = Reason::NodeLost { node: id, silent: quiet };
                    self.lose_node(id, why, |node| Verdict::NodeLost { node });
                } else {
                    let until = now.plus(DRAIN_LIMIT);
                    self.edit_node(id, |node, _| node.phase = NodePhase::Cordoned { why, until, silent });
                }
            }
            NodePhase::Reclaiming { why, .. } => {
                self.release(id, *why);
            }
            NodePhase::Releasing { why, since, tries, .. } => {
                let until = now.plus(RELEASE_RETRY.doubled(tries, RELEASE_RETRY_MOST));
                let tries = tries.saturating_add(1);
                if now.since(since) >= RELEASE_ALARM
                    && let Some(node) = self.nodes.get(&id)
                {
                    let (workspace, waiting) = (node.workspace.clone(), now.since(since));
                    self.decide(&workspace, About::Node(id), Reason::ReleaseUnconfirmed { node: id, tries, waiting });
                }
                self.edit_node(id, |node, _| node.phase = NodePhase::Releasing { why, since, until, tries });
                self.kick(Key::Node(id));
            }
            NodePhase::Ready | NodePhase::Unusable => {}
        }
    }

    /// Takes a job off a node: its part there is over.
    pub(super) fn member_off(&mut self, job: JobId, node: NodeId) {
        let Some(taken) = self.jobs.get(&job).map(crate::compute::job::Job::takes) else { return };
        if !self.on.get(&node).is_some_and(|on| on.jobs.contains(&job)) {
            return;
        }
        self.charge_node(node);
        let now = self.now.mono;
        let holder = self.edit_node(node, |record, on| {
            on.remove(job, taken);
            if on.jobs.is_empty() {
                record.idle_since = now;
            }
            record.holder
        });
        // A job is activity, also one that came and went between two reports.
        if let Some(Holder::Instance(instance)) = holder {
            self.edit_instance(instance, |instance| instance.watch.active(Source::Job, now));
        }
        self.edit_job(job, |job| {
            if let Some(member) = job.member_mut(node) {
                member.state = MemberState::Off;
            }
        });
        self.job_maybe_over(job);
        self.make_room(node);
        if let Some(NodePhase::Reclaiming { why, .. }) = node_phase(self, node)
            && self.on.get(&node).is_some_and(|on| on.jobs.is_empty())
        {
            let why = (**why).clone();
            self.release(node, why);
        }
        // A node on its way out leaves as soon as it is empty.
        if let Some(NodePhase::Cordoned { .. }) = node_phase(self, node) {
            self.kick(Key::Node(node));
        }
    }

    /// Compares what a driver found with what is known. What is not known is left alone and shown.
    fn compare(&mut self, site: &SiteName, found: &[FoundNode], as_of: Mono) {
        let known: std::collections::BTreeSet<NodeId> =
            found.iter().filter_map(|found| found.node).filter(|id| self.nodes.contains_key(id)).collect();
        // Asked for before the list was begun and not in it: gone. A launch may still be on its way.
        let missing: Vec<NodeId> = self
            .nodes
            .values()
            .filter(|node| node.site == *site && !known.contains(&node.id))
            .filter(|node| match node.phase {
                NodePhase::Launching { .. } => false,
                NodePhase::Releasing { since, .. } => since < as_of,
                _ => node.up < as_of,
            })
            .map(|node| node.id)
            .collect();
        missing.into_iter().for_each(|id| self.node_gone(id));
        // Asked to be removed and still there: told again.
        for id in known {
            if let Some(NodePhase::Releasing { .. }) = node_phase(self, id) {
                self.kick(Key::Node(id));
            }
        }
        let strangers: Vec<&FoundNode> = found
            .iter()
            .filter(|found| found.name.len() <= MAX_FOUND_NAME)
            .filter(|found| !found.node.is_some_and(|id| self.nodes.contains_key(&id)))
            .collect();
        for stranger in &strangers {
            let key = (site.clone(), stranger.name.clone());
            if let Some(known) = self.unknown.get(&key) {
                if known.is_leaving {
                    self.kick(Key::Unknown(key.0, key.1));
                }
                continue;
            }
            let reason = Reason::Unknown { name: crate::text::shortened_to(&key.1, 200), site: site.to_string() };
            self.out.decisions.push(crate::world::Decision { workspace: None, about: About::Engine, reason });
            let record =
                UnknownNode { site: key.0.clone(), name: key.1.clone(), since: self.now.wall, is_leaving: false };
            self.changed(Key::Unknown(key.0.clone(), key.1.clone()));
            self.unknown.insert(key, record);
        }
        let names: std::collections::BTreeSet<String> = strangers.iter().map(|found| found.name.clone()).collect();
        let over: Vec<(SiteName, String)> =
            self.unknown.keys().filter(|(place, name)| place == site && !names.contains(name)).cloned().collect();
        for key in over {
            self.unknown.remove(&key);
            self.gone(Key::Unknown(key.0, key.1));
        }
    }

    /// Whether an instance's own machine is the one in question, for rules that must not take it away.
    pub(super) fn is_workstation(&self, id: NodeId) -> bool {
        self.nodes.get(&id).is_some_and(|node| {
            matches!(node.holder, Holder::Instance(instance)
            if self.instances.get(&instance).is_some_and(|instance| {
                !matches!(instance.phase, InstancePhase::Stopping { .. } | InstancePhase::Deleting { .. })
            }))
        })
    }

    /// Whether a job still has something on a node.
    pub(super) fn has_parts(&self, job: JobId) -> bool {
        self.jobs.get(&job).is_some_and(|job| {
            !matches!(job.phase, JobPhase::Queued { .. })
                && job.members.iter().any(|member| member.state != MemberState::Off)
        })
    }
}

fn node_phase(world: &World, id: NodeId) -> Option<&NodePhase> {
    world.nodes.get(&id).map(|node| &node.phase)
}
