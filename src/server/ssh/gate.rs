//! Who is let in.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use atelier_domain::access::{Action, Whose};
use atelier_domain::account::AccountState;
use atelier_domain::compute::instance::InstanceState;
use atelier_domain::compute::size::ComputeName;
use atelier_domain::compute::{InstanceId, NodeId};
use atelier_domain::ssh::{Address, NotLetIn, is_allowed_variable};
use atelier_domain::throttle::{ADDRESS, Verdict};
use atelier_domain::world::ComputeRef;
use atelier_domain::{UserId, paths};
use atelier_engine::clock;
use atelier_engine::store::{Person, SshKey};
use atelier_gateway::{Entry, Studio};
use atelier_studio::account::entrance::network;
use atelier_studio::seats::Seats;

use crate::server::ssh::visit::{Arrival, Guest};
use crate::server::state::AppState;

/// What people hear when the database is away; the log says more.
const TROUBLE: &str = "The server cannot look that up right now. Try again in a moment.";

/// So many connections one person may have at once.
const MOST_OF_ONE: usize = 32;

pub struct Gate {
    state: AppState,
    inside: Seats<UserId>,
}

/// What is known of an instance that somebody wants to enter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub id: InstanceId,
    pub node: Option<NodeId>,
    pub state: InstanceState,
}

impl Gate {
    pub fn new(state: AppState) -> Self {
        Self { state, inside: Seats::default() }
    }

    async fn paused(&self, from: SocketAddr) -> Result<(), String> {
        let now = clock::now();
        let count = self.state.store().failures(&subject(from.ip())).await.map_err(trouble)?;
        match ADDRESS.verdict(count, now) {
            Verdict::Try { .. } => Ok(()),
            Verdict::Paused { until } => {
                let minutes = u64::try_from(until.since(now).as_millis().div_euclid(60_000) + 1).unwrap_or(1);
                Err(NotLetIn::Paused { address: from.ip().to_string(), minutes }.to_string())
            }
        }
    }

    async fn look_up(&self, fingerprint: &str) -> Result<(SshKey, Person), String> {
        let found = self.state.store().ssh_key_and_person(fingerprint).await.map_err(trouble)?;
        found.ok_or_else(|| NotLetIn::UnknownKey { profile: profile(&self.state) }.to_string())
    }
}

/// Under which name failed tries of an address are counted: apart from those at the portal.
fn subject(address: IpAddr) -> String {
    format!("ssh:{}", network(address))
}

fn trouble(error: impl std::fmt::Display) -> String {
    tracing::error!(%error, "who comes in by SSH could not be looked up");
    TROUBLE.to_owned()
}

fn profile(state: &AppState) -> String {
    format!("{}{}", state.config().address(), paths::PROFILE)
}

/// Whether the owner of a key may come in at all, whatever instance they want.
pub fn judge_person(state: &AppState, key: &SshKey, person: &Person) -> Result<(), NotLetIn> {
    if key.removed_at.is_some() {
        return Err(NotLetIn::RemovedKey { name: key.name.clone(), profile: profile(state) });
    }
    if person.state == AccountState::Active { Ok(()) } else { Err(NotLetIn::Account) }
}

/// Finds an instance and says whether its owner may enter it now.
pub async fn judge_instance(state: &AppState, person: &Person, user: &str) -> Result<Found, NotLetIn> {
    let Address { workspace, instance } = Address::parse(user);
    let not_yours = || NotLetIn::NotYours { instance: atelier_domain::text::shortened(&instance) };
    let own = state.workspace_by_id(&person.workspace).ok_or_else(not_yours)?;
    if workspace.is_some_and(|slug| slug != own.slug) {
        return Err(not_yours());
    }
    let name = ComputeName::parse(&instance).map_err(|_| not_yours())?;
    let (id, owner) = (own.id.clone(), person.id.clone());
    let asked = state.engine().ask(move |world| {
        let Some(ComputeRef::Instance(id)) = world.compute(&id, &name) else { return None };
        let found = world.instance(id).filter(|found| found.owner == owner)?;
        Some(Found { id, node: found.node, state: world.instance_state(found) })
    });
    let found = asked.await.ok().flatten().ok_or_else(not_yours)?;
    person.rights().check(Action::InstanceConnect, Whose::Own).map_err(|_| NotLetIn::NoRight)?;
    let page = format!("{}{}", state.config().address(), paths::instance(&own.slug, &instance));
    // What cannot be read is closed: nobody is let in because the database is away.
    let switched = state.store().ssh_of(found.id).await.ok().flatten();
    if switched.is_none_or(|(by, _)| by != person.id) {
        return Err(NotLetIn::Off { instance, page });
    }
    match NotLetIn::asleep(&instance, found.state, &page) {
        Some(told) => Err(told),
        None => Ok(found),
    }
}

#[async_trait]
impl Studio for Gate {
    async fn offered(&self, fingerprint: &str, from: SocketAddr) -> Result<(), String> {
        // Who has a key that is known here gets in from any address: whoever else tries keys behind the same
        // one must not be able to keep them out. Nothing is told to strangers by that which they would not be
        // told anyway.
        match self.look_up(fingerprint).await {
            Ok(_) => Ok(()),
            Err(words) => self.paused(from).await.and(Err(words)),
        }
    }

    async fn enter(&self, user: &str, fingerprint: &str, from: SocketAddr) -> Entry {
        let (key, person) = match self.look_up(fingerprint).await {
            Ok(found) => found,
            Err(words) => return Entry::Refused(words),
        };
        if let Err(told) = judge_person(&self.state, &key, &person) {
            return Entry::Refused(told.to_string());
        }
        let Some(seat) = self.inside.take(&person.id, MOST_OF_ONE) else {
            tracing::info!(%from, user, key = %key.name, "somebody has too many connections by SSH");
            return Entry::Refused(format!(
                "You have {MOST_OF_ONE} connections by SSH already, and that is the most. Close one that is not needed \
                 any more."
            ));
        };
        let since = self.state.live().newest();
        let judged = judge_instance(&self.state, &person, user).await;
        tracing::info!(%from, user, key = %key.name, is_let_in = judged.is_ok(), "somebody came by SSH");
        match Guest::welcome(&self.state, Arrival { key, person, user, from, judged, since, seat }).await {
            Ok(guest) => Entry::Welcome(Arc::new(guest)),
            Err(error) => Entry::Refused(trouble(error)),
        }
    }

    async fn failed(&self, from: SocketAddr) {
        tracing::info!(%from, "somebody did not get in by SSH");
        if let Err(error) = self.state.store().add_failure(&[(subject(from.ip()), ADDRESS)], clock::now()).await {
            tracing::warn!(%error, "a failed try was not counted");
        }
    }

    fn takes_variable(&self, name: &str, value: &str) -> bool {
        is_allowed_variable(name, value)
    }
}
