//! Who is let in at an application's address.
//!
//! A door is what a cookie there opens: one application of one instance, for its owner or somebody with whom it is shared, under
//! one session of the portal. It is believed for a second, or until something that concerns people or instances changes; then it
//! is read again. Connections that last hold their door and end when it closes: when the person signs out, is disabled, does not
//! own the instance any more, when a share is taken back, changed or over, and when the instance stops.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use atelier_domain::account::AccountState;
use atelier_domain::compute::{InstanceId, NodeId};
use atelier_domain::history::Topic;
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

/// The longest time for which a door is believed.
const READ_AGAIN: Duration = Duration::from_secs(1);
/// How often lasting connections are judged again, at most.
const JUDGE_AGAIN: Duration = Duration::from_millis(200);
/// How often it is looked whether the time of a share is over.
const LOOK_AT_THE_CLOCK: Duration = Duration::from_millis(500);
/// So many of them are judged at the same time.
const AT_ONCE: usize = 16;
/// So often a door is read in a row, if something changes each time.
const TRIES: usize = 5;
/// So many doors are remembered.
const MOST: usize = 20_000;
/// What makes a door stale.
const TOPICS: [Topic; 2] = [Topic::People, Topic::Instances];

/// What a cookie opens.
#[derive(Debug)]
pub struct Door {
    /// For whom.
    pub user: UserId,
    /// What they are called.
    pub name: String,
    /// How they come in.
    pub access: Access,
    /// Under which session of the portal.
    pub session: SessionKey,
    /// The instance.
    pub instance: InstanceId,
    /// Its node; nothing while it has none.
    pub node: Option<NodeId>,
    read_at: Instant,
    since: AtomicI64,
    is_closed: watch::Sender<bool>,
}

impl Door {
    /// Waits until it is closed.
    pub fn closed(self: &Arc<Self>) -> impl Future<Output = ()> + Send + 'static {
        let mut closed = self.is_closed.subscribe();
        let door = Arc::clone(self);
        async move {
            // The sender lives as long as the door that is held here.
            let _ = closed.wait_for(|is_closed| *is_closed).await;
            drop(door);
        }
    }

    fn close(&self) {
        self.is_closed.send_replace(true);
    }
}

/// The doors that are in use, by the hash of their cookies' secrets.
#[derive(Debug, Default)]
pub struct Doors {
    known: Mutex<HashMap<String, Known>>,
    /// How often doors were closed at once.
    cuts: AtomicU64,
    /// Told when a door was put here that may have been read too early.
    unsure: Notify,
}

#[derive(Debug)]
struct Known {
    place: Place,
    door: Arc<Door>,
    /// Doors that were read before this one and are held by connections.
    held: Vec<Weak<Door>>,
}

impl Doors {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The door that a cookie's secret opens at that address; nothing if it opens none there.
    pub async fn find(&self, state: &AppState, given: &str, place: &Place) -> Option<Arc<Door>> {
        if given.is_empty() || given.len() > 128 {
            return None;
        }
        let hash = secret::hash(given);
        let known = self.lock().get(&hash).filter(|known| known.place == *place).map(|known| Arc::clone(&known.door));
        if let Some(door) = known.filter(|door| is_fresh(door, state)) {
            return Some(door);
        }
        self.read_again(state, &hash, place).await
    }

    /// Reads a door, and once more if something was cut or changed while it was read: what was read before that must not stay open.
    async fn read_again(&self, state: &AppState, hash: &str, place: &Place) -> Option<Arc<Door>> {
        let mut tries = 0;
        loop {
            let cuts = self.cuts.load(Ordering::Acquire);
            let door = self.put(hash, place, read(state, hash, place).await)?;
            let was_cut = self.cuts.load(Ordering::Acquire) != cuts;
            if !was_cut && !has_changed_since(&door, state) {
                return Some(door);
            }
            tries += 1;
            if tries == TRIES {
                // Something changes all the time: whoever judges lasting connections looks at this one again.
                self.unsure.notify_one();
                return if was_cut { self.put(hash, place, None) } else { Some(door) };
            }
        }
    }

    /// Remembers a door as it was just read, and closes what it was before if that allowed something else.
    fn put(&self, hash: &str, place: &Place, read: Option<Door>) -> Option<Arc<Door>> {
        let mut known = self.lock();
        let Some(door) = read.map(Arc::new) else {
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
            door: Arc::clone(&door),
            held: Vec::new(),
        });
        if !Arc::ptr_eq(&entry.door, &door) {
            let before = std::mem::replace(&mut entry.door, Arc::clone(&door));
            entry.held.retain(|held| held.strong_count() > 0);
            if before.node == door.node && before.access.is_like(door.access) {
                entry.held.push(Arc::downgrade(&before));
            } else {
                // It was stopped or moved, so that what led to the old node leads nowhere; or less is allowed, or more.
                before.close();
                entry.held.drain(..).filter_map(|held| held.upgrade()).for_each(|door| door.close());
            }
        }
        Some(door)
    }

    /// The doors through which connections are held open.
    fn held(&self) -> Vec<(String, Place, Arc<Door>)> {
        let mut known = self.lock();
        known.retain(|_, known| known.is_held() || known.door.read_at.elapsed() < READ_AGAIN);
        let held = known.iter_mut().filter_map(|(hash, known)| known.is_held().then_some((hash, known)));
        held.map(|(hash, known)| (hash.clone(), known.place.clone(), Arc::clone(&known.door))).collect()
    }

    /// Reads those of the held doors again of which that is true, several at a time: whoever has to go must not wait for others.
    async fn judge(&self, state: &AppState, is_stale: impl Fn(&Door) -> bool) {
        let stale = self.held().into_iter().filter(|(_, _, door)| is_stale(door)).map(|(hash, place, _)| (hash, place));
        let stale: Vec<(String, Place)> = stale.collect();
        let read = |(hash, place): (String, Place)| async move { drop(self.read_again(state, &hash, &place).await) };
        futures::stream::iter(stale).for_each_concurrent(AT_ONCE, read).await;
    }

    /// Closes doors at once, and what was read before and is put here after.
    fn close(&self, is_meant: impl Fn(&Door) -> bool) {
        let mut known = self.lock();
        self.cuts.fetch_add(1, Ordering::AcqRel);
        known.retain(|_, known| {
            let is_meant = is_meant(&known.door);
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
        !self.held.is_empty() || Arc::strong_count(&self.door) > 1
    }

    fn close(&self) {
        self.door.close();
        self.held.iter().filter_map(Weak::upgrade).for_each(|door| door.close());
    }
}

/// Judges lasting connections again whenever something has changed, for as long as the server runs.
pub async fn keep(state: AppState) {
    let (mut cuts, mut revisions) = (state.live().cuts(), state.live().watch());
    let doors = state.doors();
    let mut look = tokio::time::interval(LOOK_AT_THE_CLOCK);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = look.tick() => {
                let now = clock::now();
                if doors.lock().values().any(|known| known.door.access.is_over(now)) {
                    doors.close(|door| door.access.is_over(now));
                }
            }
            cut = cuts.recv() => match cut {
                Ok(Cut::All) | Err(tokio::sync::broadcast::error::RecvError::Closed) => return doors.close(|_| true),
                Ok(Cut::Person(user)) => doors.close(|door| door.user == user),
                Ok(Cut::PersonExcept(user, session)) => {
                    doors.close(|door| door.user == user && door.session != session);
                }
                Ok(Cut::Session(session)) => doors.close(|door| door.session == session),
                // Their roles may open less than before, their own included.
                Ok(Cut::Rights(user)) => doors.judge(&state, |door| door.user == user).await,
                // Too many at once to be heard one by one.
                Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => doors.close(|_| true),
            },
            () = doors.unsure.notified() => {
                doors.judge(&state, |door| has_changed_since(door, &state)).await;
                tokio::time::sleep(JUDGE_AGAIN).await;
            }
            changed = revisions.changed() => {
                if changed.is_err() {
                    return;
                }
                doors.judge(&state, |door| has_changed_since(door, &state)).await;
                tokio::time::sleep(JUDGE_AGAIN).await;
            }
        }
    }
}

fn has_changed_since(door: &Door, state: &AppState) -> bool {
    let (since, newest) = (door.since.load(Ordering::Relaxed), state.live().newest());
    if since == newest {
        return false;
    }
    if !state.live().changed_since(since, &TOPICS).is_empty() {
        return true;
    }
    door.since.fetch_max(newest, Ordering::Relaxed);
    false
}

fn is_fresh(door: &Door, state: &AppState) -> bool {
    !*door.is_closed.borrow()
        && !door.access.is_over(clock::now())
        && door.read_at.elapsed() < READ_AGAIN
        && !has_changed_since(door, state)
}

/// Reads all that a door depends on. What cannot be read is closed: nobody is let in because the database is away.
async fn read(state: &AppState, hash: &str, place: &Place) -> Option<Door> {
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
    Some(Door { user, name: person.name, access, session, instance, node, read_at, since, is_closed })
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
