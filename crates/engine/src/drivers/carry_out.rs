//! What the engine wants of drivers, carried out, and what they find, told to the engine.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use atelier_domain::compute::node::NodePhase;
use atelier_domain::compute::{NodeId, Resources};
use atelier_domain::history::Actor;
use atelier_domain::world::{Command, Order, Report, World};

use super::{Driver, NewNode};
use crate::clock;
use crate::fleet::Fleet;
use crate::run::{CommandId, EngineHandle, NewOrder, Phase};
use crate::store::Author;

/// How often a driver lists what exists.
const LIST_EVERY: Duration = Duration::from_secs(30);
/// How long what could not be told or asked waits for the next try.
const PAUSE: Duration = Duration::from_secs(1);
/// How many of the first lists follow each other quickly: an agent that is just dying when the server starts
/// still counts as alive in the first.
const QUICK_LISTS: u32 = 5;

/// Makes a node, unless it exists.
pub(crate) async fn launch(fleet: Fleet, driver: Arc<dyn Driver>, node: NodeId, shape: Resources) {
    let Some(engine) = fleet.engine().cloned() else { return };
    let made = async {
        if driver.exists(node).await? {
            return Ok(());
        }
        let token = format!("{:032x}{:032x}", rand::random::<u128>(), rand::random::<u128>());
        let kept = fleet.store().expect_agent(node, &token, clock::now()).await;
        kept.map_err(|error| format!("its token could not be kept: {error}"))?;
        driver.launch(NewNode { node, shape, token }).await
    };
    if let Err(why) = made.await {
        tracing::warn!(%node, why, "a node could not be made");
        let _ = engine.report_all(&[Report::LaunchFailed { node, detail: why.into() }]).await;
    }
}

/// Removes a node; the engine hears of it when nothing is left.
pub(crate) async fn terminate(fleet: Fleet, driver: Arc<dyn Driver>, node: NodeId) {
    let Some(engine) = fleet.engine().cloned() else { return };
    match driver.terminate(driver.name_of(node)).await {
        Ok(()) => {
            fleet.salvage(node).await;
            fleet.forget(node).await;
            let _ = engine.report_all(&[Report::NodeGone(node)]).await;
        }
        // The engine tells it again.
        Err(why) => tracing::warn!(%node, why, "a node could not be removed yet"),
    }
}

/// Removes something that nobody knew.
pub(crate) async fn terminate_unknown(fleet: Fleet, driver: Arc<dyn Driver>, name: String) {
    match driver.terminate(name.clone()).await {
        Ok(()) => compare(&fleet, &driver).await,
        Err(why) => tracing::warn!(name, why, "something unknown could not be removed yet"),
    }
}

/// How long after an agent has gone away its driver looks whether the node still lives: a process that is
/// killed lets go of one thing after another.
const LOOKS: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(50),
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(5),
];

/// Looks whether a node still lives whose agent has gone away, until it is back.
pub(crate) async fn check(fleet: Fleet, driver: Arc<dyn Driver>, node: NodeId) {
    for pause in LOOKS {
        tokio::time::sleep(pause).await;
        if fleet.is_connected(node) {
            return;
        }
        if let Ok(false) = driver.exists(node).await {
            return gone(&fleet, &driver, node).await;
        }
    }
}

/// A node is dead. What may be left of it is removed before the engine hears that it is gone.
async fn gone(fleet: &Fleet, driver: &Arc<dyn Driver>, node: NodeId) {
    let Some(engine) = fleet.engine() else { return };
    let is_known = engine
        .ask(move |world| world.node(node).is_some_and(|node| !matches!(node.phase, NodePhase::Launching { .. })));
    if is_known.await == Ok(true) {
        terminate(fleet.clone(), Arc::clone(driver), node).await;
    }
}

/// Says what a site has, gives it sizes if it has none, and compares what exists with what is known, again
/// and again.
pub(crate) async fn look_after(fleet: Fleet, driver: Arc<dyn Driver>) {
    let Some(engine) = fleet.engine().cloned() else { return };
    let mut capacity = None;
    let mut has_sizes = false;
    let mut lists = 0_u32;
    loop {
        match driver.capacity().await {
            Ok(found) if Some(found) != capacity => {
                let site = Report::Site { site: driver.site().clone(), capacity: found };
                if engine.report_all(&[site]).await.is_err() {
                    return;
                }
                capacity = Some(found);
            }
            Ok(_) => {}
            Err(why) => tracing::warn!(site = %driver.site(), why, "a driver could not say what its site has"),
        }
        if let Some(capacity) = capacity.filter(|_| !has_sizes) {
            has_sizes = furnish(&fleet, &engine, &driver, capacity).await;
        }
        compare(&fleet, &driver).await;
        if matches!(engine.status().phase, Phase::Stopped | Phase::Fenced) {
            return;
        }
        lists = lists.saturating_add(1);
        // A server without a workspace gets its sizes as soon as it has one.
        let is_settled = has_sizes && lists >= QUICK_LISTS;
        tokio::time::sleep(if is_settled { LIST_EVERY } else { PAUSE }).await;
    }
}

/// Puts the driver's own sizes into a catalogue that has none for its site. False while there is no
/// workspace.
async fn furnish(fleet: &Fleet, engine: &EngineHandle, driver: &Arc<dyn Driver>, capacity: Resources) -> bool {
    let Ok(workspaces) = fleet.store().workspaces().await else { return false };
    let Some(workspace) = workspaces.into_iter().next() else { return false };
    let site = driver.site().clone();
    match engine.ask(move |world| world.sizes().any(|size| size.site == site)).await {
        Ok(true) => return true,
        Ok(false) => {}
        Err(_) => return false,
    }
    for size in driver.default_sizes(capacity) {
        let command = Command {
            workspace: workspace.id.clone(),
            user: None,
            name: "Atelier".into(),
            order: Order::PutSize(size.clone()),
        };
        let author = Author { actor: Actor::System, request: String::new(), why: None };
        let new = NewOrder { id: CommandId::random(), payload: None, author, command };
        if let Err(error) = engine.order(new).await {
            tracing::warn!(size = %size.name, %error, "a size could not be put into the catalogue");
            return false;
        }
    }
    true
}

/// Lists what exists and tells the engine if that is not what it knows.
pub(crate) async fn compare(fleet: &Fleet, driver: &Arc<dyn Driver>) {
    let Some(engine) = fleet.engine() else { return };
    let Ok(as_of) = engine.ask(World::mono).await else { return };
    let nodes = match driver.list().await {
        Ok(nodes) => nodes,
        Err(why) => return tracing::warn!(site = %driver.site(), why, "a driver could not list its nodes"),
    };
    let site = driver.site().clone();
    let known = engine.ask(move |world| {
        let nodes: BTreeSet<NodeId> = world.nodes().filter(|node| node.site == site).map(|node| node.id).collect();
        // What came up while the list was made is not missing from it.
        let young: BTreeSet<NodeId> = world
            .nodes()
            .filter(|node| matches!(node.phase, NodePhase::Launching { .. }) || node.up >= as_of)
            .map(|node| node.id)
            .collect();
        let unknown: BTreeSet<String> =
            world.unknown().filter(|found| found.site == site).map(|found| found.name.clone()).collect();
        (nodes, young, unknown)
    });
    let Ok((known, young, unknown)) = known.await else { return };
    let found: BTreeSet<NodeId> = nodes.iter().filter_map(|found| found.node).collect();
    // What is dead is cleared away before the engine hears of it.
    for node in known.difference(&found).filter(|node| !young.contains(node)) {
        if driver.exists(*node).await == Ok(false) {
            gone(fleet, driver, *node).await;
        }
    }
    let strangers: BTreeSet<String> = nodes
        .iter()
        .filter(|found| !found.node.is_some_and(|node| known.contains(&node)))
        .map(|found| found.name.clone())
        .collect();
    if strangers != unknown {
        let report = Report::Found { site: driver.site().clone(), nodes, as_of };
        let _ = engine.report_all(&[report]).await;
    }
}
