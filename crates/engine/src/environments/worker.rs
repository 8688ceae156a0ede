//! Builds named environments, one after another.

use std::sync::Arc;
use std::time::Duration;

use atelier_domain::environment::{EnvironmentHash, Recipe as WrittenRecipe};
use tokio::sync::{oneshot, watch};
use tokio::time::{MissedTickBehavior, interval};

use super::build::{News, build};
use super::failure::{Ended, Failure};
use super::keeper::CancelOnDrop;
use super::library::{BuildFailure, Current, Library, nobody_means_it};
use super::recipe::Recipe;
use super::status::{Built, Phase};
use crate::clock;
use crate::store::KeptState;

/// Live pages hear of a build so often.
const PACE: Duration = Duration::from_secs(1);

/// Runs until it is told to stop.
pub(super) async fn run(library: Library) {
    let mut wake = library.inner.wake.subscribe();
    begin(&library).await;
    loop {
        if wake.borrow_and_update().1 {
            return;
        }
        let next = library.work().queue.front().copied();
        let Some(hash) = next else {
            if wake.changed().await.is_err() {
                return;
            }
            continue;
        };
        if library.ready(hash).is_some() {
            library.work().queue.retain(|waiting| *waiting != hash);
            library.tell(hash, None);
            continue;
        }
        if one(&library, hash, &mut wake).await.is_none() {
            return;
        }
    }
}

/// What somebody wanted before the server was stopped is wanted still.
async fn begin(library: &Library) {
    if let Err(failure) = library.inner.shelf.make() {
        tracing::warn!("{failure}");
    }
    match library.inner.store.environment_builds().await {
        Ok(rows) => {
            let wanted = rows.iter().filter(|row| row.state == KeptState::Wanted);
            wanted.for_each(|row| library.need(row.hash));
        }
        Err(error) => tracing::warn!(%error, "which environments are wanted could not be read"),
    }
    library.refresh_kernels().await;
}

/// Builds one and tells how that ended; nothing if the server stops.
async fn one(library: &Library, hash: EnvironmentHash, wake: &mut watch::Receiver<(u64, bool)>) -> Option<()> {
    let found = find(library, hash).await;
    {
        let mut work = library.work();
        work.queue.retain(|waiting| *waiting != hash);
        work.current = Some(Current { hash, phase: Phase::Making, packages: 0, since: clock::now() });
    }
    tell_pages(library).await;
    let ended = match found {
        Ok((label, written, recipe)) => {
            tracing::info!(%hash, label, "an environment is being built");
            match build_one(library, recipe, wake).await {
                Ok(built) => Ok(Arc::new(built)),
                Err(Ended::Failed(failure)) => {
                    tracing::info!(%hash, label, "an environment could not be built: {failure}");
                    Err(BuildFailure::of(failure, &written))
                }
                Err(Ended::Cancelled) => {
                    library.work().current = None;
                    return None;
                }
            }
        }
        Err(failure) => Err(failure),
    };
    library.keep_build(hash, &ended).await;
    {
        let mut work = library.work();
        work.current = None;
        if let Ok(built) = &ended {
            work.ready.insert(hash, Arc::clone(built));
        }
    }
    tell_pages(library).await;
    library.tell(hash, ended.err().map(|failure| format!("{} {}", failure.why, failure.help).into()));
    library.refresh_kernels().await;
    Some(())
}

/// A version that means this, its name for people, and what is to be built.
async fn find(library: &Library, hash: EnvironmentHash) -> Result<(String, WrittenRecipe, Recipe), BuildFailure> {
    let python = library.python().await.map_err(|failure| BuildFailure {
        why: failure.why,
        help: failure.help,
        line: None,
        printed: Vec::new(),
    })?;
    let versions = library.inner.store.all_environment_versions().await.unwrap_or_default();
    for version in versions {
        let Ok(written) = WrittenRecipe::parse(&version.recipe, None) else { continue };
        let recipe = Library::recipe(&python, &written);
        if recipe.short() == hash {
            return Ok((format!("{}:{}", version.name, version.version), written, recipe));
        }
    }
    Err(nobody_means_it())
}

async fn build_one(library: &Library, recipe: Recipe, wake: &mut watch::Receiver<(u64, bool)>) -> Result<Built, Ended> {
    let cancel = CancelOnDrop(Arc::default());
    let (done, mut is_done) = oneshot::channel();
    let thread = {
        let (library, cancel) = (library.clone(), Arc::clone(&cancel.0));
        move || {
            let mut tell = |news: News<'_>| {
                if let (News::Phase(phase, packages), Some(current)) = (news, library.work().current.as_mut()) {
                    (current.phase, current.packages) = (phase, current.packages.max(packages));
                }
            };
            // Nobody waits for it where the server has stopped.
            let _ = done.send(build(&library.inner.settings, &recipe, &cancel, &mut tell));
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
            _ = pace.tick() => tell_pages(library).await,
            changed = wake.changed() => {
                if changed.is_err() || wake.borrow_and_update().1 {
                    cancel.0.cancel();
                    // Until nothing of it runs any more.
                    let _ = is_done.await;
                    return Err(Ended::Cancelled);
                }
            }
        }
    }
}

async fn tell_pages(library: &Library) {
    if let Err(error) = library.inner.store.tell_environment_pages(clock::now()).await {
        tracing::debug!(%error, "live pages were not told how an environment does");
    }
}
