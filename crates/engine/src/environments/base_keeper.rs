//! Sees to it that the wanted base environment is there: looks, builds, tries again.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use atelier_domain::time::Span;
use tokio::sync::{oneshot, watch};
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::base::{Base, Wishes, read_list};
use super::base_status::{BaseStatus, Built, LINES, Phase};
use super::build::{News, build};
use super::failure::{Ended, Failure};
use super::process::Cancel;
use super::recipe::{Kind, Python, Recipe};
use crate::clock;
use crate::store::BaseEnvironment;

/// Live pages hear of a build so often.
const PACE: Duration = Duration::from_secs(1);

/// How a look at what is wanted ended.
enum Round {
    /// Nothing is to be done until somebody wishes something.
    Done,
    /// Somebody wishes something else.
    Again,
    Stopped,
    Failed(Failure),
}

/// Ends a build that nobody waits for any more.
pub(super) struct CancelOnDrop(pub(super) Arc<Cancel>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Runs until it is told to stop.
pub(super) async fn keep(it: Base) {
    let mut wishes = it.inner.wishes.subscribe();
    it.adopt().await;
    let mut failures = 0;
    loop {
        let delay = match it.round(&mut wishes).await {
            Round::Stopped => return,
            Round::Again => {
                failures = 0;
                continue;
            }
            Round::Done => None,
            Round::Failed(failure) => {
                let delay = it.inner.settings.retries[failures.min(2)];
                failures += 1;
                it.has_failed(failure, delay).await;
                Some(delay)
            }
        };
        let changed = async {
            match delay {
                Some(delay) => tokio::select! {
                    () = sleep(delay) => Ok(false),
                    changed = wishes.changed() => changed.map(|()| true),
                },
                None => wishes.changed().await.map(|()| true),
            }
        };
        match changed.await {
            Ok(true) => failures = 0,
            Ok(false) => {}
            Err(_) => return,
        }
    }
}

impl Base {
    /// Before anything else: what was in use goes on being used, and what was never finished goes.
    async fn adopt(&self) {
        let shelf = self.inner.shelf.clone();
        let sweep = move || match shelf.try_lock() {
            Ok(Some(lock)) if shelf.folder().is_dir() => shelf.sweep(&lock),
            _ => Ok(()),
        };
        if self.inner.shelf.folder().is_dir()
            && let Ok(Err(failure)) = tokio::task::spawn_blocking(sweep).await
        {
            tracing::warn!("{failure}");
        }
        let Ok(row) = self.inner.store.base_environment().await else { return };
        if let Some(built) = self.inner.shelf.look(&row.in_use).filter(|_| !row.in_use.is_empty()) {
            self.set_current(Some(Arc::new(built)));
        }
    }

    fn set_current(&self, built: Option<Arc<Built>>) {
        *self.inner.current.write().unwrap_or_else(PoisonError::into_inner) = built;
    }

    async fn round(&self, wishes: &mut watch::Receiver<Wishes>) -> Round {
        // Seen before the look: what is wished from now on is another round's.
        if wishes.borrow_and_update().stops {
            return Round::Stopped;
        }
        let (row, recipe) = match self.recipe().await {
            Ok(found) => found,
            Err(failure) => return Round::Failed(failure),
        };
        // A Python of another series cannot run what stands on this one.
        if self.in_use().is_some_and(|built| !built.python.fits(&recipe.python)) {
            self.set_current(None);
        }
        let hash = recipe.hash();
        hash.clone_into(&mut self.inner.wanted.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(built) = self.inner.shelf.look(&hash) {
            self.is_ready(built, &row).await;
            return Round::Done;
        }
        if !self.inner.settings.builds {
            self.inner.status.send_replace(BaseStatus::Off);
            return Round::Done;
        }
        self.build(recipe, &row, wishes).await
    }

    /// What is wanted now.
    async fn recipe(&self) -> Result<(BaseEnvironment, Recipe), Failure> {
        let row = self.inner.store.base_environment().await.map_err(|error| {
            tracing::error!(%error, "the list of packages cannot be read");
            Failure::new("The list of packages could not be read from the database.", "The server’s log says more.")
        })?;
        let program = self.inner.settings.python.clone();
        let asked = tokio::task::spawn_blocking(move || Python::ask(&program)).await;
        let python = asked.map_err(|error| Failure::new(format!("Python could not be asked: {error}."), ""))??;
        let recipe = Recipe {
            requirements: read_list(&row),
            python,
            edition: row.edition,
            kind: Kind::Base,
            before: Vec::new(),
        };
        Ok((row, recipe))
    }

    async fn is_ready(&self, built: Built, row: &BaseEnvironment) {
        let built = Arc::new(built);
        tracing::info!(path = %built.path.display(), packages = built.packages.len(), "the base environment is ready");
        self.set_current(Some(Arc::clone(&built)));
        let told = if row.in_use == built.hash {
            self.inner.store.tell_engine_pages(clock::now()).await
        } else {
            self.inner.store.use_base_environment(&built.hash, clock::now()).await
        };
        if let Err(error) = told {
            tracing::warn!(%error, "which environment is in use could not be noted; the next start finds out again");
        }
        self.inner.status.send_replace(BaseStatus::Ready(built));
    }

    async fn has_failed(&self, failure: Failure, delay: Duration) {
        tracing::error!(again_in_s = delay.as_secs(), "the base environment could not be built: {failure}");
        let delay = Span::millis(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
        let next_try = clock::now().plus(delay);
        self.inner.status.send_replace(BaseStatus::Failed { failure, next_try });
        self.tell_pages().await;
    }

    async fn tell_pages(&self) {
        if let Err(error) = self.inner.store.tell_engine_pages(clock::now()).await {
            tracing::debug!(%error, "live pages were not told how the environment does");
        }
    }

    async fn build(&self, recipe: Recipe, row: &BaseEnvironment, wishes: &mut watch::Receiver<Wishes>) -> Round {
        let hash = recipe.hash();
        tracing::info!(hash, packages = recipe.requirements.lines().count(), "the base environment is being built");
        let since = clock::now();
        self.inner.status.send_replace(BaseStatus::Building {
            phase: Phase::Making,
            packages: 0,
            since,
            lines: Vec::new(),
        });
        self.tell_pages().await;
        let cancel = CancelOnDrop(Arc::default());
        let (done, mut is_done) = oneshot::channel();
        let thread = {
            let (it, cancel) = (self.clone(), Arc::clone(&cancel.0));
            move || {
                let mut tell = |news: News<'_>| it.hear(&news);
                // Nobody waits for it where the server has stopped.
                let _ = done.send(build(&it.inner.settings, &recipe, &cancel, &mut tell));
            }
        };
        if let Err(error) = std::thread::Builder::new().name("build-environment".into()).spawn(thread) {
            return Round::Failed(Failure::new(format!("No thread could be started: {error}."), ""));
        }
        let mut news = self.inner.status.subscribe();
        let mut pace = interval(PACE);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let ended = loop {
            tokio::select! {
                ended = &mut is_done => break ended,
                _ = pace.tick() => if news.has_changed().unwrap_or_default() {
                    news.mark_unchanged();
                    self.tell_pages().await;
                },
                changed = wishes.changed() => {
                    let stops = changed.is_err() || wishes.borrow_and_update().stops;
                    let is_same = async { self.recipe().await.is_ok_and(|(_, recipe)| recipe.hash() == hash) };
                    if stops || !is_same.await {
                        cancel.0.cancel();
                        // Until nothing of it runs any more.
                        let _ = is_done.await;
                        return if stops { Round::Stopped } else { Round::Again };
                    }
                }
            }
        };
        match ended {
            Ok(Ok(built)) => {
                tracing::info!(hash, took_ms = built.built_in_ms, "the base environment was built");
                self.is_ready(built, row).await;
                Round::Done
            }
            Ok(Err(Ended::Failed(failure))) => Round::Failed(failure),
            Ok(Err(Ended::Canceled)) => Round::Again,
            Err(_) => Round::Failed(Failure::new("The build broke off.", "The server’s log says more.")),
        }
    }

    fn hear(&self, news: &News<'_>) {
        self.inner.status.send_modify(|status| {
            let BaseStatus::Building { phase, packages, lines, .. } = status else { return };
            match news {
                News::Phase(now, count) => (*phase, *packages) = (*now, (*packages).max(*count)),
                News::Line(line) => {
                    if lines.len() == LINES {
                        lines.remove(0);
                    }
                    lines.push((*line).to_owned());
                }
            }
        });
    }
}
