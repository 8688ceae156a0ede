//! Who acts through an instance or a job: recognised by the signature of its token, judged with how things
//! stand now.
//!
//! What a judgement needs is remembered for a second, or until something that concerns people or instances
//! changes, so that a job with many questions costs the database one.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use atelier_domain::account::AccountState;
use atelier_domain::compute::node::Holder;
use atelier_domain::compute::{JobId, NodeId};
use atelier_domain::history::Topic;
use atelier_domain::workload::{Claims, Held, PREFIX, Refusal, Scope, Standing, judge};
use atelier_domain::world::{ComputeRef, World};
use atelier_domain::{SessionKey, UserId};
use atelier_engine::clock;
use atelier_engine::fleet::held;
use atelier_engine::store::{self, Person, Workspace};

use crate::caller::{Actor, Origin};
use crate::studio::Studio;

/// The longest time for which what was read is believed.
const READ_AGAIN: Duration = Duration::from_secs(1);
/// What makes it stale before. Who signs out everywhere is told to the history alone.
const TOPICS: [Topic; 4] = [Topic::People, Topic::Instances, Topic::Clusters, Topic::History];
/// So many are remembered.
const MOST: usize = 10_000;
/// The header in which a job says which one it is.
pub const JOB: &str = "atelier-job";

/// Why a token of this kind is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotLetIn {
    /// It was not made here.
    Strange,
    /// Its owner has a temporary password.
    TemporaryPassword,
    /// It does not count now.
    Judged(Refusal),
}

#[derive(Debug)]
struct Entry {
    person: Person,
    epoch: i64,
    workspace: Workspace,
    held: Option<Held>,
    /// How far its token reaches.
    scope: Scope,
    read_at: Instant,
    since: i64,
}

/// Those who acted lately, by person and node.
#[derive(Debug, Default)]
pub struct Workloads {
    entries: RwLock<HashMap<(UserId, NodeId), Arc<Entry>>>,
}

/// Whether a secret is a token of an instance or a job.
pub fn is_one(given: &str) -> bool {
    given.starts_with(PREFIX)
}

impl Workloads {
    /// Finds in whose name a token acts, and from where.
    pub async fn enter(
        &self,
        state: &Studio,
        given: &str,
        job: Option<JobId>,
    ) -> store::Result<Result<Arc<Actor>, NotLetIn>> {
        let Some(claims) = state.fleet().signer().and_then(|signer| signer.recognise(given)) else {
            return Ok(Err(NotLetIn::Strange));
        };
        let Some(entry) = self.entry(state, &claims).await? else { return Ok(Err(NotLetIn::Strange)) };
        let standing =
            Standing { state: entry.person.state, epoch: entry.epoch, held: entry.held.as_ref(), now: clock::now() };
        if let Err(refusal) = judge(&claims, &standing) {
            if refusal == Refusal::SignedOut {
                // It runs on, in the name of somebody who ended their sessions: the next token is on its way.
                let (fleet, node) = (state.fleet().clone(), claims.node);
                tokio::spawn(async move { fleet.introduce_all(node).await });
            }
            return Ok(Err(NotLetIn::Judged(refusal)));
        }
        if entry.person.state == AccountState::Waiting {
            return Ok(Err(NotLetIn::TemporaryPassword));
        }
        let name = entry.held.as_ref().map(|held| held.origin(claims.node, job));
        let origin = name.map(|name| Origin { name, scope: entry.scope });
        Ok(Ok(Arc::new(Actor {
            person: entry.person.clone(),
            workspace: entry.workspace.clone(),
            session: SessionKey::new(format!("workload-{}-{}", claims.node.0, claims.user)),
            origin,
        })))
    }

    async fn entry(&self, state: &Studio, claims: &Claims) -> store::Result<Option<Arc<Entry>>> {
        let key = (claims.user.clone(), claims.node);
        let known = self.entries.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(entry) = known.filter(|entry| is_fresh(entry, state)) {
            return Ok(Some(entry));
        }
        // Before reading: what changes in between makes the entry stale at once.
        let since = state.live().newest();
        let Some((person, epoch)) = state.store().person_and_epoch(&claims.user).await? else { return Ok(None) };
        let Some(workspace) = state.workspace_by_id(&person.workspace) else { return Ok(None) };
        let (node, user) = (claims.node, claims.user.clone());
        let asked = state.engine().ask(move |world| (held(world, node, &user), compute_of(world, node)));
        let (held, compute) = asked.await.unwrap_or_default();
        let scope = match compute {
            Some((compute, owner)) => {
                let widened = state.store().wide_tokens_of(compute).await?;
                if widened.is_some_and(|(by, _)| by == owner) { Scope::All } else { Scope::Own }
            }
            None => Scope::Own,
        };
        let entry = Arc::new(Entry { person, epoch, workspace, held, scope, read_at: clock::instant(), since });
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= MOST {
            entries.retain(|_, entry| entry.read_at.elapsed() < READ_AGAIN);
        }
        // What has just begun is not kept waiting by what was read a moment before.
        if entry.held.is_some() {
            entries.insert(key, Arc::clone(&entry));
        } else {
            entries.remove(&key);
        }
        Ok(Some(entry))
    }
}

/// The instance or cluster that a node belongs to, with who owns it; none for a serverless job.
fn compute_of(world: &World, node: NodeId) -> Option<(ComputeRef, UserId)> {
    let compute = match world.node(node)?.holder {
        Holder::Instance(id) => ComputeRef::Instance(id),
        Holder::Cluster(id) => ComputeRef::Cluster(id),
        Holder::Job(_) => return None,
    };
    Some((compute, world.compute_owner(compute)?.clone()))
}

fn is_fresh(entry: &Entry, state: &Studio) -> bool {
    entry.read_at.elapsed() < READ_AGAIN
        && (entry.since == state.live().newest() || state.live().changed_since(entry.since, &TOPICS).is_empty())
}
