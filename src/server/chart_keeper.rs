//! Notes how many nodes of each cluster are in which state, for the chart on its page: a row when that has
//! changed, at most one every few seconds. Follows the engine's own word, so nothing is looked at while
//! nothing happens.

use std::collections::BTreeMap;
use std::time::Duration;

use atelier_domain::compute::ClusterId;
use atelier_domain::history::Topic;
use atelier_domain::time::{Span, Timestamp};
use atelier_engine::clock;
use atelier_engine::store::NodeCounts;
use atelier_studio::clusters::list::count;

use crate::server::state::AppState;

/// The shortest time between two looks.
const PACE: Duration = Duration::from_secs(5);
/// How long rows are kept.
const KEPT: Span = Span::hours(7 * 24);
/// How often old ones are dropped.
const PRUNE_EVERY: Span = Span::hours(1);

/// Runs until the engine has ended.
pub async fn keep(state: AppState) {
    let mut status = state.engine().watch();
    let mut known: BTreeMap<ClusterId, NodeCounts> = BTreeMap::new();
    let (mut seen, mut pruned) = (None, Timestamp(0));
    loop {
        let newest = state.live().newest();
        let is_news =
            seen.is_none_or(|seen| !state.live().changed_since(seen, &[Topic::Clusters, Topic::Jobs]).is_empty());
        if is_news && look(&state, &mut known).await {
            seen = Some(newest);
        }
        let now = clock::now();
        if now.since(pruned) >= PRUNE_EVERY {
            pruned = now;
            if let Err(error) = state.store().prune_cluster_counts(Timestamp(now.0 - KEPT.as_millis())).await {
                tracing::warn!(%error, "old counts of nodes were not dropped; the next hour tries again");
            }
        }
        // What happens meanwhile is seen after the pause.
        tokio::time::sleep(PACE).await;
        if status.changed().await.is_err() {
            return;
        }
    }
}

/// Looks at all clusters once and notes those that have changed. Says whether that worked.
async fn look(state: &AppState, known: &mut BTreeMap<ClusterId, NodeCounts>) -> bool {
    let asked = state.engine().ask(|world| {
        let counts = world.clusters().map(|cluster| (cluster.id, count(world, cluster.id).0));
        counts.collect::<BTreeMap<ClusterId, NodeCounts>>()
    });
    // An engine that does not answer has ended or loads its records again.
    let Ok(present) = asked.await else { return false };
    let changed: Vec<(ClusterId, NodeCounts)> = present
        .iter()
        .filter(|(id, counts)| known.get(id) != Some(counts))
        .map(|(id, counts)| (*id, *counts))
        .collect();
    let gone: Vec<ClusterId> = known.keys().filter(|id| !present.contains_key(id)).copied().collect();
    let written = async {
        state.store().note_cluster_counts(clock::now(), &changed).await?;
        state.store().forget_cluster_counts(&gone).await
    };
    if let Err(error) = written.await {
        tracing::warn!(%error, "counts of nodes were not noted; the next change tries again");
        return false;
    }
    *known = present;
    true
}
