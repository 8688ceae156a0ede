//! Connections: taken, bounded, and seen to their end.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use russh::server::{Config, Handle, RunningSession};
use russh::{Disconnect, MethodKind, MethodSet, SshId};
use tokio::net::TcpListener;

use crate::cut::{Cuttable, Cutter};
use crate::handler::{Connection, Handler};
use crate::intake::{Everybodys, WINDOW};
use crate::places::Places;
use crate::plain::plain;
use crate::{HostKey, Studio};

/// How many connections there may be, and how long a stranger may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// At once.
    pub connections: usize,
    /// Of people who have not shown a key yet.
    pub strangers: usize,
    /// Of those from one address, or from one network of IPv6.
    pub strangers_of_one: usize,
    /// So long somebody may take to show one.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 1_024, strangers: 64, strangers_of_one: 8, grace: Duration::from_secs(30) }
    }
}

/// How long a client gets to hear why it is cut off. Nothing else goes through the connection meanwhile.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// A client that is not heard of is asked whether it is there after so long, and is gone after three times
/// that.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// Keys that do not fit are refused after so long, whoever has them.
const REFUSAL: Duration = Duration::from_millis(100);

/// Serves connections until the server stops; then waits until everybody has heard why they have to go.
pub async fn serve(
    listener: TcpListener,
    key: HostKey,
    studio: Arc<dyn Studio>,
    limits: Limits,
    stops: impl Future<Output = ()>,
) {
    let config = Arc::new(config(key));
    let (places, everybodys, closing) = (Places::new(limits), Everybodys::default(), Cutter::new());
    tokio::pin!(stops);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stops => break,
        };
        let (stream, from) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Too many open files, say: whoever is here goes on, and others come again.
                tracing::warn!(%error, "an SSH connection was not taken");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Some((place, stranger)) = places.take(from.ip()) else {
            tracing::info!(%from, "an SSH connection was turned away: there are too many");
            continue;
        };
        let (config, studio, everybodys) = (Arc::clone(&config), Arc::clone(&studio), Arc::clone(&everybodys));
        let closes = closing.was_cut();
        tokio::spawn(async move {
            // Small pieces leave at once; without that it works too.
            let _ = stream.set_nodelay(true);
            let (stream, cutter) = Cuttable::new(stream);
            let connection = Arc::new(Connection::new(from, studio, cutter, everybodys));
            let entering = enter(stream, &connection, config);
            let entered = tokio::select! {
                entered = tokio::time::timeout(limits.grace, entering) => entered.ok().flatten(),
                () = closes => None,
            };
            drop(stranger);
            attend(&connection, entered).await;
            drop(place);
        });
    }
    drop(listener);
    closing.cut();
    places.all_free().await;
}

fn config(key: HostKey) -> Config {
    Config {
        server_id: SshId::Standard("SSH-2.0-Atelier".into()),
        methods: MethodSet::from(&[MethodKind::PublicKey, MethodKind::KeyboardInteractive][..]),
        auth_rejection_time: REFUSAL,
        auth_rejection_time_initial: Some(Duration::ZERO),
        keys: vec![key.0],
        window_size: WINDOW,
        maximum_packet_size: 65_535,
        // Nothing lies in these: what comes goes to an inbox.
        channel_buffer_size: 1,
        event_buffer_size: 64,
        max_auth_attempts: 10,
        inactivity_timeout: None,
        keepalive_interval: Some(KEEP_ALIVE),
        keepalive_max: 3,
        nodelay: true,
        ..Config::default()
    }
}

type Running = Pin<Box<RunningSession<Handler>>>;

/// Waits until somebody has got in; nothing if they went away before.
async fn enter(stream: Cuttable, connection: &Arc<Connection>, config: Arc<Config>) -> Option<(Running, Handle)> {
    let handler = Handler::new(Arc::clone(connection));
    let running = russh::server::run_stream(config, stream, handler).await.ok()?;
    let handle = running.handle();
    let mut running = Box::pin(running);
    tokio::select! {
        _ = &mut running => None,
        () = connection.entered.notified() => Some((running, handle)),
    }
}

/// Sees one connection to its end. Whoever got in has left when this is over, whatever has happened.
async fn attend(connection: &Arc<Connection>, entered: Option<(Running, Handle)>) {
    let (Some((mut running, handle)), Some(visit)) = (entered, connection.visit.get().cloned()) else {
        connection.cutter.cut();
        connection.streams.cut();
        // Somebody may have got in, and gone again before anybody looked.
        connection.leave(None);
        if connection.visit.get().is_none() && connection.has_failed.load(Ordering::Relaxed) {
            connection.studio.failed(connection.from).await;
        }
        return;
    };
    let why = tokio::select! {
        _ = &mut running => None,
        why = visit.must_end() => Some(why),
        why = connection.verdict.wait() => Some(why.clone()),
    };
    if let Some(why) = &why {
        let _ = connection.verdict.set(why.clone());
    }
    // Whatever still waits for something hears that nobody is there.
    connection.streams.cut();
    connection.leave(why.as_deref());
    if let Some(why) = &why {
        let last_words = async {
            let _ = handle.disconnect(Disconnect::ByApplication, plain(why), String::new()).await;
            let _ = (&mut running).await;
        };
        let _ = tokio::time::timeout(LAST_WORDS, last_words).await;
    }
    connection.cutter.cut();
}
