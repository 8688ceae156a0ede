//! What jobs print, as a stream that follows it and as a file.
//!
//! The stream (`…/log/events`) names a log by `attempt` and `node`, or follows the newest there is: it waits for a job that has
//! not begun, and goes on with the next attempt. Its events: `part` (another log begins), `log` (more text, with the number of
//! its first line), `skip` (so many bytes were left out), `end`. Their ids say how far it got, so a browser that reconnects
//! misses nothing.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use atelier_domain::compute::{JobId, NodeId};
use atelier_engine::fleet::{JobLogs, LogName};
use atelier_studio::caller::Actor;
use atelier_studio::jobs::detail::{find, newest};
use atelier_studio::jobs::{log, retention};
use axum::extract::{Path as Places, Query, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::error::AppError;
use crate::server::events::{HEARTBEAT, MOST_PER_SESSION, Place, bye, farewell, send};
use crate::server::log_mark::{Mark, whole_characters};
use crate::server::state::AppState;
use crate::server::{caller, downloads, events, plain_page};

/// The shortest time between two events: short enough to look immediate, long enough to join what is printed in bursts.
const PACE: Duration = Duration::from_millis(25);
/// How much is sent at once.
const PIECE: usize = 64 << 10;
/// Who is further behind than this is brought to the end.
const MOST_BEHIND: u64 = 512 << 10;
/// How often a job is looked at that does not print.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Which log.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Wanted {
    attempt: Option<u32>,
    node: Option<u64>,
    /// How much is known already: `attempt-node-offset`.
    #[serde(default)]
    after: String,
}

impl Wanted {
    fn name(&self, job: JobId) -> Option<LogName> {
        Some(LogName { job, attempt: self.attempt?, node: NodeId(self.node?) })
    }
}

/// Hands out a whole log.
pub async fn download(
    State(state): State<AppState>,
    Places((_, id)): Places<(String, String)>,
    Query(wanted): Query<Wanted>,
    request: Request,
) -> Response {
    let request_id = downloads::request_id(&request);
    let (parts, _) = request.into_parts();
    let found = async {
        let caller = caller::of(&state, &parts)?;
        let row = find(&caller, &id).await?;
        let removed = retention::removed_after(&caller.studio, row.ended, atelier_engine::clock::now());
        let logs = caller.studio.fleet().logs().clone();
        let opened = tokio::task::spawn_blocking(move || {
            let name =
                wanted.name(row.job.id).or_else(|| newest(&logs.list(row.job.id), &row).map(|info| info.name))?;
            std::fs::File::open(logs.path(name)).ok().map(|file| (name, file))
        });
        match (caller.checked(opened.await)?, removed) {
            (Some(found), _) => Ok(Ok(found)),
            (None, Some(days)) => Ok(Err(days)),
            (None, None) => Err(AppError::not_found("log")),
        }
    };
    match found.await {
        Ok(Err(days)) => {
            plain_page::page(StatusCode::GONE, "This log was removed", &retention::sentence(days), &request_id)
        }
        Ok(Ok((name, file))) => {
            let called = format!("{}.{}.{}.log", name.job, name.attempt, name.node);
            downloads::file(file, &called, "text/plain; charset=utf-8", None)
        }
        Err(error) => downloads::refused(&error, StatusCode::NOT_FOUND, &request_id),
    }
}

/// Opens the stream.
pub async fn follow(
    State(state): State<AppState>,
    Places((_, id)): Places<(String, String)>,
    Query(wanted): Query<Wanted>,
    headers: HeaderMap,
    request: Request,
) -> Response {
    let actor = request.extensions().get::<Arc<Actor>>().cloned();
    let (parts, _) = request.into_parts();
    let row = async {
        let caller = caller::of(&state, &parts)?;
        find(&caller, &id).await
    };
    let (row, actor) = match (row.await, actor) {
        (Ok(row), Some(actor)) => (row, actor),
        (Err(error), _) => return json(&error),
        (Ok(_), None) => return json(&AppError::SignedOut),
    };
    let Some(place) = Place::take(&state, &actor.session) else {
        let message = format!("One session may hold {MOST_PER_SESSION} live pages at once. Close some of them.");
        return json(&AppError::TooMany { message, retry_after_secs: 60 });
    };
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()).unwrap_or(&wanted.after);
    let known = Mark::parse(row.job.id, last);
    let (sender, receiver) = mpsc::channel(4);
    let named = wanted.name(row.job.id);
    let stream = Stream { place, actor, job: row.job.id, named, sender };
    tokio::spawn(stream.run(known));
    ([("x-accel-buffering", "no")], Sse::new(ReceiverStream::new(receiver))).into_response()
}

fn json(error: &AppError) -> Response {
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::BAD_REQUEST);
    (status, axum::Json(error.clone())).into_response()
}

struct Stream {
    place: Place,
    actor: Arc<Actor>,
    job: JobId,
    named: Option<LogName>,
    sender: mpsc::Sender<Result<Event, Infallible>>,
}

impl Stream {
    async fn run(self, mut known: Option<Mark>) {
        let state = self.place.state.clone();
        let logs = state.fleet().logs().clone();
        let mut cuts = state.live().cuts();
        let mut revisions = state.live().watch();
        // Not empty: browsers keep events without data to themselves.
        let hello = Event::default().event("hello").data("on").retry(Duration::from_secs(1));
        if !send(&self.sender, hello).await {
            return;
        }
        let mut line = None;
        let mut heartbeat = tokio::time::interval(HEARTBEAT);
        heartbeat.tick().await;
        loop {
            revisions.borrow_and_update();
            let mut growth = known.and_then(|mark| logs.follow(mark.name));
            if let Some(mark) = &mut known
                && !self.catch_up(&logs, mark, &mut line, growth.is_none()).await
            {
                return;
            }
            if growth.is_none() {
                let (current, is_over) = self.look(&logs).await;
                // Another log than before: it begins anew.
                if let Some(name) = current
                    && known.is_none_or(|mark| mark.name != name)
                {
                    let mark = Mark { name, offset: 0 };
                    let text = format!("{{\"attempt\":{},\"node\":{}}}", name.attempt, name.node.0);
                    if !send(&self.sender, Event::default().event("part").id(mark.id()).data(text)).await {
                        return;
                    }
                    (known, line) = (Some(mark), None);
                    continue;
                }
                let is_caught_up = known.is_none_or(|mark| logs.length(mark.name) <= mark.offset);
                if is_over && is_caught_up {
                    let _ = send(&self.sender, Event::default().event("end").data("over")).await;
                    return;
                }
            }
            let is_quiet = growth.is_none();
            tokio::time::sleep(PACE).await;
            let grows = async {
                match &mut growth {
                    // Its end is news too.
                    Some(growth) => drop(growth.changed().await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = grows => {}
                _ = revisions.changed(), if is_quiet => {}
                () = tokio::time::sleep(LOOK_AGAIN), if is_quiet => {}
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

    /// Which log to follow now, and whether nothing more comes after it.
    async fn look(&self, logs: &JobLogs) -> (Option<LogName>, bool) {
        if let Some(name) = self.named {
            return (Some(name), logs.follow(name).is_none());
        }
        let store = self.place.state.store();
        let Ok(Some(row)) = store.job(&self.actor.workspace.id, self.job).await else { return (None, false) };
        let (logs, job, is_over) = (logs.clone(), row.job.id, row.ended.is_some());
        let found = tokio::task::spawn_blocking(move || newest(&logs.list(job), &row).map(|info| info.name)).await;
        (found.ok().flatten(), is_over)
    }

    /// Sends what is new. False if nobody listens any more.
    async fn catch_up(&self, logs: &JobLogs, mark: &mut Mark, line: &mut Option<u64>, is_over: bool) -> bool {
        loop {
            let length = logs.length(mark.name);
            if length.saturating_sub(mark.offset) > MOST_BEHIND {
                let left_out = length - PIECE as u64 - mark.offset;
                (mark.offset, *line) = (length - PIECE as u64, None);
                let skip = Event::default().event("skip").id(mark.id()).data(left_out.to_string());
                if !send(&self.sender, skip).await {
                    return false;
                }
            }
            let (from, name, logs, known) = (mark.offset, mark.name, logs.clone(), *line);
            let read = tokio::task::spawn_blocking(move || {
                let bytes = logs.read(name, from, PIECE)?;
                let line = match known {
                    Some(line) => Some(line),
                    None => log::count(&logs, name, from)?.map(|lines| lines + 1),
                };
                std::io::Result::Ok((bytes, line))
            });
            let Ok(Ok((mut bytes, number))) = read.await else { return true };
            if !(is_over && bytes.len() < PIECE) {
                bytes.truncate(whole_characters(&bytes));
            }
            if bytes.is_empty() {
                return true;
            }
            mark.offset += bytes.len() as u64;
            *line = number.map(|number| number + bytes.iter().filter(|byte| **byte == b'\n').count() as u64);
            let text = serde_json::Value::from(String::from_utf8_lossy(&bytes).as_ref());
            let number = number.map_or_else(|| "null".to_owned(), |number| number.to_string());
            let data = format!("{{\"at\":{from},\"line\":{number},\"text\":{text}}}");
            if !send(&self.sender, Event::default().event("log").id(mark.id()).data(data)).await {
                return false;
            }
        }
    }
}
