//! The stream of revisions that keeps pages live.
//!
//! It carries no data, only which topics changed up to which revision; a page then fetches what it shows with its own rights.
//! The browser says from which revision it knows (`since`, or `Last-Event-ID` when it reconnects), so nothing is missed.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use atelier_domain::history::Topic;
use atelier_engine::live::{Cut, Live};
use axum::extract::{Extension, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::actor::Actor;
use super::guard::NoSuchWorkspace;
use super::state::AppState;
use crate::error::AppError;

/// The shortest time between two revisions for one client.
const PACE: Duration = Duration::from_millis(500);

/// How often a quiet stream shows that it lives, and checks that the session still does.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// What the browser asks for.
#[derive(Debug, Deserialize)]
pub struct Wanted {
    /// Topics, separated by commas.
    #[serde(default)]
    topics: String,
    /// The revision that the page shows.
    since: Option<i64>,
}

/// Opens the stream.
pub async fn stream(
    State(state): State<AppState>,
    Extension(actor): Extension<Arc<Actor>>,
    foreign: Option<Extension<NoSuchWorkspace>>,
    Query(wanted): Query<Wanted>,
    headers: HeaderMap,
) -> Response {
    if foreign.is_some() {
        return (StatusCode::NOT_FOUND, axum::Json(AppError::not_found("workspace"))).into_response();
    }
    let rights = actor.person.rights();
    // A topic that one may not read is not told of; an unknown one is ignored, so that an old page still works.
    let topics: Vec<Topic> =
        wanted.topics.split(',').filter_map(Topic::from_key).filter(|topic| rights.may_at_all(topic.needs())).collect();
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()).and_then(|text| text.parse().ok());
    let since = last.or(wanted.since).unwrap_or_else(|| state.live().newest());
    let (sender, receiver) = mpsc::channel(4);
    // Subscribed before the first look, so that nothing falls between.
    let cuts = state.live().cuts();
    tokio::spawn(feed(state, actor, topics, since, cuts, sender));
    let response = Sse::new(ReceiverStream::new(receiver));
    ([("x-accel-buffering", "no")], response).into_response()
}

async fn feed(
    state: AppState,
    actor: Arc<Actor>,
    topics: Vec<Topic>,
    mut since: i64,
    mut cuts: tokio::sync::broadcast::Receiver<Cut>,
    sender: mpsc::Sender<Result<Event, Infallible>>,
) {
    metrics::gauge!("atelier_live_streams").increment(1.0);
    let _counted = Counted;
    let live: Live = state.live().clone();
    let mut newest = live.watch();
    let hello = Event::default().event("hello").data(live.newest().to_string()).retry(Duration::from_secs(2));
    if sender.send(Ok(hello)).await.is_err() {
        return;
    }
    let mut heartbeat = tokio::time::interval(HEARTBEAT);
    heartbeat.tick().await;
    loop {
        let revision = live.newest();
        let changed = live.changed_since(since, &topics);
        since = since.max(revision);
        if !changed.is_empty() {
            if sender.send(Ok(revision_event(revision, &changed))).await.is_err() {
                return;
            }
            // The pace: what happens meanwhile is told in one event afterwards.
            tokio::select! {
                () = tokio::time::sleep(PACE) => {}
                cut = cuts.recv() => if let Some(word) = bye(&actor, cut.ok()) { return farewell(&sender, word).await; },
                () = sender.closed() => return,
            }
        }
        tokio::select! {
            _ = newest.changed() => {}
            cut = cuts.recv() => if let Some(word) = bye(&actor, cut.ok()) { return farewell(&sender, word).await; },
            _ = heartbeat.tick() => {
                if !is_alive(&state, &actor).await {
                    return farewell(&sender, "signed-out").await;
                }
                // An event, not a comment: scripts see only events, and a page must notice when they stop.
                if sender.send(Ok(Event::default().event("beat").data("alive"))).await.is_err() {
                    return;
                }
            }
            () = sender.closed() => return,
        }
    }
}

/// Ends the count of open streams, however the stream ends.
struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        metrics::gauge!("atelier_live_streams").decrement(1.0);
    }
}

/// Whether a cut ends this stream, and with which word. Messages that were missed count as a cut: the browser reconnects
/// and is judged anew.
fn bye(actor: &Actor, cut: Option<Cut>) -> Option<&'static str> {
    match cut {
        Some(Cut::Person(id)) => (id == actor.person.id).then_some("signed-out"),
        Some(Cut::PersonExcept(id, key)) => (id == actor.person.id && key != actor.session).then_some("signed-out"),
        Some(Cut::Session(key)) => (key == actor.session).then_some("signed-out"),
        Some(Cut::Rights(id)) => (id == actor.person.id).then_some("restart"),
        Some(Cut::All) | None => Some("restart"),
    }
}

async fn farewell(sender: &mpsc::Sender<Result<Event, Infallible>>, word: &str) {
    // Nobody listening is as good as said.
    let _ = sender.send(Ok(Event::default().event("bye").data(word))).await;
}

/// Whether the session still counts: it may have been ended by the command line or have run out.
async fn is_alive(state: &AppState, actor: &Actor) -> bool {
    let Ok(found) = state.store().web_session(&actor.session).await else {
        // The database does not answer; that is no reason to sign people out.
        return true;
    };
    found.is_some_and(|session| {
        let seen_at =
            state.presence().session(&actor.session).unwrap_or(session.info.seen_at).max(session.info.seen_at);
        state.config().sessions.is_alive(session.info.created_at, seen_at, atelier_engine::clock::now())
    })
}

fn revision_event(revision: i64, topics: &[Topic]) -> Event {
    let names: Vec<String> = topics.iter().map(|topic| format!("\"{}\"", topic.key())).collect();
    Event::default()
        .event("revision")
        .id(revision.to_string())
        .data(format!("{{\"revision\":{revision},\"topics\":[{}]}}", names.join(",")))
}
