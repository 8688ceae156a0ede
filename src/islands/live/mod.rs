//! Pages that follow what happens: a stream of revisions, and a refetch of what they show.
//!
//! The stream says only that something changed and what it is about. The page is then fetched again as a
//! whole, by the same address, and the parts marked `data-live` are changed to what the server says now. So
//! there is one way to make a page, and what is live can never differ from what a reload shows.

#![allow(missing_docs, reason = "the island macro makes a struct of its own for the props, without a comment")]

#[cfg(feature = "hydrate")]
pub(super) mod morph;
#[cfg(feature = "hydrate")]
mod refresh;
#[cfg(feature = "hydrate")]
mod stream;

use leptos::prelude::*;

/// What the indicator says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connection {
    /// No script, or not connected yet: nothing is shown.
    Off,
    /// Changes arrive as they happen.
    Live,
    /// The connection was lost a moment ago.
    Reconnecting,
    /// It has been gone for long; since when, as `14:32`.
    Stale(String),
}

impl Connection {
    /// The state that colours it, and the sprite's glyph.
    const fn look(&self) -> (&'static str, &'static str) {
        match self {
            Self::Off => ("off", "g-stopped"),
            Self::Live => ("running", "g-running"),
            Self::Reconnecting => ("starting", "g-starting"),
            Self::Stale(_) => ("unknown", "g-unknown"),
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Off => "Live updates off".to_owned(),
            Self::Live => "Live".to_owned(),
            Self::Reconnecting => "Reconnecting".to_owned(),
            Self::Stale(since) => ["Stale since ", since.as_str()].concat(),
        }
    }

    const fn explanation(&self) -> &'static str {
        match self {
            Self::Off => "",
            Self::Live => "Changes arrive as they happen.",
            Self::Reconnecting => "The connection to the server was lost. It is being made again.",
            Self::Stale(_) => "What is shown may have changed since. Reload the page to see what the server says now.",
        }
    }
}

/// The live indicator of the top bar; also keeps the page up to date.
///
/// Hidden by style while `data-state` is `off`, which is what the server renders.
#[island]
pub fn Live(
    /// The address of the stream.
    stream: String,
    /// The revision that the page shows.
    revision: i64,
    /// The keys of the topics that the page watches, joined by commas; empty if it only wants to know the
    /// connection.
    topics: String,
    /// The address of the icons.
    sprite: String,
) -> impl IntoView {
    let connection = RwSignal::new(Connection::Off);
    // Nobody wants to hear "Live" at every page; a loss is said, and the way back.
    let is_said = RwSignal::new(false);
    #[cfg(feature = "hydrate")]
    stream::follow(stream, revision, topics, connection, is_said);
    #[cfg(not(feature = "hydrate"))]
    let _ = (stream, revision, topics, is_said);

    let state = move || connection.with(|connection| connection.look().0);
    let glyph = move || connection.with(|connection| [sprite.as_str(), "#", connection.look().1].concat());
    view! {
        <span
            class="live"
            role="status"
            data-state=state
            aria-live=move || if is_said.get() { "polite" } else { "off" }
            title=move || connection.with(Connection::explanation)
        >
            <svg class="glyph" aria-hidden="true"><use href=glyph></use></svg>
            <span class="txt">{move || connection.with(Connection::words)}</span>
        </span>
    }
}
