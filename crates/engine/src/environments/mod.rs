//! Python environments, built once on this machine for each list of packages. There are two sorts:
//!
//! - the [base environment](Base) of instances: JupyterLab and what is beside it, one for the installation;
//! - [named environments](Named), in versions, which people make for jobs and notebooks.
//!
//! Both lie on the same [`shelf`], where everybody reads and nobody writes them, under the hash of what they
//! are made of ([`recipe`]). [`base_keeper`] and [`named_builder`] decide when one is built, [`build`] does
//! it on a thread of its own.

mod base;
mod base_keeper;
mod base_status;
mod bounds;
mod build;
pub mod editor;
mod failure;
mod freeze;
mod guard;
mod in_use;
mod kernels;
mod named;
mod named_builder;
mod pip;
mod process;
mod recipe;
mod seal;
mod shelf;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use atelier_domain::environment::{MAX_LINE, MAX_LINES, Requirements};
pub use base::{Base, RebuildError, build_now};
pub use base_status::{BaseStatus, Built, Phase};
pub use bounds::Bounds;
use build::FOR_PIP;
pub use build::News;
pub use failure::Failure;
pub use freeze::{Frozen, frozen};
pub use named::{BuildFailure, BuildState, Named};
pub use process::Cancel;
pub use recipe::{Kind, Python};

use crate::store::Store;

/// What may be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub folder: PathBuf,
    /// Where JupyterLab finds what notebooks can run with, by this server alone.
    pub kernels: PathBuf,
    /// Whether other servers may use the same folder; then nothing is removed from it.
    pub is_shared: bool,
    /// The Python that they stand on.
    pub python: PathBuf,
    /// Whether the server builds what is missing.
    pub builds: bool,
    /// Whether people have users of their own, where the server is root: they must be able to read it, and it
    /// is not built by root.
    pub has_own_users: bool,
    /// Variables for pip beside the server's own, such as another index.
    pub pip: Vec<(String, String)>,
    /// How long a build may take.
    pub limit: Duration,
    /// What else a build may use.
    pub bounds: Bounds,
    /// How long after a failure it is tried again: after the first, the second, and all later ones.
    pub retries: [Duration; 3],
}

impl Settings {
    /// In the server's own data directory.
    pub fn of(data: &Path) -> Self {
        let minutes = |count: u64| Duration::from_secs(60 * count);
        Self {
            folder: data.join("environments"),
            kernels: data.join("environments").join("kernels"),
            is_shared: false,
            python: "/usr/bin/python3".into(),
            builds: true,
            has_own_users: true,
            pip: Vec::new(),
            limit: minutes(30),
            bounds: Bounds::default(),
            retries: [minutes(1), minutes(5), minutes(30)],
        }
    }
}

/// All environments of this server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Environments {
    base: Base,
    named: Named,
}

impl Environments {
    /// Looks after environments. Nothing happens before [`Environments::start`].
    pub fn new(store: Arc<Store>, settings: Settings) -> Self {
        Self { named: Named::new(Arc::clone(&store), settings.clone()), base: Base::new(store, settings) }
    }

    /// The one that instances have.
    pub const fn base(&self) -> &Base {
        &self.base
    }

    /// Those that people name.
    pub const fn named(&self) -> &Named {
        &self.named
    }

    /// Begins to build what is missing, in the background.
    pub fn start(&self) {
        self.named.start();
        self.base.start();
    }

    /// Ends what is being built; the next start builds it again.
    pub async fn stop(&self) {
        self.named.stop().await;
        self.base.stop().await;
    }

    /// Where environments are, what they stand on, and the rest of it.
    pub fn settings(&self) -> &Settings {
        self.base.settings()
    }
}
