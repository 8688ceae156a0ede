//! What instances print, as a stream that follows it and as a file.
//!
//! The stream (`…/logs/{log}/events`) has the events of a job's log: `log` (more text, with the number of its first line), `skip` (so
//! many bytes were left out), `end`. Their ids are offsets, so a browser that reconnects misses nothing. While the instance has a
//! node its agent is asked for what comes; where that is not to be had, and once the node is gone, the file says all there is.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use atelier_domain::compute::app::{SETUP_LOG, setup_of};
use atelier_domain::compute::{InstanceId, NodeId};
use atelier_protocol::Target;
use atelier_studio::caller::{Actor, Caller};
use atelier_studio::instances::commands::{Subject, find};
use atelier_studio::instances::logs::{LogFile, may_read};
use atelier_studio::jobs::log::{Printed as _, count_in};
use axum::extract::{Path as Places, Query, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use tokio::io::AsyncReadExt as _;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::error::AppError;
use crate::server::events::{HEARTBEAT, MOST_PER_SESSION, Place, bye, farewell, send};
use crate::server::log_mark::whole_characters;
use crate::server::state::AppState;
use crate::server::{caller, downloads, events};

/// The shortest time between two events.
const PACE: Duration = Duration::from_millis(25);
/// How much is sent at once.
const PIECE: usize = 64 << 10;
/// Who is further behind than this is brought to the end.
const MOST_BEHIND: u64 = 512 << 10;
/// How often a file is looked at that nobody tells about.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// How much is known already.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Known {
    #[serde(default)]
    after: String,
}

async fn subject_of(caller: &Caller, name: &str) -> Result<Subject, AppError> {
    let subject = find(caller, name).await?;
    may_read(caller, &subject).await?;
    Ok(subject)
}

pub async fn download(
    State(state): State<AppState>,
    Places((_, name, log)): Places<(String, String, String)>,
    request: Request,
) -> Response {
    let request_id = downloads::request_id(&request);
    let (parts, _) = request.into_parts();
    let found = async {
        let caller = caller::of(&state, &parts)?;
        let subject = subject_of(&caller, &name).await?;
        let folders = caller.studio.fleet().folders().clone();
        let wanted = log.clone();
        let opened = tokio::task::spawn_blocking(move || {
            LogFile::of(&folders, subject.id, &wanted).and_then(|file| std::fs::File::open(file.path()).ok())
        });
        caller.checked(opened.await)?.ok_or_else(|| AppError::not_found("log"))
    };
    match found.await {
        Ok(file) => downloads::file(file, &format!("{name}.{log}.log"), "text/plain; charset=utf-8", None),
        Err(error) => downloads::refused(&error, StatusCode::NOT_FOUND, &request_id),
    }
}

pub async fn follow(
    State(state): State<AppState>,
    Places((_, name, log)): Places<(String, String, String)>,
    Query(known): Query<Known>,
    headers: HeaderMap,
    request: Request,
) -> Response {
    let actor = request.extensions().get::<Arc<Actor>>().cloned();
    let (parts, _) = request.into_parts();
    let found = async {
        let caller = caller::of(&state, &parts)?;
        let subject = subject_of(&caller, &name).await?;
        let file = LogFile::of(state.fleet().folders(), subject.id, &log).ok_or_else(|| AppError::not_found("log"))?;
        Ok((subject, file))
    };
    let ((subject, file), actor) = match (found.await, actor) {
        (Ok(found), Some(actor)) => (found, actor),
        (Err(error), _) => return json(&error),
        (Ok(_), None) => return json(&AppError::SignedOut),
    };
    let Some(place) = Place::take(&state, &actor.session) else {
        let message = format!("One session may hold {MOST_PER_SESSION} live pages at once. Close some of them.");
        return json(&AppError::TooMany { message, retry_after_secs: 60 });
    };
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()).unwrap_or(&known.after);
    let offset = last.parse().unwrap_or_default();
    let (sender, receiver) = mpsc::channel(4);
    let stream = Stream { place, actor, instance: subject.id, log, file, sender, offset, line: None };
    tokio::spawn(stream.run());
    ([("x-accel-buffering", "no")], Sse::new(ReceiverStream::new(receiver))).into_response()
}

fn json(error: &AppError) -> Response {
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::BAD_REQUEST);
    (status, axum::Json(error.clone())).into_response()
}

struct Stream {
    place: Place,
    actor: Arc<Actor>,
    instance: InstanceId,
    log: String,
    file: LogFile,
    sender: mpsc::Sender<Result<Event, Infallible>>,
    offset: u64,
    line: Option<u64>,
}

impl Stream {
    async fn run(mut self) {
        let state = self.place.state.clone();
        let mut cuts = state.live().cuts();
        let hello = Event::default().event("hello").data("on").retry(Duration::from_secs(1));
        if !send(&self.sender, hello).await || !self.catch_up().await {
            return;
        }
        let mut heartbeat = tokio::time::interval(HEARTBEAT);
        heartbeat.tick().await;
        // What the agent says is ahead of the file only by moments; the file is what is read, so that nothing is sent twice.
        let mut news = self.news(&state).await;
        loop {
            let node = self.node(&state).await;
            if !self.catch_up().await {
                return;
            }
            if node.is_none() {
                let _ = send(&self.sender, Event::default().event("end").data("over")).await;
                return;
            }
            tokio::time::sleep(PACE).await;
            tokio::select! {
                () = news.wait() => {}
                () = tokio::time::sleep(LOOK_AGAIN) => {}
                cut = cuts.recv() => if let Some(word) = bye(&self.actor, cut.ok()) {
                    return farewell(&self.sender, word).await;
                },
                _ = heartbeat.tick() => {
                    if !events::is_alive(&state, &self.actor).await {
                        return farewell(&self.sender, "signed-out").await;
                    }
                    if !send(&self.sender, Event::default().event("beat").data("alive")).await {
                        return;
                    }
                }
                () = self.sender.closed() => return,
            }
        }
    }

    async fn node(&self, state: &AppState) -> Option<NodeId> {
        let id = self.instance;
        state.engine().ask(move |world| world.instance(id).and_then(|instance| instance.node)).await.ok().flatten()
    }

    /// Asks the agent for what comes; where it cannot say, the file is looked at from time to time.
    async fn news(&self, state: &AppState) -> News {
        let Some(node) = self.node(state).await else { return News(None) };
        // Of set-ups the agent knows only the present one.
        let name = if setup_of(&self.log).is_some() { SETUP_LOG.to_owned() } else { self.log.clone() };
        let target = Target::Log { instance: self.instance, name, offset: self.offset };
        News(state.fleet().open(node, target).await.ok())
    }

    /// Sends what is new. False if nobody listens any more.
    async fn catch_up(&mut self) -> bool {
        loop {
            let (file, from, known) = (self.file.clone(), self.offset, self.line);
            let read = tokio::task::spawn_blocking(move || {
                let length = file.length();
                let skipped = if length.saturating_sub(from) > MOST_BEHIND { length - PIECE as u64 - from } else { 0 };
                let from = from + skipped;
                let bytes = file.read(from, PIECE)?;
                let line = match known.filter(|_| skipped == 0) {
                    Some(line) => Some(line),
                    None => count_in(&file, from)?.map(|lines| lines + 1),
                };
                std::io::Result::Ok((skipped, bytes, line))
            });
            let Ok(Ok((skipped, mut bytes, number))) = read.await else { return true };
            if skipped > 0 {
                self.offset += skipped;
                let skip = Event::default().event("skip").id(self.offset.to_string()).data(skipped.to_string());
                if !send(&self.sender, skip).await {
                    return false;
                }
            }
            bytes.truncate(whole_characters(&bytes));
            if bytes.is_empty() {
                return true;
            }
            let at = self.offset;
            self.offset += bytes.len() as u64;
            self.line = number.map(|number| number + bytes.iter().filter(|byte| **byte == b'\n').count() as u64);
            let text = serde_json::Value::from(String::from_utf8_lossy(&bytes).as_ref());
            let number = number.map_or_else(|| "null".to_owned(), |number| number.to_string());
            let data = format!("{{\"at\":{at},\"line\":{number},\"text\":{text}}}");
            if !send(&self.sender, Event::default().event("log").id(self.offset.to_string()).data(data)).await {
                return false;
            }
        }
    }
}

/// What the agent says, as a sign that there is more in the file.
struct News(Option<atelier_pipe::Wire>);

impl News {
    /// Waits for more; for ever if nobody tells.
    async fn wait(&mut self) {
        let mut piece = [0; 4096];
        match &mut self.0 {
            Some(wire) => match wire.read(&mut piece).await {
                Ok(0) | Err(_) => self.0 = None,
                Ok(_) => {}
            },
            None => std::future::pending().await,
        }
    }
}
