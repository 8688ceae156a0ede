//! Streams: connections to what runs on a node. Asked for over the agent's WebSocket, then dialled by the
//! agent.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use atelier_domain::compute::NodeId;
use atelier_pipe::Wire;
use atelier_protocol::{Target, ToAgent};
use tokio::sync::oneshot;

use super::{Fleet, lock};

/// How long an agent may take to dial.
const DIALLING: Duration = Duration::from_secs(10);

/// Why a stream cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoStream {
    /// Its agent is not connected.
    #[error("{0} is not connected")]
    NotConnected(NodeId),
    /// The agent does not dial.
    #[error("the agent of {0} did not answer within {limit} s", limit = DIALLING.as_secs())]
    NoAnswer(NodeId),
    /// The agent cannot reach what was asked for; its words.
    #[error("{0}")]
    Unreachable(String),
}

struct Waiting {
    node: NodeId,
    answer: oneshot::Sender<Result<Wire, String>>,
}

/// Streams that were asked for and have not come.
#[derive(Default)]
pub(super) struct Streams {
    waiting: Mutex<HashMap<String, Waiting>>,
}

impl Streams {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        lock(&self.waiting)
    }
}

/// Takes a ticket back when nobody waits any more.
struct Ticket<'a> {
    streams: &'a Streams,
    text: String,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.streams.lock().remove(&self.text);
    }
}

impl Fleet {
    /// Opens a stream to what runs on a node.
    ///
    /// # Errors
    /// In words for people, when there is no way there.
    pub async fn open(&self, node: NodeId, target: Target) -> Result<Wire, NoStream> {
        let (answer, answered) = oneshot::channel();
        let text = format!("{:032x}", rand::random::<u128>());
        self.inner.streams.lock().insert(text.clone(), Waiting { node, answer });
        let ticket = Ticket { streams: &self.inner.streams, text };
        if !self.say(node, ToAgent::Open { ticket: ticket.text.clone(), target }) {
            return Err(NoStream::NotConnected(node));
        }
        match tokio::time::timeout(DIALLING, answered).await {
            Ok(Ok(Ok(wire))) => Ok(wire),
            Ok(Ok(Err(why))) => Err(NoStream::Unreachable(why)),
            Ok(Err(_)) | Err(_) => Err(NoStream::NoAnswer(node)),
        }
    }

    /// Whether somebody waits for that stream. Looked at before a connection is let through.
    pub fn awaits_stream(&self, ticket: &str) -> bool {
        self.inner.streams.lock().contains_key(ticket)
    }

    /// A stream has come. One that nobody waits for is dropped; a ticket counts once.
    pub fn stream_arrived(&self, ticket: &str, wire: Wire) {
        if let Some(waiting) = self.inner.streams.lock().remove(ticket) {
            // Whoever waited may have gone in this moment.
            drop(waiting.answer.send(Ok(wire)));
        }
    }

    /// An agent cannot open a stream. What it says of others' streams counts for nothing.
    pub(super) fn stream_failed(&self, node: NodeId, ticket: &str, why: &str) {
        let mut waiting = self.inner.streams.lock();
        if waiting.get(ticket).is_some_and(|stream| stream.node == node)
            && let Some(stream) = waiting.remove(ticket)
        {
            drop(stream.answer.send(Err(why.to_owned())));
        }
    }
}
