//! Connections to applications that wait for their next request: asking an agent for a new one costs more
//! than the request.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use atelier_domain::compute::{InstanceId, NodeId};
use atelier_engine::clock;
use atelier_engine::fleet::{Fleet, NoStream};
use atelier_protocol::Target;
use axum::body::Body;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;

use crate::server::apps::connection::AppConnection;

/// So many wait for one application.
const MOST: usize = 32;
/// How long one waits. Shorter than what servers usually allow, so that it is not closed while it is taken.
const IDLE: Duration = Duration::from_secs(20);

/// Where a connection leads.
pub type Way = (NodeId, InstanceId, String);

/// Connections to each application, and since when they wait.
type Idle = HashMap<Way, Vec<(AppConnection, Instant)>>;

#[derive(Debug, Default)]
pub struct Pool {
    idle: Mutex<Idle>,
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One that waits, if there is one that is still open.
    pub fn take(&self, way: &Way) -> Option<AppConnection> {
        loop {
            let (mut connection, since) = self.lock().get_mut(way)?.pop()?;
            if since.elapsed() < IDLE && connection.is_ready() {
                return Some(connection);
            }
        }
    }

    /// Keeps one for the next request.
    pub fn give(&self, way: Way, connection: AppConnection) {
        let now = clock::instant();
        let mut idle = self.lock();
        let waiting = idle.entry(way).or_default();
        if waiting.len() < MOST {
            waiting.push((connection, now));
        }
    }

    /// Drops what has waited too long.
    pub fn tidy(&self) {
        self.lock().retain(|_, waiting| {
            waiting.retain(|(_, since)| since.elapsed() < IDLE);
            !waiting.is_empty()
        });
    }
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum NoConnection {
    /// No stream to it.
    #[error(transparent)]
    Stream(#[from] NoStream),
    /// What answers there does not speak HTTP.
    #[error("{0}")]
    Http(#[from] hyper::Error),
}

/// A new connection for one request after another.
pub async fn connection(fleet: &Fleet, way: &Way) -> Result<AppConnection, NoConnection> {
    Ok(AppConnection::over(open(fleet, way).await?).await?)
}

/// A new connection that may become something else; it moves by itself.
pub async fn connect(fleet: &Fleet, way: &Way) -> Result<SendRequest<Body>, NoConnection> {
    let wire = open(fleet, way).await?;
    let (sender, connection) = http1::Builder::new().handshake(TokioIo::new(wire)).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "a connection to an application ended");
        }
    });
    Ok(sender)
}

async fn open(fleet: &Fleet, way: &Way) -> Result<atelier_pipe::Wire, NoStream> {
    let (node, instance, name) = way.clone();
    fleet.open(node, Target::App { instance, name }).await
}
