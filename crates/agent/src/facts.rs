//! What an agent finds out about its node when it starts.

use std::path::PathBuf;

use atelier_confine::{Confinement, Version, bubblewrap};
use atelier_protocol::{Facts, Limits};

use crate::config::AgentConfig;

/// How people are kept apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Own users and a private view, by this program.
    View(PathBuf),
    /// Own users only.
    Users,
    /// Not at all.
    None,
}

/// How people can be kept apart here, and what people should know about it.
pub fn isolation(config: &AgentConfig) -> (Isolation, Vec<String>) {
    if !config.isolate {
        return (
            Isolation::None,
            vec![
                "People are not isolated from each other on this node: it was set up so, and jobs run as the agent's \
                 own user."
                    .to_owned(),
            ],
        );
    }
    if !rustix::process::geteuid().is_root() {
        let why = "People are not isolated from each other on this node: the server does not run as root.";
        return (Isolation::None, vec![why.to_owned()]);
    }
    let view = if config.view { bubblewrap() } else { Err("a private view was switched off".to_owned()) };
    match view {
        Ok(bwrap) => (Isolation::View(bwrap), Vec::new()),
        Err(why) => {
            let but = "People run as users of their own, but see each other's processes and the system";
            (Isolation::Users, vec![format!("{but}: {why}.")])
        }
    }
}

/// What enforces the node's share.
pub const fn limits(confinement: Option<&Confinement>) -> Limits {
    match confinement {
        Some(confinement) => match confinement.version() {
            Version::One => Limits::CgroupV1,
            Version::Two => Limits::CgroupV2,
        },
        None => Limits::Rlimits,
    }
}

/// All of it.
pub fn facts(
    config: &AgentConfig,
    isolation: &Isolation,
    limits: Limits,
    warnings: Vec<String>,
    gpus: Vec<String>,
) -> Facts {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Facts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host,
        address: config.host.clone(),
        pid: std::process::id(),
        shape: config.shape,
        limits,
        has_own_users: *isolation != Isolation::None,
        has_private_view: matches!(isolation, Isolation::View(_)),
        warnings,
        gpus,
        takes_tokens: true,
    }
}
