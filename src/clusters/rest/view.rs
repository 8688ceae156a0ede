//! Clusters and nodes as the API shows them.

use atelier_domain::access::Rights;
use atelier_domain::compute::cluster::ClusterPhase;
use atelier_domain::compute::node::{Holder, Node, NodeState};
use atelier_domain::compute::tags::Tags;
use atelier_domain::compute::verb::{ClusterState, ClusterVerb, NodeVerb};
use atelier_domain::money::{Decimal, Money};
use atelier_domain::world::World;
use atelier_studio::clusters::list::ClusterRow;
use atelier_studio::clusters::nodes;
use serde::Serialize;

use crate::quota::rest::fair_shares::PolicyView;
use crate::server::rest::people::{People, PersonView};
use crate::server::rest::view::{ReasonView, ResourcesView, When};

#[derive(Debug, Serialize)]
pub struct ClusterView {
    id: String,
    name: String,
    state: ClusterState,
    /// Why it has as many nodes as it has.
    reason: Option<ReasonView>,
    owner: PersonView,
    size: String,
    /// Whether dedicated work may take its nodes back.
    tier: &'static str,
    min: u32,
    max: u32,
    idle_seconds: i64,
    /// Idle nodes that are kept ready beyond what is needed.
    warm: u32,
    /// The minimum that a schedule has set in place of its own.
    scheduled_min: Option<u32>,
    queue: PolicyView,
    paused: Option<PausedView>,
    target: u32,
    nodes: Counts,
    queued: u64,
    /// Jobs that are not over.
    jobs: u64,
    /// What an hour of one node costs.
    node_price_per_hour: Decimal,
    /// Null where that is not for the caller to know.
    cost_today: Option<Decimal>,
    /// What the caller may do to it now.
    actions: Vec<&'static str>,
    tags: Tags,
    created: When,
    links: ClusterLinks,
}

#[derive(Debug, Serialize)]
struct PausedView {
    by: String,
    since: Option<When>,
}

#[derive(Debug, Serialize)]
struct Counts {
    preparing: u64,
    idle: u64,
    running: u64,
    leaving: u64,
    unusable: u64,
}

#[derive(Debug, Serialize)]
struct ClusterLinks {
    #[serde(rename = "self")]
    own: String,
    nodes: String,
    jobs: String,
}

impl ClusterView {
    /// From what the engine knows.
    pub fn of(row: ClusterRow, people: &People) -> Self {
        let (cluster, counts) = (row.cluster, row.counts);
        let path = path(cluster.name.as_str());
        Self {
            id: cluster.id.to_string(),
            name: cluster.name.to_string(),
            state: row.state,
            reason: row.reason.map(ReasonView::from),
            owner: people.view(&cluster.owner),
            size: cluster.size.to_string(),
            tier: cluster.tier.key(),
            warm: cluster.scale.warm,
            scheduled_min: cluster.scheduled_min,
            queue: cluster.queue.into(),
            paused: match &cluster.phase {
                ClusterPhase::Paused { by, since } => Some(PausedView { by: by.to_string(), since: since.map(When) }),
                ClusterPhase::Active | ClusterPhase::Deleting { .. } => None,
            },
            min: cluster.scale.min,
            max: cluster.scale.max,
            idle_seconds: cluster.scale.idle.as_millis() / 1_000,
            target: cluster.plan.target,
            nodes: Counts {
                preparing: counts.preparing,
                idle: counts.idle,
                running: counts.running,
                leaving: counts.leaving,
                unusable: counts.unusable,
            },
            queued: counts.queued,
            jobs: counts.queued + row.running,
            node_price_per_hour: row.price.per_hour().decimal(),
            cost_today: row.cost_today.map(Money::decimal),
            actions: row.verbs.allowed().map(ClusterVerb::key).collect(),
            tags: cluster.tags.clone(),
            created: When(cluster.created),
            links: ClusterLinks {
                nodes: format!("{path}/nodes"),
                jobs: format!("/api/v1/jobs?cluster={}", cluster.name),
                own: path,
            },
        }
    }
}

/// The address of a cluster.
pub fn path(name: &str) -> String {
    format!("/api/v1/clusters/{name}")
}

#[derive(Debug, Serialize)]
pub struct NodeView {
    id: String,
    state: NodeState,
    /// Why it goes, or what its removal waits for.
    reason: Option<ReasonView>,
    holder: HolderView,
    size: String,
    site: String,
    resources: ResourcesView,
    free: ResourcesView,
    /// Jobs with a part there.
    jobs: Vec<String>,
    created: When,
    price_per_hour: Decimal,
    /// What the caller may do to it now.
    actions: Vec<&'static str>,
    /// What is known of its agent right now.
    pub agent: Option<AgentSummary>,
    links: NodeLinks,
}

#[derive(Debug, Serialize)]
struct HolderView {
    kind: &'static str,
    name: String,
}

#[derive(Debug, Serialize)]
pub struct AgentSummary {
    pub is_connected: bool,
    pub heard: When,
    pub version: String,
    pub host: String,
}

#[derive(Debug, Serialize)]
struct NodeLinks {
    #[serde(rename = "self")]
    own: String,
}

impl NodeView {
    /// From what the engine knows.
    pub fn of(world: &World, node: &Node, rights: &Rights) -> Self {
        let holder = match node.holder {
            Holder::Cluster(id) => HolderView {
                kind: "cluster",
                name: world.cluster(id).map_or_else(|| id.to_string(), |cluster| cluster.name.to_string()),
            },
            Holder::Instance(id) => HolderView {
                kind: "instance",
                name: world.instance(id).map_or_else(|| id.to_string(), |instance| instance.name.to_string()),
            },
            Holder::Job(id) => HolderView { kind: "job", name: id.to_string() },
        };
        let (row, on) = (nodes::row(world, node, rights), world.on_node(node.id));
        Self {
            id: node.id.to_string(),
            state: row.state,
            reason: row.reason.map(ReasonView::from),
            holder,
            size: node.size.to_string(),
            site: node.site.to_string(),
            resources: node.shape.into(),
            free: on.map_or(node.shape, |on| on.free).into(),
            jobs: row.jobs.iter().map(|job| job.id.to_string()).collect(),
            created: When(node.created),
            price_per_hour: row.price.per_hour().decimal(),
            actions: row.verbs.allowed().map(NodeVerb::key).collect(),
            agent: None,
            links: NodeLinks { own: format!("/api/v1/nodes/{}", node.id) },
        }
    }
}
