//! Clusters and nodes as the API shows them.

use atelier_domain::access::Rights;
use atelier_domain::compute::cluster::ClusterPhase;
use atelier_domain::compute::node::{Holder, Node};
use atelier_domain::compute::verb::{ClusterVerb, NodeVerb};
use atelier_domain::money::Money;
use atelier_domain::world::World;
use atelier_studio::clusters::list::ClusterRow;
use atelier_studio::clusters::nodes as node_rows;
use serde::Serialize;
use serde_json::json;

use crate::quota::rest::fair_shares::PolicyView;
use crate::server::rest::people::People;
use crate::server::rest::view::{ReasonView, ResourcesView, When, object};

/// A cluster, from what the engine knows.
pub fn cluster(row: ClusterRow, people: &People) -> impl Serialize + use<> {
    let (cluster, counts) = (row.cluster, row.counts);
    let path = path(cluster.name.as_str());
    object! {
        id: cluster.id.to_string(),
        name: cluster.name.to_string(),
        state: row.state,
        // Why it has as many nodes as it has.
        reason: row.reason.map(ReasonView::from),
        owner: people.view(&cluster.owner),
        size: cluster.size.to_string(),
        // Whether dedicated work may take its nodes back.
        tier: cluster.tier.key(),
        min: cluster.scale.min,
        max: cluster.scale.max,
        idle_seconds: cluster.scale.idle.as_millis() / 1_000,
        // Idle nodes that are kept ready beyond what is needed.
        warm: cluster.scale.warm,
        // The minimum that a schedule has set in place of its own.
        scheduled_min: cluster.scheduled_min,
        queue: PolicyView::from(cluster.queue),
        paused: match &cluster.phase {
            ClusterPhase::Paused { by, since } => Some(object! { by: by.to_string(), since: since.map(When) }),
            ClusterPhase::Active | ClusterPhase::Deleting { .. } => None,
        },
        target: cluster.plan.target,
        nodes: object! {
            preparing: counts.preparing,
            idle: counts.idle,
            running: counts.running,
            leaving: counts.leaving,
            unusable: counts.unusable,
        },
        queued: counts.queued,
        // Jobs that are not over.
        jobs: counts.queued + row.running,
        node_price_per_hour: row.price.per_hour().decimal(),
        // Null where that is not for the caller to know.
        cost_today: row.cost_today.map(Money::decimal),
        // What the caller may do to it now.
        actions: row.verbs.allowed().map(ClusterVerb::key).collect::<Vec<_>>(),
        tags: cluster.tags,
        created: When(cluster.created),
        links: object! {
            #[serde(rename = "self")]
            own: path.clone(),
            nodes: format!("{path}/nodes"),
            jobs: format!("/api/v1/jobs?cluster={}", cluster.name),
        },
    }
}

/// The address of a cluster.
pub fn path(name: &str) -> String {
    format!("/api/v1/clusters/{name}")
}

/// A node, from what the engine knows.
pub fn node(world: &World, node: &Node, rights: &Rights) -> impl Serialize + use<> {
    let (kind, name) = match node.holder {
        Holder::Cluster(id) => {
            ("cluster", world.cluster(id).map_or_else(|| id.to_string(), |cluster| cluster.name.to_string()))
        }
        Holder::Instance(id) => {
            ("instance", world.instance(id).map_or_else(|| id.to_string(), |instance| instance.name.to_string()))
        }
        Holder::Job(id) => ("job", id.to_string()),
    };
    let (row, on) = (node_rows::row(world, node, rights), world.on_node(node.id));
    object! {
        id: node.id.to_string(),
        state: row.state,
        // Why it goes, or what its removal waits for.
        reason: row.reason.map(ReasonView::from),
        holder: object! { kind: kind, name: name },
        size: node.size.to_string(),
        site: node.site.to_string(),
        resources: ResourcesView::from(node.shape),
        free: ResourcesView::from(on.map_or(node.shape, |on| on.free)),
        // Jobs with a part there.
        jobs: row.jobs.iter().map(|job| job.id.to_string()).collect::<Vec<_>>(),
        created: When(node.created),
        price_per_hour: row.price.per_hour().decimal(),
        // What the caller may do to it now.
        actions: row.verbs.allowed().map(NodeVerb::key).collect::<Vec<_>>(),
        links: json!({ "self": format!("/api/v1/nodes/{}", node.id) }),
    }
}
