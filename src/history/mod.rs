//! What happened: the activity of the workspace and events in other pages.

#[cfg(feature = "ssr")]
pub mod events;
#[cfg(feature = "ssr")]
pub mod page;
