//! The way into instances by SSH.
//!
//! | module | what it does |
//! | --- | --- |
//! | `listener` | takes connections, so many at once, and sees each to its end |
//! | `handler` | what a client asks for: who it is, channels, requests |
//! | `session`, `forward` | what goes through a channel: a process in an instance, or bytes as they are |
//! | `places` | how many connections there may be, in all and from one address |
//! | `intake` | what clients have sent and nobody has taken yet |
//! | `cut` | a connection that can be ended from outside |
//! | `key` | the server's own key |
//! | `plain` | words that every client shows as they are |
//!
//! It knows nothing of people and instances: that is asked of a [`Studio`], and a [`Visit`] opens streams
//! into an instance.
//!
//! **Flow.** What goes out waits for the client's window. What comes in is kept for whoever takes it
//! ([`intake`]), and reading never stops: a client's word that it has room again comes over the same
//! connection as its data, and a session that waited for the one before it took the other would wait for
//! ever. Instead, a client whose data nobody takes is given no more window.

mod cut;
mod forward;
mod handler;
mod intake;
mod key;
mod listener;
mod places;
mod plain;
mod session;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use atelier_pipe::Wire;
use atelier_protocol::remote::{Endpoint, SessionStart};
pub use key::HostKey;
pub use listener::{Limits, serve};

/// Who knows people, keys and instances.
#[async_trait]
pub trait Studio: Send + Sync + 'static {
    /// Somebody shows a key, by its fingerprint (`SHA256:…`), and has not proved that it is theirs. An error
    /// is for that person to read; it may say nothing that only the key's owner should know.
    async fn offered(&self, fingerprint: &str, from: SocketAddr) -> Result<(), String>;

    /// Somebody has proved that a key is theirs, and wants to go where the user name says.
    async fn enter(&self, user: &str, fingerprint: &str, from: SocketAddr) -> Entry;

    /// Somebody tried and did not get in.
    async fn failed(&self, from: SocketAddr);

    /// Whether a variable that a client sends may be set.
    fn takes_variable(&self, name: &str, value: &str) -> bool;
}

/// Whether somebody gets in.
pub enum Entry {
    /// No, and why: for that person to read.
    Refused(String),
    Welcome(Arc<dyn Visit>),
}

/// What is wanted of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    Session(SessionStart),
    Sftp,
    /// Something that listens in there.
    Connect(Endpoint),
}

/// Somebody who got in, at one instance.
#[async_trait]
pub trait Visit: Send + Sync {
    /// Why nothing can be had there now, for that person to read; nothing if it can.
    fn why_closed(&self) -> Option<String>;

    /// Opens a stream; an error is for that person to read.
    async fn open(&self, wanted: Wanted) -> Result<Wire, String>;

    /// So many bytes came in and went out.
    fn used(&self, received: u64, sent: u64);

    /// Waits until the connection has to end, and says why.
    async fn must_end(&self) -> String;

    /// Why the connection has to end, by what holds now; nothing if it may go on. Asked when a stream into
    /// the instance has ended: whatever ended it may be quicker than [`must_end`](Self::must_end) hears.
    async fn why_over(&self) -> Option<String>;

    /// The connection is over, after so many bytes; why, if it had to. May be told more than once, and counts
    /// the first time.
    fn left(&self, received: u64, sent: u64, why: Option<&str>);
}
