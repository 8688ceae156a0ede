//! Who is let in at an application's address.
//!
//! A visit is what a cookie there opens: one application of one instance, for its owner or somebody with whom
//! it is shared, under one session of the portal. It is believed for a second, or until something that
//! concerns people or instances changes; then it is read again. Connections that last hold their visit and
//! end when it closes: when the person signs out, is disabled, does not own the instance any more, when a
//! share is taken back, changed or over, and when the instance stops.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use atelier_domain::account::AccountState;
use atelier_domain::compute::instance::InstanceState;
use atelier_domain::compute::{InstanceId, NodeId};
use atelier_domain::history::Topic;
use atelier_domain::ssh::NotLetIn;
use atelier_domain::{SessionKey, UserId};
use atelier_engine::clock;
use atelier_engine::live::Cut;
use atelier_engine::store::AppSession;
use atelier_studio::instances::commands::{JUPYTER, TERMINAL, VSCODE};
use atelier_studio::presence::is_alive;
use atelier_studio::secret;
use futures::StreamExt as _;
use tokio::sync::{Notify, watch};

use crate::server::apps::access::{Access, access_of};
use crate::server::apps::host::Place;
use crate::server::state::AppState;

/// The longest time for which a visit is believed.
const READ_AGAIN: Duration = Duration::from_secs(1);
/// How often lasting connections are judged again, at most.
const JUDGE_AGAIN: Duration = Duration::from_millis(200);
/// How often it is looked whether the time of a share is over.
const LOOK_AT_THE_CLOCK: Duration = Duration::from_millis(500);
/// So many of them are judged at the same time.
const AT_ONCE: usize = 16;
/// So often a visit is read in a row, if something changes each time.
const TRIES: usize = 5;
/// So many visits are remembered.
const MOST: usize = 20_000;
/// What makes a visit stale.
const TOPICS: [Topic; 2] = [Topic::People, Topic::Instances];

/// What a cookie opens.
#[derive(Debug)]
pub struct AppVisit {
    pub user: UserId,
    /// What they are called.
    pub name: String,
    /// How they come in.
    pub access: Access,
    /// Under which session of the portal.
    pub session: SessionKey,
    pub instance: InstanceId,
    /// Its node; nothing while it has none.
    pub node: Option<NodeId>,
    /// Of its cookie's secret.
    hash: String,
    read_at: Instant,
    since: AtomicI64,
    is_closed: watch::Sender<bool>,
}

impl AppVisit {
    /// Waits until it is closed.
    pub fn closed(self: &Arc<Self>) -> impl Future<Output = ()> + Send + 'static {
        let mut closed = self.is_closed.subscribe();
        let visit = Arc::clone(self);
        async move {
            // The sender lives as long as the visit that is held here.
            let _ = closed.wait_for(|is_closed| *is_closed).await;
            drop(visit);
        }
    }

    fn close(&self) {
        self.is_closed.send_replace(true);
    }
}

/// The visits that are in use, by the hash of their cookies' secrets.
#[derive(Debug, Default)]
pub struct AppVisits {
    known: Mutex<HashMap<String, Known>>,
    /// How often visits were closed at once.
    cuts: AtomicU64,
    /// Told when a visit was put here that may have been read too early.
    unsure: Notify,
}

#[derive(Debug)]
struct Known {
    place: Place,
    visit: Arc<AppVisit>,
    /// AppVisits that were read before this one and are held by connections.
    held: Vec<Weak<AppVisit>>,
}

impl AppVisits {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The visit that a cookie's secret opens at that address; nothing if it opens none there.
    pub async fn find(&self, state: &AppState, given: &str, place: &Place) -> Option<Arc<AppVisit>> {
        if given.is_empty() || given.len() > 128 {
            return None;
        }
        let hash = secret::hash(given);
        let known = self.lock().get(&hash).filter(|known| known.place == *place).map(|known| Arc::clone(&known.visit));
        if let Some(visit) = known.filter(|visit| is_fresh(visit, state)) {
            return Some(visit);
        }
        self.read_again(state, &hash, place).await
    }

    /// The same visit as it is now; nothing if it opens nothing any more.
    pub async fn look_again(&self, state: &AppState, visit: &AppVisit, place: &Place) -> Option<Arc<AppVisit>> {
        self.read_again(state, &visit.hash, place).await
    }

    /// Reads a visit, and once more if something was cut or changed while it was read: what was read before
    /// that must not stay open.
    async fn read_again(&self, state: &AppState, hash: &str, place: &Place) -> Option<Arc<AppVisit>> {
        let mut tries = 0;
        loop {
            let cuts = self.cuts.load(Ordering::Acquire);
            let visit = self.put(hash, place, read(state, hash, place).await)?;
            let was_cut = self.cuts.load(Ordering::Acquire) != cuts;
            if !was_cut && !has_changed_since(&visit, state) {
                return Some(visit);
            }
            tries += 1;
            if tries == TRIES {
                // Something changes all the time: whoever judges lasting connections looks at this one again.
                self.unsure.notify_one();
                return if was_cut { self.put(hash, place, None) } else { Some(visit) };
            }
        }
    }

    /// Remembers a visit as it was just read, and closes what it was before if that allowed something else.
    fn put(&self, hash: &str, place: &Place, read: Option<AppVisit>) -> Option<Arc<AppVisit>> {
        let mut known = self.lock();
        let Some(visit) = read.map(Arc::new) else {
            if let Some(known) = known.remove(hash) {
                known.close();
            }
            return None;
        };
        if known.len() >= MOST {
            known.retain(|_, known| known.is_held());
        }
        let entry = known.entry(hash.to_owned()).or_insert_with(|| Known {
            place: place.clone(),
            visit: Arc::clone(&visit),
            held: Vec::new(),
        });
        if !Arc::ptr_eq(&entry.visit, &visit) {
            let before = std::mem::replace(&mut entry.visit, Arc::clone(&visit));
            entry.held.retain(|held| held.strong_count() > 0);
            if before.node == visit.node && before.access.is_like(visit.access) {
                entry.held.push(Arc::downgrade(&before));
            } else {
                // It was stopped or moved, so that what led to the old node leads nowhere; or less is
                // allowed, or more.
                before.close();
                entry.held.drain(..).filter_map(|held| held.upgrade()).for_each(|visit| visit.close());
            }
        }
        Some(visit)
    }

    /// The visits through which connections are held open.
    fn held(&self) -> Vec<(String, Place, Arc<AppVisit>)> {
        let mut known = self.lock();
        known.retain(|_, known| known.is_held() || known.visit.read_at.elapsed() < READ_AGAIN);
        let held = known.iter_mut().filter_map(|(hash, known)| known.is_held().then_some((hash, known)));
        held.map(|(hash, known)| (hash.clone(), known.place.clone(), Arc::clone(&known.visit))).collect()
    }

    /// Reads those of the held visits again of which that is true, several at a time: whoever has to go must
    /// not wait for others.
    async fn recheck(&self, state: &AppState, is_stale: impl Fn(&AppVisit) -> bool) {
        let stale =
            self.held().into_iter().filter(|(_, _, visit)| is_stale(visit)).map(|(hash, place, _)| (hash, place));
        let stale: Vec<(String, Place)> = stale.collect();
        let read = |(hash, place): (String, Place)| async move { drop(self.read_again(state, &hash, &place).await) };
        futures::stream::iter(stale).for_each_concurrent(AT_ONCE, read).await;
    }

    /// Closes visits at once, and what was read before and is put here after.
    fn close(&self, is_meant: impl Fn(&AppVisit) -> bool) {
        let mut known = self.lock();
        self.cuts.fetch_add(1, Ordering::AcqRel);
        known.retain(|_, known| {
            let is_meant = is_meant(&known.visit);
            if is_meant {
                known.close();
            }
            !is_meant
        });
    }
}

impl Known {
    /// Whether a connection goes through it, or through one that it was before.
    fn is_held(&mut self) -> bool {
        self.held.retain(|held| held.strong_count() > 0);
        !self.held.is_empty() || Arc::strong_count(&self.visit) > 1
    }

    fn close(&self) {
        self.visit.close();
        self.held.iter().filter_map(Weak::upgrade).for_each(|visit| visit.close());
    }
}

/// Judges lasting connections again whenever something has changed, for as long as the server runs.
pub async fn keep(state: AppState) {
    let (mut cuts, mut revisions) = (state.live().cuts(), state.live().watch());
    let visits = state.app_visits();
    let mut look = tokio::time::interval(LOOK_AT_THE_CLOCK);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = look.tick() => {
                let now = clock::now();
                if visits.lock().values().any(|known| known.visit.access.is_over(now)) {
                    visits.close(|visit| visit.access.is_over(now));
                }
            }
            cut = cuts.recv() => match cut {
                Ok(Cut::All) | Err(tokio::sync::broadcast::error::RecvError::Closed) => return visits.close(|_| true),
                Ok(Cut::Person(user)) => visits.close(|visit| visit.user == user),
                Ok(Cut::PersonExcept(user, session)) => {
                    visits.close(|visit| visit.user == user && visit.session != session);
                }
                Ok(Cut::Session(session)) => visits.close(|visit| visit.session == session),
                // Their roles may open less than before, their own included.
                Ok(Cut::Rights(user)) => visits.recheck(&state, |visit| visit.user == user).await,
                // Too many at once to be heard one by one.
                Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => visits.close(|_| true),
            },
            () = visits.unsure.notified() => {
                visits.recheck(&state, |visit| has_changed_since(visit, &state)).await;
                tokio::time::sleep(JUDGE_AGAIN).await;
            }
            changed = revisions.changed() => {
                if changed.is_err() {
                    return;
                }
                visits.recheck(&state, |visit| has_changed_since(visit, &state)).await;
                tokio::time::sleep(JUDGE_AGAIN).await;
            }
        }
    }
}

fn has_changed_since(visit: &AppVisit, state: &AppState) -> bool {
    let (since, newest) = (visit.since.load(Ordering::Relaxed), state.live().newest());
    if since == newest {
        return false;
    }
    if !state.live().changed_since(since, &TOPICS).is_empty() {
        return true;
    }
    visit.since.fetch_max(newest, Ordering::Relaxed);
    false
}

fn is_fresh(visit: &AppVisit, state: &AppState) -> bool {
    !*visit.is_closed.borrow()
        && !visit.access.is_over(clock::now())
        && visit.read_at.elapsed() < READ_AGAIN
        && !has_changed_since(visit, state)
}

/// Reads all that a visit depends on. What cannot be read is closed: nobody is let in because the database is
/// away.
async fn read(state: &AppState, hash: &str, place: &Place) -> Option<AppVisit> {
    // Before reading: what changes in between makes it stale at once.
    let since = state.live().newest();
    let (AppSession { session, user, instance, app, .. }, info, person) = match state.store().app_session(hash).await {
        Ok(found) => found?,
        Err(error) => {
            tracing::error!(%error, "who may reach an application could not be read");
            return None;
        }
    };
    let is_theirs = person.state == AccountState::Active
        && is_alive(&info, state.presence(), state.config().sessions, clock::now())
        && app == place.app;
    let workspace = state.workspace_by_slug(&place.workspace).filter(|workspace| workspace.id == person.workspace)?;
    if !is_theirs {
        return None;
    }
    let name = place.instance.clone();
    let asked = state.engine().ask(move |world| {
        let found = world.instance(instance)?;
        let is_it = found.workspace == workspace.id && found.name.as_str() == name;
        is_it.then(|| (found.owner.clone(), found.node))
    });
    if !is_offered(state, instance, &app).await {
        return None;
    }
    let (owner, node) = asked.await.ok().flatten()?;
    let access = match access_of(state, &person, &owner, instance, &app).await {
        Ok(access) => access?,
        Err(error) => {
            tracing::error!(%error, "whether an application is shared could not be read");
            return None;
        }
    };
    if access != Access::Own {
        state.share_uses().note((instance, app, user.clone()), clock::now());
    }
    let is_closed = watch::Sender::new(false);
    let (since, read_at) = (AtomicI64::new(since), clock::instant());
    let hash = hash.to_owned();
    Some(AppVisit { user, name: person.name, access, session, instance, node, hash, read_at, since, is_closed })
}

/// Why an application that was open cannot be opened again, for who had it open; nothing if it can, or can in
/// a moment. Asked when a way to it has ended: whatever ended it may be quicker than who judges visits.
pub async fn why_over(state: &AppState, visit: &AppVisit, place: &Place) -> Option<String> {
    use InstanceState as S;
    if state.live().is_stopping() {
        return None;
    }
    if state.app_visits().look_again(state, visit, place).await.is_none() {
        return Some("You are signed out, or may not open this any more.".to_owned());
    }
    let instance = visit.instance;
    let asked = state.engine().ask(move |world| world.instance(instance).map(|found| world.instance_state(found)));
    match asked.await.ok().flatten()? {
        S::Creating | S::SettingUp | S::UserSettingUp | S::Starting | S::Restarting => None,
        found => {
            let page = atelier_domain::paths::instance(&place.workspace, &place.instance);
            let page = format!("{}{page}", state.config().address());
            NotLetIn::asleep(&place.instance, found, &page).map(|told| told.to_string())
        }
    }
}

/// Whether an instance has that application: one that was removed or has another name now is nobody's.
pub(super) async fn is_offered(state: &AppState, instance: InstanceId, app: &str) -> bool {
    if [JUPYTER, TERMINAL, VSCODE].contains(&app) {
        return true;
    }
    state.store().has_app(instance, app).await.unwrap_or_else(|error| {
        tracing::error!(%error, "whether an application is there could not be read");
        false
    })
}
