//! The stream of revisions that keeps pages live.
//!
//! It carries no data, only which topics changed up to which revision; a page then fetches what it shows with
//! its own rights. The browser says from which revision it knows (`since`, or `Last-Event-ID` when it
//! reconnects), so nothing is missed.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use atelier_domain::SessionKey;
use atelier_domain::history::Topic;
use atelier_engine::live::{Cut, Live};
use atelier_studio::caller::Actor;
use atelier_studio::seats::Seat;
use axum::extract::{Extension, Query, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::error::AppError;
use crate::server::guard::NoSuchWorkspace;
use crate::server::log_stream::{last_id, refused};
use crate::server::state::AppState;

/// The shortest time between two revisions for one client.
pub const PACE: Duration = Duration::from_millis(500);

/// How often a quiet stream shows that it lives, and checks that the session still does.
pub const HEARTBEAT: Duration = Duration::from_secs(15);

/// How many streams one session may hold: one for each visible tab, and some.
pub const MOST_PER_SESSION: usize = 16;

/// How long a browser may take to read what is sent; then it is gone, or does not want it.
pub const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Deserialize)]
pub struct Wanted {
    /// Topics, separated by commas.
    #[serde(default)]
    topics: String,
    /// The revision that the page shows.
    since: Option<i64>,
}

pub async fn stream(
    State(state): State<AppState>,
    Extension(actor): Extension<Arc<Actor>>,
    foreign: Option<Extension<NoSuchWorkspace>>,
    Query(wanted): Query<Wanted>,
    headers: HeaderMap,
) -> Response {
    if foreign.is_some() {
        return refused(&AppError::not_found("workspace"));
    }
    let place = match Place::take(&state, &actor.session) {
        Ok(place) => place,
        Err(error) => return refused(&error),
    };
    let rights = actor.person.rights();
    // A topic that one may not read is not told of; an unknown one is ignored, so that an old page still
    // works.
    let topics: Vec<Topic> =
        wanted.topics.split(',').filter_map(Topic::from_key).filter(|topic| rights.may_at_all(topic.needs())).collect();
    let since = last_id(&headers, "").parse().ok().or(wanted.since).unwrap_or_else(|| state.live().newest());
    let (sender, receiver) = mpsc::channel(4);
    // Subscribed before the first look, so that nothing falls between.
    let cuts = state.live().cuts();
    tokio::spawn(feed(place, actor, topics, since, cuts, sender));
    let response = Sse::new(ReceiverStream::new(receiver));
    ([("x-accel-buffering", "no")], response).into_response()
}

pub async fn feed(
    place: Place,
    actor: Arc<Actor>,
    topics: Vec<Topic>,
    mut since: i64,
    mut cuts: tokio::sync::broadcast::Receiver<Cut>,
    sender: mpsc::Sender<Result<Event, Infallible>>,
) {
    let state = &place.state;
    let live: Live = state.live().clone();
    let mut newest = live.watch();
    let hello = Event::default().event("hello").data(live.newest().to_string()).retry(Duration::from_secs(2));
    if !send(&sender, hello).await {
        return;
    }
    let mut heartbeat = tokio::time::interval(HEARTBEAT);
    heartbeat.tick().await;
    loop {
        let revision = live.newest();
        let changed = live.changed_since(since, &topics);
        since = revision;
        if !changed.is_empty() {
            if !send(&sender, revision_event(revision, &changed)).await {
                return;
            }
            // The pace: what happens meanwhile is told in one event afterwards.
            tokio::select! {
                () = tokio::time::sleep(PACE) => {}
                cut = cuts.recv() => {
                    if let Some(word) = bye(&actor, cut.ok()) {
                        return farewell(&sender, word).await;
                    }
                }
                () = sender.closed() => return,
            }
        }
        tokio::select! {
            _ = newest.changed() => {}
            cut = cuts.recv() => if let Some(word) = bye(&actor, cut.ok()) { return farewell(&sender, word).await; },
            _ = heartbeat.tick() => {
                if !is_alive(state, &actor).await {
                    return farewell(&sender, "signed-out").await;
                }
                // An event, not a comment: scripts see only events, and a page must notice when they stop.
                if !send(&sender, Event::default().event("beat").data("alive")).await {
                    return;
                }
            }
            () = sender.closed() => return,
        }
    }
}

/// Sends an event, if it is read in time.
pub async fn send(sender: &mpsc::Sender<Result<Event, Infallible>>, event: Event) -> bool {
    matches!(tokio::time::timeout(PATIENCE, sender.send(Ok(event))).await, Ok(Ok(())))
}

/// One of the streams that a session may hold; given back however the stream ends.
pub struct Place {
    pub state: AppState,
    _seat: Seat<SessionKey>,
}

impl Place {
    /// A place, or what to tell who has too many.
    pub fn take(state: &AppState, session: &SessionKey) -> Result<Self, AppError> {
        let seat = state.streams().take(session, MOST_PER_SESSION).ok_or_else(|| AppError::TooMany {
            message: format!("One session may hold {MOST_PER_SESSION} live pages at once. Close some of them."),
            retry_after_secs: 60,
        })?;
        metrics::gauge!("atelier_live_streams").increment(1.0);
        Ok(Self { state: state.clone(), _seat: seat })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        metrics::gauge!("atelier_live_streams").decrement(1.0);
    }
}

/// Whether a cut ends this stream, and with which word. Messages that were missed count as a cut: the browser
/// reconnects and is judged anew.
pub fn bye(actor: &Actor, cut: Option<Cut>) -> Option<&'static str> {
    match cut {
        Some(Cut::Person(id)) => (id == actor.person.id).then_some("signed-out"),
        Some(Cut::PersonExcept(id, key)) => (id == actor.person.id && key != actor.session).then_some("signed-out"),
        Some(Cut::Session(key)) => (key == actor.session).then_some("signed-out"),
        Some(Cut::Rights(id)) => (id == actor.person.id).then_some("restart"),
        Some(Cut::All) | None => Some("restart"),
    }
}

pub async fn farewell(sender: &mpsc::Sender<Result<Event, Infallible>>, word: &str) {
    // Nobody listening is as good as said.
    let _ = send(sender, Event::default().event("bye").data(word)).await;
}

/// Whether the session still counts: it may have been ended by the command line or have run out.
pub async fn is_alive(state: &AppState, actor: &Actor) -> bool {
    let Ok(found) = state.store().web_session(&actor.session).await else {
        // The database does not answer; that is no reason to sign people out.
        return true;
    };
    found.is_some_and(|session| {
        atelier_studio::presence::is_alive(
            &session.info,
            state.presence(),
            state.config().sessions,
            atelier_engine::clock::now(),
        )
    })
}

pub fn revision_event(revision: i64, topics: &[Topic]) -> Event {
    let names: Vec<String> = topics.iter().map(|topic| format!("\"{}\"", topic.key())).collect();
    Event::default()
        .event("revision")
        .id(revision.to_string())
        .data(format!("{{\"revision\":{revision},\"topics\":[{}]}}", names.join(",")))
}
