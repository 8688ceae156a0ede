//! Tokens with which instances and jobs act in their owner's name: signed here, told to agents, recognised
//! again.
//!
//! An agent gets the token of a person before the first thing that is theirs, and asks for the next one in
//! time. None is stored: what a token is worth is judged when it is shown (`atelier_domain::workload`).

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use atelier_domain::compute::NodeId;
use atelier_domain::compute::node::Holder;
use atelier_domain::workload::{Claims, Held, LIFE, Standing, judge_new};
use atelier_domain::world::World;
use atelier_domain::{Timestamp, UserId};
use atelier_protocol::{Identity as Told, Person, ToAgent};
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use super::{Fleet, dispatch, lock};
use crate::clock;

/// Who has been told a token over a connection.
pub(super) type Knows = Arc<Mutex<HashSet<UserId>>>;

/// What tokens are signed with, and where they count.
pub struct Signer {
    key: Vec<u8>,
    url: String,
}

impl std::fmt::Debug for Signer {
    /// Without the key.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Signer").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Signer {
    /// With the installation's key, for a server at that address.
    pub fn new(key: &str, url: impl Into<String>) -> Self {
        Self { key: key.as_bytes().to_vec(), url: url.into() }
    }

    fn mac(&self, text: &str) -> Option<Hmac<Sha256>> {
        // Every length of key is taken.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        mac.update(text.as_bytes());
        Some(mac)
    }

    pub fn sign(&self, claims: &Claims) -> Option<String> {
        let signature = self.mac(&claims.text())?.finalize().into_bytes();
        Some(claims.token(&atelier_domain::text::hex(&signature)))
    }

    /// What a token says, if it is one of ours.
    pub fn recognise(&self, token: &str) -> Option<Claims> {
        let (claims, text, signature) = Claims::read(token)?;
        let digits = signature.as_bytes();
        if digits.len() != 64 || !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        let bytes = digits.chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        let bytes: Vec<u8> = bytes.collect::<Option<_>>()?;
        // Compared without saying by the time it takes how much of it was right.
        self.mac(text)?.verify_slice(&bytes).is_ok().then_some(claims)
    }
}

/// What somebody has on a node: their instance, or jobs. Nothing once the node is given up.
pub fn held(world: &World, node: NodeId, user: &UserId) -> Option<Held> {
    let record = world.node(node)?;
    if let Holder::Instance(id) = record.holder {
        let instance = world.instance(id).filter(|one| one.node == Some(node) && one.owner == *user)?;
        return Some(Held::Instance { name: instance.name.to_string(), is_accepted: !instance.awaits_acceptance() });
    }
    let jobs = world.on_node(node)?.jobs.iter().copied();
    let own = jobs.filter(|id| world.job(*id).is_some_and(|job| job.owner == *user)).collect::<Vec<_>>();
    (!own.is_empty()).then_some(Held::Jobs(own))
}

/// Everybody who has something on a node.
fn people_on(world: &World, node: NodeId) -> Vec<UserId> {
    let Some(record) = world.node(node) else { return Vec::new() };
    if let Holder::Instance(id) = record.holder {
        return world.instance(id).map(|one| one.owner.clone()).into_iter().collect();
    }
    let jobs = world.on_node(node).into_iter().flat_map(|on| on.jobs.iter());
    let owners: HashSet<UserId> = jobs.filter_map(|id| world.job(*id)).map(|job| job.owner.clone()).collect();
    owners.into_iter().collect()
}

impl Fleet {
    /// From now on instances and jobs get tokens.
    pub fn identify_with(&self, signer: Signer) {
        // Set once, at the start of the server.
        let _ = self.inner.signer.set(signer);
    }

    /// What tokens are signed with; nothing where there are none.
    pub fn signer(&self) -> Option<&Signer> {
        self.inner.signer.get()
    }

    /// Where tokens of that node count, if its agent takes any.
    pub(super) fn identity_url(&self, node: NodeId) -> Option<String> {
        self.knows(node).and_then(|_| self.signer()).map(|signer| signer.url.clone())
    }

    fn knows(&self, node: NodeId) -> Option<Knows> {
        self.connections().get(&node).and_then(|agent| agent.knows.clone())
    }

    /// Tells an agent the token of somebody, unless it was told before. True if it has one now.
    pub(super) async fn introduce(&self, node: NodeId, person: &Person) -> bool {
        let Some(knows) = self.knows(node).filter(|_| self.signer().is_some()) else { return false };
        if lock(&knows).contains(&person.id) {
            return true;
        }
        self.renew_identity(node, person).await
    }

    /// Tells an agent the next token of somebody, or that there is none. True if there is one.
    pub(super) async fn renew_identity(&self, node: NodeId, person: &Person) -> bool {
        let (Some(signer), Some(knows)) = (self.signer(), self.knows(node)) else { return false };
        let token = self.token_for(signer, node, &person.id, clock::now()).await;
        let Some(token) = token else {
            if lock(&knows).remove(&person.id) {
                self.say(node, ToAgent::NoIdentity { person: person.id.clone() });
            }
            return false;
        };
        lock(&knows).insert(person.id.clone());
        let renew_seconds = u64::try_from(LIFE.as_millis() / 2_000).unwrap_or(1_800);
        let told = Told { person: person.clone(), token, url: signer.url.clone(), renew_seconds };
        self.say(node, ToAgent::Identity(Box::new(told)))
    }

    /// Tells the agent of a node anew whose things run there: after it has called, and when tokens were made
    /// worthless.
    pub async fn introduce_all(&self, node: NodeId) {
        let Some(engine) = self.engine().filter(|_| self.knows(node).is_some()) else { return };
        let people = engine.ask(move |world| people_on(world, node)).await.unwrap_or_default();
        for id in people {
            if let Some(person) = dispatch::person(self, id).await {
                self.renew_identity(node, &person).await;
            }
        }
    }

    /// The next token of somebody, on the word of an agent.
    pub(super) async fn identify(&self, node: NodeId, user: UserId) {
        // Only for whom it was told: agents know nobody else.
        let is_known = self.knows(node).is_some_and(|knows| lock(&knows).contains(&user));
        if is_known && let Some(person) = dispatch::person(self, user).await {
            self.renew_identity(node, &person).await;
        }
    }

    async fn token_for(&self, signer: &Signer, node: NodeId, user: &UserId, now: Timestamp) -> Option<String> {
        let (person, epoch) = match self.store().person_and_epoch(user).await {
            Ok(found) => found?,
            Err(error) => {
                tracing::warn!(%node, %error, "no token could be made; the agent asks again");
                return None;
            }
        };
        let (whose, engine) = (user.clone(), self.engine()?);
        let held = engine.ask(move |world| held(world, node, &whose)).await.ok()?;
        let standing = Standing { state: person.state, epoch, held: held.as_ref(), now };
        judge_new(&standing).ok()?;
        signer.sign(&Claims { user: user.clone(), node, epoch, expires: now.plus(LIFE) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_signed_with_the_same_key_is_recognised() {
        let (ours, theirs) = (Signer::new("a key", "http://x"), Signer::new("another", "http://x"));
        let claims = Claims { user: UserId::new("user-7"), node: NodeId(3), epoch: 0, expires: Timestamp(99) };
        let token = ours.sign(&claims).expect("signed");
        assert_eq!(ours.recognise(&token), Some(claims.clone()));
        assert_eq!(theirs.recognise(&token), None);
        for changed in [
            token.replace("user-7", "user-8"),
            token.replace(".3.", ".4."),
            token.replace(".99.", ".999."),
            token.to_uppercase(),
            token[..token.len() - 2].to_owned(),
            format!("{token}00"),
        ] {
            assert_eq!(ours.recognise(&changed), None, "{changed}");
        }
    }
}
