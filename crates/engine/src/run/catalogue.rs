//! Names that orders are made with: sizes and computes, readable without asking the loop, which may be in the
//! middle of a batch. What is looked up here is judged again when the order is.

use std::collections::{BTreeMap, BTreeSet};

use atelier_domain::WorkspaceId;
use atelier_domain::compute::size::{ComputeName, Size, SizeName};
use atelier_domain::compute::{ClusterId, InstanceId, NodeId};
use atelier_domain::world::{Key, Outcome, World};

/// Sizes and clusters as of the last batch.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    sizes: Vec<Size>,
    clusters: BTreeMap<(WorkspaceId, ComputeName), (ClusterId, SizeName)>,
    names: BTreeMap<ClusterId, ComputeName>,
    instances: BTreeMap<InstanceId, ComputeName>,
}

impl Catalogue {
    pub(super) fn of(world: &World) -> Self {
        let mut sizes: Vec<Size> = world.sizes().cloned().collect();
        sizes.sort_by(|a, b| (a.price, &a.name).cmp(&(b.price, &b.name)));
        let named = |cluster: &atelier_domain::compute::cluster::Cluster| {
            ((cluster.workspace.clone(), cluster.name.clone()), (cluster.id, cluster.size.clone()))
        };
        let names = world.clusters().map(|cluster| (cluster.id, cluster.name.clone())).collect();
        let instances = world.instances().map(|instance| (instance.id, instance.name.clone())).collect();
        Self { sizes, clusters: world.clusters().map(named).collect(), names, instances }
    }

    /// Whether a batch has changed any of it.
    pub(super) fn is_stale(&self, outcome: &Outcome) -> bool {
        // Keys are in the order of kinds: nodes and jobs, of which there are many, come after all that counts
        // here.
        let small =
            |keys: &BTreeSet<Key>, counts: &dyn Fn(&Key) -> bool| keys.range(..Key::Node(NodeId(0))).any(counts);
        small(&outcome.gone, &|key| matches!(key, Key::Size(_) | Key::Cluster(_) | Key::Instance(_)))
            || small(&outcome.changed, &|key| match key {
                Key::Size(_) => true,
                Key::Cluster(id) => !self.names.contains_key(id),
                Key::Instance(id) => !self.instances.contains_key(id),
                _ => false,
            })
    }

    /// All sizes, the cheapest first.
    pub fn sizes(&self) -> &[Size] {
        &self.sizes
    }

    /// The size of that name.
    pub fn size(&self, name: &SizeName) -> Option<&Size> {
        self.sizes.iter().find(|size| size.name == *name)
    }

    /// The cluster of that name, and the size of its nodes.
    pub fn cluster(&self, workspace: &WorkspaceId, name: &ComputeName) -> Option<(ClusterId, &SizeName)> {
        self.clusters.get(&(workspace.clone(), name.clone())).map(|(id, size)| (*id, size))
    }

    /// The name of an instance.
    pub fn instance_name(&self, id: InstanceId) -> Option<&ComputeName> {
        self.instances.get(&id)
    }

    /// The name of a cluster.
    pub fn cluster_name(&self, id: ClusterId) -> Option<&ComputeName> {
        self.names.get(&id)
    }
}
