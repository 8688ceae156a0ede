//! What is known about agents right now: who is connected, when they were heard of, how their nodes do. In
//! memory only.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use atelier_domain::Timestamp;
use atelier_domain::compute::idle::Source;
use atelier_domain::compute::{InstanceId, JobId, NodeId};
use atelier_domain::world::AllocationKey;
use atelier_protocol::{Activity, AppsStatus, Facts, PartSample, Sample, Signal};

use crate::clock;

/// How many samples of a node or a job are remembered: an hour of them.
const REMEMBERED: usize = 720;

/// An agent as pages show it.
#[derive(Clone, Debug)]
pub struct AgentView {
    pub node: NodeId,
    /// What it says about itself.
    pub facts: Facts,
    /// Whether it is connected.
    pub is_connected: bool,
    /// When it was last heard of.
    pub heard: Timestamp,
    /// For how long it has not been heard of, in milliseconds.
    pub silent_ms: u64,
    pub sample: Option<Sample>,
}

#[derive(Debug)]
struct Entry {
    facts: Facts,
    connection: Option<u64>,
    heard: Timestamp,
    heard_at: Instant,
    samples: VecDeque<(Timestamp, Sample)>,
    apps: Option<(Timestamp, AppsStatus)>,
    activity: Option<(Timestamp, Activity)>,
    /// How often it has said what goes on in its instance.
    activities: u64,
}

impl Entry {
    /// Of an agent that has not called yet.
    fn expected(heard: Timestamp, heard_at: Instant) -> Self {
        Self {
            facts: Facts::default(),
            connection: None,
            heard,
            heard_at,
            samples: VecDeque::new(),
            apps: None,
            activity: None,
            activities: 0,
        }
    }
}

#[derive(Debug, Default)]
struct Inner {
    agents: BTreeMap<NodeId, Entry>,
    jobs: HashMap<JobId, VecDeque<(Timestamp, PartSample)>>,
    /// Instances whose applications somebody has used since their agents last said what goes on there.
    used: HashSet<InstanceId>,
    /// The same of those in whose editors somebody has typed.
    typed: HashSet<InstanceId>,
    /// Who is in by SSH, and what went through since then.
    ssh: HashMap<InstanceId, Ssh>,
    /// Who used an instance last, by kind of activity, where that was not its owner.
    visitors: HashMap<(InstanceId, Source), String>,
}

/// See [`Inner::ssh`].
#[derive(Clone, Copy, Debug, Default)]
struct Ssh {
    open: u64,
    received: u64,
    sent: u64,
}

impl Inner {
    fn note_visitor(&mut self, instance: InstanceId, source: Source, visitor: Option<&str>) {
        let key = (instance, source);
        match visitor {
            Some(name) if self.visitors.get(&key).is_some_and(|known| known == name) => {}
            Some(name) => drop(self.visitors.insert(key, name.to_owned())),
            None => drop(self.visitors.remove(&key)),
        }
    }
}

/// The board.
#[derive(Debug, Default)]
pub struct Board {
    inner: Mutex<Inner>,
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An agent has connected.
    pub(super) fn connected(&self, node: NodeId, connection: u64, facts: Facts) {
        let (heard, heard_at) = (clock::now(), clock::instant());
        let mut inner = self.lock();
        let entry = inner.agents.entry(node).or_insert_with(|| Entry::expected(heard, heard_at));
        (entry.facts, entry.connection) = (facts, Some(connection));
        (entry.heard, entry.heard_at) = (heard, heard_at);
    }

    /// That connection is over.
    pub(super) fn disconnected(&self, node: NodeId, connection: u64) {
        if let Some(entry) = self.lock().agents.get_mut(&node).filter(|entry| entry.connection == Some(connection)) {
            entry.connection = None;
        }
    }

    /// Something was heard of it.
    pub(super) fn heard(&self, node: NodeId) {
        if let Some(entry) = self.lock().agents.get_mut(&node) {
            (entry.heard, entry.heard_at) = (clock::now(), clock::instant());
        }
    }

    /// A sample came in.
    pub(super) fn sampled(&self, node: NodeId, sample: Sample) {
        let now = clock::now();
        let mut inner = self.lock();
        for part in &sample.parts {
            let samples = inner.jobs.entry(part.job()).or_default();
            push(samples, (now, part.clone()));
        }
        if let Some(entry) = inner.agents.get_mut(&node) {
            push(&mut entry.samples, (now, sample));
        }
    }

    /// How the applications on a node do.
    pub(super) fn apps(&self, node: NodeId, status: AppsStatus) {
        if let Some(entry) = self.lock().agents.get_mut(&node) {
            entry.apps = Some((clock::now(), status));
        }
    }

    /// What goes on in the instance on a node.
    pub(super) fn active(&self, node: NodeId, activity: Activity) {
        if let Some(entry) = self.lock().agents.get_mut(&node) {
            entry.activity = Some((clock::now(), activity));
            entry.activities += 1;
        }
    }

    /// The number of the last word about activity.
    #[cfg(debug_assertions)]
    pub(super) fn activity_number(&self, node: NodeId) -> Option<u64> {
        self.lock().agents.get(&node).map(|entry| entry.activities)
    }

    /// Somebody has done something in an application of an instance, other than look: its owner, or a visitor
    /// of that name.
    pub fn app_used(&self, instance: InstanceId, visitor: Option<&str>) {
        let mut inner = self.lock();
        inner.used.insert(instance);
        inner.note_visitor(instance, Source::App, visitor);
    }

    /// Somebody has typed into a terminal; that it was typed is seen by the agent.
    pub fn terminal_used(&self, instance: InstanceId, visitor: Option<&str>) {
        self.lock().note_visitor(instance, Source::Terminal, visitor);
    }

    /// Who did it last, where that was not the owner.
    pub fn visitor(&self, instance: InstanceId, source: Source) -> Option<String> {
        self.lock().visitors.get(&(instance, source)).cloned()
    }

    /// Somebody has typed in an editor of an instance.
    pub fn editor_used(&self, instance: InstanceId) {
        self.lock().typed.insert(instance);
    }

    /// Adds what goes through the server, which an agent does not see: SSH, typing in editors, use of
    /// applications. What an agent says of those is dropped.
    pub(super) fn add_own_signals(&self, activity: &mut Activity) {
        let instance = activity.instance;
        activity.signals.retain(|signal| !signal.source.is_seen_by_server());
        activity.signals.extend(self.take_ssh_traffic(instance));
        let used = [(Source::App, self.take_app_traffic(instance)), (Source::Editor, self.take_typing(instance))];
        let used = used.into_iter().filter(|(_, is_active)| *is_active);
        activity.signals.extend(used.map(|(source, is_active)| Signal { source, is_active, detail: "".into() }));
    }

    /// Whether somebody has, since this was last asked.
    fn take_typing(&self, instance: InstanceId) -> bool {
        self.lock().typed.remove(&instance)
    }

    /// Whether somebody has used applications, since this was last asked.
    fn take_app_traffic(&self, instance: InstanceId) -> bool {
        self.lock().used.remove(&instance)
    }

    /// Somebody has come in by SSH.
    pub fn ssh_came(&self, instance: InstanceId) {
        self.lock().ssh.entry(instance).or_default().open += 1;
    }

    pub fn ssh_left(&self, instance: InstanceId) {
        let mut inner = self.lock();
        if let Some(ssh) = inner.ssh.get_mut(&instance) {
            ssh.open = ssh.open.saturating_sub(1);
        }
    }

    /// So many bytes came in and went out by SSH.
    pub fn ssh_used(&self, instance: InstanceId, received: u64, sent: u64) {
        let mut inner = self.lock();
        let ssh = inner.ssh.entry(instance).or_default();
        (ssh.received, ssh.sent) = (ssh.received + received, ssh.sent + sent);
    }

    /// How many people are in by SSH.
    pub fn ssh_open(&self, instance: InstanceId) -> u64 {
        self.lock().ssh.get(&instance).map_or(0, |ssh| ssh.open)
    }

    /// What went through SSH since this was last asked, as a kind of activity; nothing if nobody is or was
    /// in.
    fn take_ssh_traffic(&self, instance: InstanceId) -> Option<Signal> {
        let mut inner = self.lock();
        let ssh = inner.ssh.get_mut(&instance)?;
        let Ssh { open, received, sent } = *ssh;
        let connections = atelier_domain::text::counted(open, "connection", "connections");
        (ssh.received, ssh.sent) = (0, 0);
        if open == 0 {
            inner.ssh.remove(&instance);
        }
        let is_active = received + sent > 0;
        let amount = atelier_domain::ssh::amount;
        let detail = if is_active {
            format!("{connections}: {} came in, {} went out", amount(received), amount(sent))
        } else {
            format!("{connections}, quiet")
        };
        Some(Signal { source: Source::Ssh, is_active, detail: detail.into() })
    }

    /// How the applications on a node do, and since when that is known.
    pub fn node_apps(&self, node: NodeId) -> Option<(Timestamp, AppsStatus)> {
        self.lock().agents.get(&node).and_then(|entry| entry.apps.clone())
    }

    /// What went on in the instance on a node, and when that was said.
    pub fn node_activity(&self, node: NodeId) -> Option<(Timestamp, Activity)> {
        self.lock().agents.get(&node).and_then(|entry| entry.activity.clone())
    }

    /// The node is no more.
    pub(super) fn forget(&self, node: NodeId) {
        let mut inner = self.lock();
        inner.agents.remove(&node);
        inner.jobs.retain(|_, samples| {
            samples.retain(|(_, sample)| sample.part.node != node);
            !samples.is_empty()
        });
    }

    /// An agent that was there before this server has until it counts as silent to call.
    pub(super) fn expect(&self, node: NodeId) {
        let (heard, heard_at) = (clock::now(), clock::instant());
        self.lock().agents.entry(node).or_insert_with(|| Entry::expected(heard, heard_at));
    }

    /// Under which address others find it.
    pub(super) fn address(&self, node: NodeId) -> Option<String> {
        let inner = self.lock();
        inner.agents.get(&node).map(|entry| entry.facts.address.clone()).filter(|address| !address.is_empty())
    }

    /// The part is over: its samples are handed out for the last time.
    pub(super) fn part_over(&self, part: AllocationKey) -> Vec<(Timestamp, PartSample)> {
        let mut inner = self.lock();
        let Some(samples) = inner.jobs.get_mut(&part.job) else { return Vec::new() };
        let (own, others): (VecDeque<_>, _) =
            std::mem::take(samples).into_iter().partition(|(_, sample)| sample.part == part);
        *samples = others;
        if samples.is_empty() {
            inner.jobs.remove(&part.job);
        }
        own.into()
    }

    /// Agents that were not heard of for so long.
    pub(super) fn silent_for(&self, limit: std::time::Duration) -> Vec<NodeId> {
        let inner = self.lock();
        let silent = inner.agents.iter().filter(|(_, entry)| entry.heard_at.elapsed() >= limit);
        silent.map(|(node, _)| *node).collect()
    }

    pub fn agents(&self) -> Vec<AgentView> {
        self.lock().agents.iter().map(|(node, entry)| view(*node, entry)).collect()
    }

    /// The agent of a node.
    pub fn agent(&self, node: NodeId) -> Option<AgentView> {
        self.lock().agents.get(&node).map(|entry| view(node, entry))
    }

    /// How a node did, the oldest first.
    pub fn node_samples(&self, node: NodeId) -> Vec<(Timestamp, Sample)> {
        self.lock().agents.get(&node).map(|entry| entry.samples.iter().cloned().collect()).unwrap_or_default()
    }

    /// How much of their cores some nodes used, thinned to so many means, the oldest first. Nothing is copied
    /// but those: lists ask for fifty nodes at once.
    pub fn cores_in_use(&self, nodes: &[NodeId], points: usize) -> HashMap<NodeId, Vec<u64>> {
        let inner = self.lock();
        let thinned = |samples: &VecDeque<(Timestamp, Sample)>| {
            let count = samples.len().min(points);
            let mean = |slot: usize| {
                let (begin, end) = (slot * samples.len() / count, (slot + 1) * samples.len() / count);
                let sum: u64 = samples.range(begin..end).map(|(_, sample)| sample.cores).sum();
                sum / (end - begin).max(1) as u64
            };
            (0..count).map(mean).collect::<Vec<u64>>()
        };
        let known = nodes.iter().filter_map(|node| Some((*node, thinned(&inner.agents.get(node)?.samples))));
        known.filter(|(_, points)| points.len() > 1).collect()
    }

    /// How the parts of a running job did, the oldest first.
    pub fn job_samples(&self, job: JobId) -> Vec<(Timestamp, PartSample)> {
        self.lock().jobs.get(&job).map(|samples| samples.iter().cloned().collect()).unwrap_or_default()
    }
}

fn push<T>(samples: &mut VecDeque<T>, sample: T) {
    if samples.len() == REMEMBERED {
        samples.pop_front();
    }
    samples.push_back(sample);
}

fn view(node: NodeId, entry: &Entry) -> AgentView {
    AgentView {
        node,
        facts: entry.facts.clone(),
        is_connected: entry.connection.is_some(),
        heard: entry.heard,
        silent_ms: u64::try_from(entry.heard_at.elapsed().as_millis()).unwrap_or(u64::MAX),
        sample: entry.samples.back().map(|(_, sample)| sample.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_through_the_server_is_among_the_signals() {
        let board = Board::default();
        let instance = InstanceId(1);
        let told = |source| Signal { source, is_active: true, detail: "".into() };
        let report = || {
            let signals = vec![told(Source::Kernel), told(Source::Editor), told(Source::Ssh)];
            let mut activity = Activity { instance, stretch_ms: 30_000, signals, processes: Vec::new() };
            board.add_own_signals(&mut activity);
            let active = activity.signals.into_iter().filter(|signal| signal.is_active);
            active.map(|signal| signal.source).collect::<Vec<_>>()
        };
        assert_eq!(report(), [Source::Kernel], "an agent speaks of what it sees");
        board.app_used(instance, None);
        board.editor_used(instance);
        board.ssh_came(instance);
        board.ssh_used(instance, 1, 2);
        board.editor_used(InstanceId(2));
        assert_eq!(report(), [Source::Kernel, Source::Ssh, Source::App, Source::Editor]);
        assert_eq!(report(), [Source::Kernel], "it was said once");
    }
}
