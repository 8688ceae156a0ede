//! Reports: what drivers say about their sites and nodes, and agents about nodes, jobs and instances.
//!
//! `World::hear` takes every report and hands it on: what is about nodes is taken in here, the rest in `job`,
//! `ahead`, `instance`, `deadlines` and `dependencies`.

use super::node::node_phase;
use crate::compute::NodeId;
use crate::compute::instance::{Instance, Trigger, Wish};
use crate::compute::job::{Job, JobPhase, Verdict};
use crate::compute::node::{Holder, NodePhase, SILENCE_LIMIT};
use crate::compute::room::{Filled, Program};
use crate::compute::size::SiteName;
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
            Report::Fills { program, filled } => self.stop_filling(*program, *filled),
            Report::Environment { hash, failure } => self.environment_done(*hash, failure.as_ref()),
        }
    }

    /// A program fills the disk: it ends. One that has ended, or begun anew, since it was seen is left alone.
    fn stop_filling(&mut self, program: Program, filled: Filled) {
        match program {
            Program::Job { job, attempt } => {
                let is_it = |job: &Job| job.attempt == attempt && !matches!(job.phase, JobPhase::Queued { .. });
                if self.jobs.get(&job).is_some_and(is_it) {
                    self.end_job(job, Verdict::Filled { filled });
                }
            }
            Program::Instance { instance: id, generation } => {
                let is_it = |instance: &Instance| instance.generation == generation && instance.wish == Wish::Run;
                if self.instances.get(&id).is_some_and(is_it) {
                    // What runs can always be stopped.
                    drop(self.stop_instance(id, Trigger::System, Reason::Filled { filled }));
                }
            }
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
        self.note_silence(id, false);
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

    fn node_silent(&mut self, id: NodeId) {
        let until = self.now.mono.plus(SILENCE_LIMIT);
        let Some(node) = self.nodes.get(&id) else { return };
        if matches!(node.phase, NodePhase::Ready | NodePhase::Cordoned { silent: None, .. }) {
            self.note_silence(id, true);
        }
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

    /// Notes on the jobs of a node whether it is heard from.
    fn note_silence(&mut self, id: NodeId, is_silent: bool) {
        for job in self.on.get(&id).map(|on| on.jobs.clone()).unwrap_or_default() {
            let differs = |job: &Job| {
                job.allocations.iter().any(|allocation| allocation.node == id && allocation.is_silent != is_silent)
            };
            if self.jobs.get(&job).is_some_and(differs) {
                self.edit_job(job, |job| {
                    if let Some(allocation) = job.allocation_mut(id) {
                        allocation.is_silent = is_silent;
                    }
                });
            }
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
            self.allocation_off(job, id);
        }
        self.remove_node(id);
        match holder {
            Holder::Cluster(cluster) => self.cluster_node_gone(cluster),
            Holder::Instance(instance) => self.instance_node_gone(instance, id, was_expected || was_launching),
            Holder::Job(job) => self.own_node_gone(job, id),
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
}
