//! Networks of people: namespaces, the links that lead out of them, and the firewall between.

mod firewall;
mod message;
mod space;

pub use firewall::{Denied, Firewall, Rules};
pub use space::{INSIDE, Namespace, disconnect, links, release, reserve};
