//! The nodes of a cluster, with what their agents say.

use atelier_domain::access::Rights;
use atelier_domain::compute::node::{Node, NodeState};
use atelier_domain::compute::resources::{Cores, Memory};
use atelier_domain::compute::size::Price;
use atelier_domain::compute::verb::NodeVerb;
use atelier_domain::compute::{JobId, NodeId};
use atelier_domain::reason::Reason;
use atelier_domain::time::{Span, Timestamp};
use atelier_domain::world::World;
use atelier_engine::fleet::AgentView;
use atelier_engine::store::NodeCounts;

use crate::offer::Offer;
use crate::orders::said;

/// A node on a page.
#[derive(Clone, Debug)]
pub struct NodeRow {
    pub id: NodeId,
    pub state: NodeState,
    /// What it waits for, or why it leaves.
    pub reason: Option<Reason>,
    pub jobs: Vec<JobOnNode>,
    pub created: Timestamp,
    pub site: String,
    pub price: Price,
    pub verbs: Offer<NodeVerb>,
    /// What its agent says; none before it has called.
    pub agent: Option<AgentFacts>,
}

impl NodeRow {
    /// The reason and what would change it, in words; empty if there is nothing to say.
    pub fn why(&self) -> String {
        self.reason.as_ref().map(said).unwrap_or_default()
    }
}

/// A job on a node.
#[derive(Clone, Debug)]
pub struct JobOnNode {
    pub id: JobId,
    pub name: String,
}

/// What an agent says about itself and its node.
#[derive(Clone, Debug)]
pub struct AgentFacts {
    pub version: String,
    pub host: String,
    pub pid: u32,
    pub is_connected: bool,
    pub silent: Span,
    /// By what limits are enforced.
    pub limits: &'static str,
    /// What is amiss with isolation.
    pub warnings: Vec<String>,
    /// How much of its cores is in use: `1.4 of 4 cores`; empty before the first sample.
    pub cores: String,
    /// How much of its memory is in use: `3.1 GiB of 16 GiB`; empty before the first sample.
    pub memory: String,
}

impl AgentFacts {
    /// What pages show of an agent.
    pub fn of(agent: AgentView) -> Self {
        let (facts, sample) = (agent.facts, agent.sample);
        Self {
            cores: sample.as_ref().map(|sample| cores_in_use(sample.cores, facts.shape.cores)).unwrap_or_default(),
            memory: sample
                .as_ref()
                .map(|sample| format!("{} of {}", Memory(sample.memory), Memory(facts.shape.memory)))
                .unwrap_or_default(),
            version: facts.version,
            host: facts.host,
            pid: facts.pid,
            is_connected: agent.is_connected,
            silent: Span::millis(agent.silent_ms),
            limits: facts.limits.sentence(),
            warnings: facts.warnings,
        }
    }
}

/// To a tenth of a core: more digits only flicker.
fn cores_in_use(used: u64, all: u64) -> String {
    let tenths = (used + 50) / 100;
    format!("{}.{} of {}", tenths / 10, tenths % 10, Cores(all))
}

/// A node without the names of its jobs, which are in the store.
pub fn row(world: &World, node: &Node, rights: &Rights) -> NodeRow {
    let jobs = world.on_node(node.id).map(|on| on.jobs.clone()).unwrap_or_default();
    let state = node.state(!jobs.is_empty());
    NodeRow {
        id: node.id,
        state,
        price: node.price,
        verbs: Offer::of_node(rights, node.holder, state),
        reason: world.explain_node(node.id),
        jobs: jobs.into_iter().map(|id| JobOnNode { id, name: String::new() }).collect(),
        created: node.created,
        site: node.site.to_string(),
        agent: None,
    }
}

/// Counts a node.
pub const fn bump(counts: &mut NodeCounts, state: NodeState) {
    let count = match state {
        NodeState::Preparing => &mut counts.preparing,
        NodeState::Idle => &mut counts.idle,
        NodeState::Running => &mut counts.running,
        NodeState::Leaving | NodeState::Preempted => &mut counts.leaving,
        NodeState::Unusable => &mut counts.unusable,
    };
    *count += 1;
}
