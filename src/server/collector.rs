//! Removes, once an hour, what has been kept long enough.

use std::collections::BTreeSet;
use std::time::Duration;

use atelier_domain::environment::EnvironmentHash;
use atelier_domain::time::Span;
use atelier_engine::clock;
use atelier_engine::fleet::{Collected, Collector};
use atelier_engine::run::Phase;
use atelier_studio::jobs::retention;

use crate::server::state::AppState;

const EVERY: Duration = Duration::from_secs(3_600);
/// A server that has just started has better things to do.
const FIRST: Duration = Duration::from_secs(300);

/// Goes round until the server ends.
pub async fn run(state: AppState) {
    let mut collector = Collector::new(state.fleet().clone());
    let mut pause = FIRST;
    loop {
        tokio::time::sleep(pause).await;
        pause = EVERY;
        // A server that is not the one any more must not judge what is needed.
        if matches!(state.engine().status().phase, Phase::Stopped | Phase::Fenced) {
            return;
        }
        collect_environments(&state).await;
        match collector.collect(clock::now(), retention::kept(&state)).await {
            Ok(none) if none == Collected::default() => {}
            Ok(Collected { uploads, upload_bytes, logs, folders }) => {
                tracing::info!(uploads, upload_bytes, logs, folders, "removed what was kept long enough");
            }
            Err(error) => {
                tracing::warn!(%error, "not all that was kept long enough could be removed; the next hour goes on")
            }
        }
    }
}

/// Named environments that nothing has used for a while, and bases that were replaced.
async fn collect_environments(state: &AppState) {
    let live = state.engine().ask(|world| {
        let jobs = world.jobs().map(|job| &job.spec);
        let specs = jobs.chain(world.arrays().map(|array| &array.spec));
        specs
            .filter_map(|spec| spec.environment.as_ref().map(|pinned| pinned.hash))
            .collect::<BTreeSet<EnvironmentHash>>()
    });
    // Without the engine nobody knows what is needed.
    let Ok(live) = live.await else { return };
    // An instance stands on the base that it was set up with until it stops; those that start get the newest.
    let is_idle = state.engine().ask(|world| world.instances().all(|instance| instance.node.is_none()));
    if is_idle.await.is_ok_and(|is_idle| is_idle) {
        let gone = state.environments().base().collect(&BTreeSet::new()).await;
        if !gone.is_empty() {
            tracing::info!(count = gone.len(), "removed base environments that no instance has any more");
        }
    }
    let keep = Span::hours(24 * state.config().keep_environments_days);
    match state.environments().named().collect(&live, keep, clock::now()).await {
        Ok(gone) if gone.is_empty() => {}
        Ok(gone) => tracing::info!(count = gone.len(), "removed environments that nobody used"),
        Err(error) => tracing::warn!(%error, "environments that nobody uses could not be looked for"),
    }
}
