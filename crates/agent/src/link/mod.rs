//! The connection to the server: dialled out, made again and again, later each time it fails.

mod dial;
mod stream;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use atelier_protocol::{Bytes, ToAgent, decode_bytes, decode_to_agent};
pub use dial::unix;
use futures_util::{SinkExt, StreamExt};
use rand::Rng;
pub use stream::{Stream, open as stream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::config::AgentConfig;
use crate::core::Happening;

/// The first pause; each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// A server that has said nothing for so long is gone: it pings more often.
const SILENCE: Duration = Duration::from_secs(30);
/// How long dialling may take.
const DIALLING: Duration = Duration::from_secs(10);

/// What the connection tells the loop. Each connection has its number, so that what comes late from an old
/// one is known as such.
#[derive(Debug)]
pub enum FromLink {
    /// There is a new connection; what is put in here is sent.
    Connected(u64, UnboundedSender<Message>),
    /// The server said something.
    Said(u64, Box<ToAgent>),
    /// A piece of a file.
    Bytes(u64, Bytes),
    /// The server gave a sign of life.
    Alive(u64),
    Closed(u64),
}

/// Connects for ever. Ends when nobody listens any more, or when the loop has hung up for good.
pub async fn keep_connected(config: AgentConfig, inbox: UnboundedSender<Happening>, is_last: Arc<AtomicBool>) {
    let mut pause = FIRST_PAUSE;
    for number in 1.. {
        match tokio::time::timeout(DIALLING, dial::dial(&config)).await {
            Ok(Ok(socket)) => {
                let (sender, outgoing) = unbounded_channel();
                if inbox.send(Happening::Link(FromLink::Connected(number, sender))).is_err() {
                    return;
                }
                let (why, was_welcome) = pump(socket, number, outgoing, &inbox).await;
                tracing::info!(why, "the connection to the server is over");
                if was_welcome {
                    pause = FIRST_PAUSE;
                }
                if inbox.send(Happening::Link(FromLink::Closed(number))).is_err() || is_last.load(Ordering::Relaxed) {
                    return;
                }
            }
            Ok(Err(why)) => tracing::info!(why, "the server cannot be reached"),
            Err(_) => tracing::info!("the server does not answer"),
        }
        // Anything between nothing and the whole pause, so that a thousand agents do not come back at once.
        let millis = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        let jittered = Duration::from_millis(rand::rng().random_range(0..=millis));
        tokio::time::sleep(jittered).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

const HUNG_UP: &str = "this agent has hung up";

/// Carries messages both ways until it is over. Says why, and whether the agent was let in.
async fn pump(
    socket: WebSocketStream<atelier_pipe::Wire>,
    number: u64,
    mut outgoing: UnboundedReceiver<Message>,
    inbox: &UnboundedSender<Happening>,
) -> (&'static str, bool) {
    let (mut sink, mut stream) = socket.split();
    let mut was_welcome = false;
    let send = async {
        while let Some(message) = outgoing.recv().await {
            let mut next = Some(message);
            while let Some(message) = next {
                if sink.feed(message).await.is_err() {
                    return "it cannot be written to";
                }
                next = outgoing.try_recv().ok();
            }
            if sink.flush().await.is_err() {
                return "it cannot be written to";
            }
        }
        drop(sink.close().await);
        HUNG_UP
    };
    let receive = async {
        loop {
            let message = match tokio::time::timeout(SILENCE, stream.next()).await {
                Ok(Some(Ok(message))) => message,
                Ok(_) => return "the server has closed it",
                Err(_) => return "the server is silent",
            };
            let event = match message {
                Message::Text(text) => match decode_to_agent(&text) {
                    Ok(said) => {
                        was_welcome |= matches!(said, ToAgent::Welcome { .. });
                        FromLink::Said(number, Box::new(said))
                    }
                    Err(error) => {
                        tracing::error!(%error, "the server said something strange");
                        return "the server said something strange";
                    }
                },
                Message::Binary(bytes) => match decode_bytes(&bytes) {
                    Ok(bytes) => FromLink::Bytes(number, bytes),
                    Err(_) => return "the server sent something strange",
                },
                Message::Close(_) => return "the server has closed it",
                _ => FromLink::Alive(number),
            };
            if inbox.send(Happening::Link(event)).is_err() {
                return HUNG_UP;
            }
        }
    };
    let why = tokio::select! {
        why = send => why,
        why = receive => why,
    };
    (why, was_welcome)
}
