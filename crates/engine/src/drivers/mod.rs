//! Drivers: how nodes come to exist, and cease to.
//!
//! A driver knows nothing of jobs. It makes a node, on which the same agent runs everywhere and calls the
//! server; it removes one, and its word that the node is gone is the last; and it lists what there is. A new
//! driver is one more implementation of [`Driver`], one line where the server starts, and must pass the
//! contract tests (`tests/engine/nodes/contract.rs`).

mod carry_out;
pub mod local;

use std::future::Future;
use std::pin::Pin;

use atelier_domain::compute::size::{SiteName, Size};
use atelier_domain::compute::{NodeId, Resources};
use atelier_domain::world::FoundNode;
pub(crate) use carry_out::{check, compare, launch, look_after, terminate, terminate_unknown};

/// What a driver gives back, some time later.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T, String>> + Send + 'a>>;

/// A node to be made.
#[derive(Clone, Debug)]
pub struct NewNode {
    pub node: NodeId,
    pub shape: Resources,
    /// What its agent shows at its first call.
    pub token: String,
}

/// What a driver can do, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// What kind of driver it is: `local`.
    pub kind: &'static str,
    /// How the share of a node is enforced: a sentence.
    pub limits: String,
    /// How people are kept apart: a sentence.
    pub isolation: String,
    /// Whether that is as it should be, so that nothing needs a look.
    pub is_isolated: bool,
    /// What is changed about the machine for that, in sentences.
    pub changes: Vec<String>,
}

/// Makes and removes nodes on one site. Every call may come twice and must then do no harm; errors are for
/// people.
pub trait Driver: Send + Sync + 'static {
    /// Where it makes them.
    fn site(&self) -> &SiteName;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// What all its nodes together may have.
    fn capacity(&self) -> Later<'_, Resources>;

    /// Sizes to begin with, where the catalogue has none for this site.
    fn default_sizes(&self, capacity: Resources) -> Vec<Size>;

    /// Whether a node exists, or is being made.
    fn exists(&self, node: NodeId) -> Later<'_, bool>;

    /// Makes a node; over as soon as it is on its way, since its agent's call says that it is there.
    fn launch(&self, new: NewNode) -> Later<'_, ()>;

    /// Removes a node by its name; over when nothing of it is left. One that does not exist is gone.
    fn terminate(&self, name: String) -> Later<'_, ()>;

    /// All that exists and may be ours.
    fn list(&self) -> Later<'_, Vec<FoundNode>>;

    /// What it calls a node of ours.
    fn name_of(&self, node: NodeId) -> String {
        node.to_string()
    }
}
