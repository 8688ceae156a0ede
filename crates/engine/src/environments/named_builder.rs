//! Builds named environments, one after another.

use std::sync::Arc;
use std::time::Duration;

use atelier_domain::environment::{EnvironmentHash, Recipe as WrittenRecipe};
use tokio::sync::{oneshot, watch};
use tokio::time::{MissedTickBehavior, interval};

use super::base_keeper::CancelOnDrop;
use super::base_status::{Built, Phase};
use super::build::{News, build};
use super::failure::{Ended, Failure};
use super::named::{BuildFailure, Current, Named, nobody_means_it};
use super::recipe::Recipe;
use crate::clock;
use crate::store::{self, KeptState};

/// Live pages hear of a build so often.
const PACE: Duration = Duration::from_secs(1);

/// A version by its name for people, its list, and what is to be built.
type Found = (String, WrittenRecipe, Recipe);

/// Runs until it is told to stop.
pub(super) async fn run(named: Named) {
    let mut wake = named.inner.wake.subscribe();
    begin(&named).await;
    loop {
        if wake.borrow_and_update().1 {
            return;
        }
        let next = named.work().queue.front().copied();
        let Some(hash) = next else {
            if wake.changed().await.is_err() {
                return;
            }
            continue;
        };
        if let Some(built) = named.ready(hash) {
            named.work().queue.retain(|waiting| *waiting != hash);
            // Whoever was killed between building it and noting that has not noted it.
            named.keep_build(hash, &Ok(built)).await;
            named.tell(hash, None);
            continue;
        }
        if one(&named, hash, &mut wake).await.is_none() {
            return;
        }
    }
}

/// What somebody wanted before the server was stopped is wanted still.
async fn begin(named: &Named) {
    if let Err(failure) = named.inner.shelf.make() {
        tracing::warn!("{failure}");
    }
    match named.inner.store.environment_builds().await {
        Ok(rows) => {
            for row in rows.iter().filter(|row| row.state == KeptState::Wanted) {
                match named.ready(row.hash) {
                    Some(built) => named.keep_build(row.hash, &Ok(built)).await,
                    None => named.need(row.hash),
                }
            }
        }
        Err(error) => tracing::warn!(%error, "which environments are wanted could not be read"),
    }
    named.refresh_kernels().await;
}

/// Builds one and tells how that ended; nothing if the server stops.
async fn one(named: &Named, hash: EnvironmentHash, wake: &mut watch::Receiver<(u64, bool)>) -> Option<()> {
    let found = find(named, hash, wake).await?;
    {
        let mut work = named.work();
        work.queue.retain(|waiting| *waiting != hash);
        work.current = Some(Current { hash, phase: Phase::Making, packages: 0, since: clock::now() });
    }
    tell_pages(named).await;
    let ended = match found {
        Ok((label, written, recipe)) => {
            tracing::info!(%hash, label, "an environment is being built");
            match build_one(named, recipe, wake).await {
                Ok(built) => Ok(Arc::new(built)),
                Err(Ended::Failed(failure)) => {
                    tracing::info!(%hash, label, "an environment could not be built: {failure}");
                    Err(BuildFailure::of(failure, &written))
                }
                Err(Ended::Canceled) => {
                    named.work().current = None;
                    return None;
                }
            }
        }
        Err(failure) => Err(failure),
    };
    named.keep_build(hash, &ended).await;
    {
        let mut work = named.work();
        work.current = None;
        if let Ok(built) = &ended {
            work.ready.insert(hash, Arc::clone(built));
        }
    }
    tell_pages(named).await;
    named.tell(hash, ended.err().map(|failure| format!("{} {}", failure.why, failure.help).into()));
    named.refresh_kernels().await;
    Some(())
}

/// A version that means this, its name for people, and what is to be built.
/// Nothing if the server stops before the store can be read.
async fn find(
    named: &Named,
    hash: EnvironmentHash,
    wake: &mut watch::Receiver<(u64, bool)>,
) -> Option<Result<Found, BuildFailure>> {
    let python = match named.python().await {
        Ok(python) => python,
        Err(Failure { why, help, .. }) => {
            return Some(Err(BuildFailure { why, help, line: None, printed: Vec::new() }));
        }
    };
    let store = &named.inner.store;
    let read =
        async || store::Result::Ok((store.all_environment_versions().await?, store.environment_build(hash).await?));
    let (versions, known) = loop {
        match read().await {
            Ok(read) => break read,
            // Jobs wait for it: a store that is away for a moment is no reason to fail them.
            Err(error) => tracing::warn!(%error, "what is to be built could not be read; it is tried again"),
        }
        tokio::time::sleep(PACE).await;
        if wake.borrow_and_update().1 {
            return None;
        }
    };
    for version in versions {
        let Ok(written) = WrittenRecipe::parse(&version.recipe, None) else { continue };
        let recipe = Named::recipe(&python, &written);
        if recipe.short() == hash {
            let before = known.map(|row| row.packages).unwrap_or_default();
            let label = format!("{}:{}", version.name, version.version);
            return Some(Ok((label, written, Recipe { before, ..recipe })));
        }
    }
    Some(Err(nobody_means_it()))
}

async fn build_one(named: &Named, recipe: Recipe, wake: &mut watch::Receiver<(u64, bool)>) -> Result<Built, Ended> {
    let cancel = CancelOnDrop(Arc::default());
    let (done, mut is_done) = oneshot::channel();
    let thread = {
        let (named, cancel) = (named.clone(), Arc::clone(&cancel.0));
        move || {
            let mut tell = |news: News<'_>| {
                if let (News::Phase(phase, packages), Some(current)) = (news, named.work().current.as_mut()) {
                    (current.phase, current.packages) = (phase, current.packages.max(packages));
                }
            };
            // Nobody waits for it where the server has stopped.
            let _ = done.send(build(&named.inner.settings, &recipe, &cancel, &mut tell));
        }
    };
    let spawned = std::thread::Builder::new().name("build-environment".into()).spawn(thread);
    spawned.map_err(|error| Failure::new(format!("No thread could be started: {error}."), ""))?;
    let mut pace = interval(PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            ended = &mut is_done => {
                let broke_off = || Ended::Failed(Failure::new("The build broke off.", "The server’s log says more."));
                return ended.unwrap_or_else(|_| Err(broke_off()));
            }
            _ = pace.tick() => tell_pages(named).await,
            changed = wake.changed() => {
                if changed.is_err() || wake.borrow_and_update().1 {
                    cancel.0.cancel();
                    // Until nothing of it runs any more.
                    let _ = is_done.await;
                    return Err(Ended::Canceled);
                }
            }
        }
    }
}

async fn tell_pages(named: &Named) {
    if let Err(error) = named.inner.store.tell_environment_pages(clock::now()).await {
        tracing::debug!(%error, "live pages were not told how an environment does");
    }
}
