//! What runs on a node, as `atelier agent`: jobs, apps, terminals, activity, metrics and tunnels.
//!
//! Empty for now: nodes arrive with the first driver. The crate exists so that its place is known. It may depend on
//! `atelier-domain` and on nothing else of ours, since it has to stay small on every node.
