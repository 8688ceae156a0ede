//! Logs: for people on a terminal, JSON elsewhere. Never a secret, never an e-mail address.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::server::config::{Config, LogFormat};

/// Starts logging to standard error.
pub fn start(config: &Config) {
    // The filter was parsed with the configuration, so it cannot fail here.
    let mut filter = EnvFilter::try_new(&config.log).unwrap_or_default();
    // The session layer warns of every unknown cookie: one line a request for whoever cares to send them.
    if !config.log.contains("tower_sessions") {
        for quiet in ["tower_sessions=error", "tower_sessions_core=error"] {
            filter = filter.add_directive(quiet.parse().unwrap_or_default());
        }
    }
    let registry = tracing_subscriber::registry().with(filter);
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    // A second start in one process (tests) keeps the first.
    let _ = match config.log_format {
        LogFormat::Pretty => registry.with(layer.compact()).try_init(),
        LogFormat::Json => registry.with(layer.json().flatten_event(true)).try_init(),
    };
}
