//! A log as a stream that follows it.
//!
//! Its events: `part` (another log begins), `log` (more text, with the number of its first line), `skip` (so
//! many bytes were left out), `end`. Their ids say how far it got, so a browser that reconnects misses
//! nothing.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use atelier_studio::caller::Actor;
use atelier_studio::jobs::log::{Printed, count_in};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::error::AppError;
use crate::server::events::{self, HEARTBEAT, Place, bye, farewell, send};
use crate::server::log_mark::whole_characters;
use crate::server::state::AppState;

/// The shortest time between two events: short enough to look immediate, long enough to join what is printed
/// in bursts.
const PACE: Duration = Duration::from_millis(25);
/// How much is sent at once.
const PIECE: usize = 64 << 10;
/// Who is further behind than this is brought to the end.
const MOST_BEHIND: u64 = 512 << 10;

/// Where a stream has its logs from.
pub trait Source: Send + 'static {
    type Log: Printed + Clone + PartialEq + Send + Sync + 'static;

    /// A place in a log, as the id of an event.
    fn id(log: &Self::Log, offset: u64) -> String;

    /// What the event `part` says of a log.
    fn part(log: &Self::Log) -> String;

    /// Whether that log still grows. Asked before it is read, so that nothing is missed.
    fn grows(&mut self, log: Option<&Self::Log>) -> impl Future<Output = bool> + Send;

    /// Asked where nothing grows: the log to follow, and whether no more comes after it.
    fn look(&mut self) -> impl Future<Output = (Option<Self::Log>, bool)> + Send;

    /// Waits until there may be more.
    fn more(&mut self) -> impl Future<Output = ()> + Send;
}

/// How much of a log is known.
pub struct Known<L> {
    pub log: L,
    /// How much of it, in bytes.
    pub offset: u64,
}

/// How far a browser got that reconnects; `after` is what its first request said.
pub fn last_id<'a>(headers: &'a HeaderMap, after: &'a str) -> &'a str {
    headers.get("last-event-id").and_then(|value| value.to_str().ok()).unwrap_or(after)
}

pub fn follow<S: Source>(state: &AppState, actor: Arc<Actor>, source: S, known: Option<Known<S::Log>>) -> Response {
    let place = match Place::take(state, &actor.session) {
        Ok(place) => place,
        Err(error) => return refused(&error),
    };
    let (sender, receiver) = mpsc::channel(4);
    tokio::spawn(Stream { place, actor, source, sender }.run(known));
    ([("x-accel-buffering", "no")], Sse::new(ReceiverStream::new(receiver))).into_response()
}

/// Why there is no stream.
pub fn refused(error: &AppError) -> Response {
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::BAD_REQUEST);
    (status, axum::Json(error.clone())).into_response()
}

type Sender = mpsc::Sender<Result<Event, Infallible>>;

struct Stream<S> {
    place: Place,
    actor: Arc<Actor>,
    source: S,
    sender: Sender,
}

impl<S: Source> Stream<S> {
    async fn run(mut self, mut known: Option<Known<S::Log>>) {
        let state = self.place.state.clone();
        let mut cuts = state.live().cuts();
        // Not empty: browsers keep events without data to themselves.
        let hello = Event::default().event("hello").data("on").retry(Duration::from_secs(1));
        if !send(&self.sender, hello).await {
            return;
        }
        let mut line = None;
        let mut heartbeat = tokio::time::interval(HEARTBEAT);
        heartbeat.tick().await;
        loop {
            let grows = self.source.grows(known.as_ref().map(|known| &known.log)).await;
            if let Some(known) = &mut known
                && !catch_up::<S>(&self.sender, known, &mut line, !grows).await
            {
                return;
            }
            if !grows {
                let (current, is_over) = self.source.look().await;
                // Another log than before: it begins anew.
                if let Some(log) = current
                    && known.as_ref().is_none_or(|known| known.log != log)
                {
                    let part = Event::default().event("part").id(S::id(&log, 0)).data(S::part(&log));
                    if !send(&self.sender, part).await {
                        return;
                    }
                    (known, line) = (Some(Known { log, offset: 0 }), None);
                    continue;
                }
                let is_caught_up = known.as_ref().is_none_or(|known| known.log.length() <= known.offset);
                if is_over && is_caught_up {
                    let _ = send(&self.sender, Event::default().event("end").data("over")).await;
                    return;
                }
            }
            tokio::time::sleep(PACE).await;
            tokio::select! {
                () = self.source.more() => {}
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
}

/// Sends what is new. False if nobody listens any more.
async fn catch_up<S: Source>(
    sender: &Sender,
    known: &mut Known<S::Log>,
    line: &mut Option<u64>,
    is_over: bool,
) -> bool {
    loop {
        let (log, from, number) = (known.log.clone(), known.offset, *line);
        let read = tokio::task::spawn_blocking(move || {
            let length = log.length();
            let skipped = if length.saturating_sub(from) > MOST_BEHIND { length - PIECE as u64 - from } else { 0 };
            let from = from + skipped;
            let bytes = log.read(from, PIECE)?;
            let line = match number.filter(|_| skipped == 0) {
                Some(line) => Some(line),
                None => count_in(&log, from)?.map(|lines| lines + 1),
            };
            std::io::Result::Ok((skipped, bytes, line))
        });
        let Ok(Ok((skipped, mut bytes, number))) = read.await else { return true };
        if skipped > 0 {
            (known.offset, *line) = (known.offset + skipped, None);
            let id = S::id(&known.log, known.offset);
            if !send(sender, Event::default().event("skip").id(id).data(skipped.to_string())).await {
                return false;
            }
        }
        if !(is_over && bytes.len() < PIECE) {
            bytes.truncate(whole_characters(&bytes));
        }
        if bytes.is_empty() {
            return true;
        }
        let at = known.offset;
        known.offset += bytes.len() as u64;
        *line = number.map(|number| number + bytes.iter().filter(|byte| **byte == b'\n').count() as u64);
        let text = serde_json::Value::from(String::from_utf8_lossy(&bytes).as_ref());
        let number = number.map_or_else(|| "null".to_owned(), |number| number.to_string());
        let data = format!("{{\"at\":{at},\"line\":{number},\"text\":{text}}}");
        let id = S::id(&known.log, known.offset);
        if !send(sender, Event::default().event("log").id(id).data(data)).await {
            return false;
        }
    }
}
