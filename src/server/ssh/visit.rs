//! Somebody who came in, until they go or have to.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use atelier_domain::UserId;
use atelier_domain::history::{Event, Topic};
use atelier_domain::ssh::{Address, NotLetIn};
use atelier_domain::time::Span;
use atelier_engine::clock;
use atelier_engine::live::Cut;
use atelier_engine::store::{self, Person, SshKey};
use atelier_gateway::{Visit, Wanted};
use atelier_pipe::Wire;
use atelier_protocol::Target;
use atelier_studio::seats::Seat;
use tokio::sync::broadcast::error::RecvError;

use crate::server::ssh::gate::{Found, judge_instance, judge_person};
use crate::server::state::AppState;

/// What a visit depends on.
const TOPICS: [Topic; 2] = [Topic::People, Topic::Instances];
/// How often a visit is judged again, at most.
const JUDGE_AGAIN: Duration = Duration::from_millis(200);
/// And at least, for what other processes change.
const AT_LEAST: Duration = Duration::from_secs(10);
/// Whoever can have nothing is let go after so long.
const IN_VAIN: Duration = Duration::from_secs(20);
/// What people hear when the server stops.
const STOPS: &str = "The server stops. What runs in the instance goes on; connect again in a moment.";

/// A visit at one instance.
pub struct Guest {
    state: AppState,
    key: SshKey,
    person: Person,
    user: String,
    name: String,
    from: SocketAddr,
    judged: Result<Found, NotLetIn>,
    /// The revision as of which that was judged.
    since: AtomicI64,
    began: Instant,
    /// Whether it is over, and was written down.
    has_left: AtomicBool,
    _seat: Seat<UserId>,
}

impl Drop for Guest {
    /// Whatever became of the connection: an instance must not count somebody for ever who has gone.
    fn drop(&mut self) {
        self.left(0, 0, None);
    }
}

/// Somebody at the gate, as far as they have been judged.
pub struct Arrival<'a> {
    pub key: SshKey,
    pub person: Person,
    /// Where to, as they said it.
    pub user: &'a str,
    pub from: SocketAddr,
    pub judged: Result<Found, NotLetIn>,
    /// The revision as of which that was judged.
    pub since: i64,
    pub seat: Seat<UserId>,
}

impl Guest {
    /// One that begins now. It is in the history before anything else of it is; what cannot be written there
    /// does not begin.
    pub async fn welcome(state: &AppState, arrival: Arrival<'_>) -> store::Result<Self> {
        let Arrival { key, person, user, from, judged, since, seat } = arrival;
        let (user, name) = (user.to_owned(), Address::parse(user).instance);
        if judged.is_ok() {
            let (instance, key, address) = (name.clone(), key.name.clone(), from.ip().to_string());
            let connected = Event::SshConnected { instance, key, address };
            state.store().record_ssh(&person, &connected, clock::now()).await?;
        }
        let (state, since, has_left) = (state.clone(), AtomicI64::new(since), AtomicBool::new(false));
        let began = clock::instant();
        let guest = Self { state, key, person, user, name, from, judged, since, began, has_left, _seat: seat };
        if let Ok(found) = &guest.judged {
            guest.state.fleet().board().ssh_came(found.id);
            let (store, id) = (guest.state.store().clone(), guest.key.id.clone());
            tokio::spawn(async move {
                if let Err(error) = store.ssh_key_used(&id, clock::now()).await {
                    tracing::warn!(%error, "the use of an SSH key was not noted");
                }
            });
        }
        Ok(guest)
    }

    /// Beside the connection, which is over and does not wait for it.
    fn record(&self, event: Event) {
        let (store, person, now) = (self.state.store().clone(), self.person.clone(), clock::now());
        // Where the runtime is on its way out, so is the database.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            if let Err(error) = store.record_ssh(&person, &event, now).await {
                tracing::warn!(%error, "a connection by SSH is missing in the history");
            }
        });
    }

    /// Why it has to end, if anything it depends on has changed.
    async fn judge_again(&self, found: &Found) -> Option<String> {
        if self.state.live().is_stopping() {
            return Some(STOPS.to_owned());
        }
        let now = self.state.live().newest();
        let (key, person) = match self.state.store().ssh_key_and_person(&self.key.fingerprint).await {
            Ok(Some(read)) => read,
            Ok(None) | Err(_) => return Some("Who you are cannot be looked up any more.".to_owned()),
        };
        if key.id != self.key.id {
            return Some(format!("The key “{}” was removed.", self.key.name));
        }
        match judge_person(&self.state, &key, &person) {
            Err(NotLetIn::RemovedKey { name, .. }) => return Some(format!("The key “{name}” was removed.")),
            Err(told) => return Some(told.to_string()),
            Ok(()) => {}
        }
        match judge_instance(&self.state, &person, &self.user).await {
            Err(told) => Some(told.to_string()),
            Ok(still) if (still.id, still.node) == (found.id, found.node) => {
                self.since.fetch_max(now, Ordering::Relaxed);
                None
            }
            Ok(_) => Some(format!("“{}” has been started again. Connect again.", self.name)),
        }
    }

    fn has_changed(&self) -> bool {
        let (live, since) = (self.state.live(), self.since.load(Ordering::Relaxed));
        !live.changed_since(since, &TOPICS).is_empty()
    }
}

#[async_trait]
impl Visit for Guest {
    fn why_closed(&self) -> Option<String> {
        self.judged.as_ref().err().map(ToString::to_string)
    }

    async fn open(&self, wanted: Wanted) -> Result<Wire, String> {
        let found = self.judged.as_ref().map_err(ToString::to_string)?;
        let node = found.node.ok_or_else(|| format!("“{}” has no node.", self.name))?;
        let instance = found.id;
        let target = match wanted {
            Wanted::Session(mut start) => {
                let from = self.from;
                let (port, own) = (from.port(), self.state.config().ssh_listen);
                let own = own.map_or_else(String::new, |own| format!(" {} {}", own.ip(), own.port()));
                start.environment.push(("SSH_CONNECTION".to_owned(), format!("{} {port}{own}", from.ip())));
                start.environment.push(("SSH_CLIENT".to_owned(), format!("{} {port} 0", from.ip())));
                Target::Session { instance, start: Box::new(start) }
            }
            Wanted::Sftp => Target::Sftp { instance },
            Wanted::Connect(to) => Target::Connect { instance, to },
        };
        self.state.fleet().open(node, target).await.map_err(|why| format!("“{}” cannot be reached: {why}.", self.name))
    }

    fn used(&self, received: u64, sent: u64) {
        if let Ok(found) = &self.judged {
            self.state.fleet().board().ssh_used(found.id, received, sent);
        }
    }

    async fn must_end(&self) -> String {
        let Ok(found) = &self.judged else {
            tokio::time::sleep(IN_VAIN).await;
            return self.why_closed().unwrap_or_default();
        };
        let (mut cuts, mut revisions) = (self.state.live().cuts(), self.state.live().watch());
        // What changed before anybody listened is judged at once.
        let mut is_stale = self.has_changed() || self.state.live().is_stopping();
        loop {
            if is_stale {
                if let Some(why) = self.judge_again(found).await {
                    return why;
                }
                tokio::time::sleep(JUDGE_AGAIN).await;
            }
            is_stale = tokio::select! {
                cut = cuts.recv() => match cut {
                    Ok(Cut::All) | Err(RecvError::Closed) => return STOPS.to_owned(),
                    Ok(Cut::Person(user) | Cut::PersonExcept(user, _) | Cut::Rights(user)) => user == self.person.id,
                    Ok(Cut::Session(_)) => false,
                    // Too many at once to be heard one by one.
                    Err(RecvError::Lagged(_)) => true,
                },
                changed = revisions.changed() => changed.is_err() || self.has_changed(),
                () = tokio::time::sleep(AT_LEAST) => true,
            };
        }
    }

    async fn why_over(&self) -> Option<String> {
        match &self.judged {
            Ok(found) => self.judge_again(found).await,
            // They had nothing from the beginning, and were told.
            Err(_) => None,
        }
    }

    fn left(&self, received: u64, sent: u64, why: Option<&str>) {
        let Ok(found) = &self.judged else { return };
        if self.has_left.swap(true, Ordering::Relaxed) {
            return;
        }
        self.state.fleet().board().ssh_left(found.id);
        let lasted = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.record(Event::SshEnded {
            instance: self.name.clone(),
            address: self.from.ip().to_string(),
            lasted: Span::millis(lasted),
            received,
            sent,
            why: why.map(|why| why.trim_end_matches('.').to_owned()).unwrap_or_default(),
        });
    }
}
