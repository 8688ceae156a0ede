//! Agents that are not heard of.

use std::time::Duration;

use atelier_domain::compute::NodeId;
use atelier_domain::compute::node::{NodePhase, SILENT_AFTER};
use atelier_domain::world::Report;
use atelier_protocol::BEAT_SECONDS;
use tokio::sync::mpsc;

use super::Fleet;

/// After so long without a sign, a node counts as silent: three beats.
const SILENT_FOR: Duration = Duration::from_secs(3 * BEAT_SECONDS);
const _: () = assert!(SILENT_FOR.as_secs() as i64 * 1_000 == SILENT_AFTER.as_millis());
/// How often that is looked at.
const LOOK: Duration = Duration::from_secs(5);

/// Tells the engine of silent nodes for as long as they are.
pub(super) async fn watch(fleet: Fleet) {
    let Some(engine) = fleet.engine().cloned() else { return };
    // Agents that outlived the last server have until then to call.
    let known = engine.ask(|world| {
        let is_up = |phase: &NodePhase| !matches!(phase, NodePhase::Launching { .. } | NodePhase::Releasing { .. });
        world.nodes().filter(|node| is_up(&node.phase)).map(|node| node.id).collect::<Vec<_>>()
    });
    for node in known.await.unwrap_or_default() {
        fleet.board().expect(node);
    }
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        let silent: Vec<Report> = fleet.board().silent_for(SILENT_FOR).into_iter().map(Report::NodeSilent).collect();
        if !silent.is_empty() && engine.report_all(&silent).await.is_err() {
            return;
        }
    }
}

/// A connection that ends may be the end of a node: its driver looks at once.
pub(super) async fn look_at_lost(fleet: Fleet, mut lost: mpsc::UnboundedReceiver<NodeId>) {
    while let Some(node) = lost.recv().await {
        let Some(engine) = fleet.engine() else { continue };
        let site = engine.ask(move |world| world.node(node).map(|node| node.site.clone())).await;
        let Ok(Some(site)) = site else { continue };
        if let Some(driver) = fleet.driver(&site) {
            tokio::spawn(crate::drivers::check(fleet.clone(), driver, node));
        }
    }
}
