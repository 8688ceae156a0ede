//! The site of a running server as the beginning of a scenario: its recorded jobs and the policies are still
//! to come.

use atelier_domain::WorkspaceId;
use atelier_domain::compute::size::Price;
use atelier_domain::world::World;

use super::draft::{ClusterDraft, Draft, HistoryDraft, SiteDraft, SizeDraft};

impl Draft {
    /// What a server has: its sites, its sizes, and the clusters of a workspace as they are set. How long
    /// launches take there nobody has written down; whoever knows changes [`SiteDraft::launch`]. Minimums by
    /// schedule are not taken over.
    pub fn of_server(world: &World, workspace: &WorkspaceId) -> Self {
        let sites = world.sites().filter(|site| site.capacity.cores > 0 && site.capacity.memory > 0);
        let sizes = world.sizes();
        let clusters = world.clusters().filter(|cluster| cluster.workspace == *workspace);
        Self {
            name: "Preview".into(),
            seed: 1,
            site: sites
                .map(|site| SiteDraft {
                    name: site.name.to_string(),
                    cores: Some(cores(site.capacity.cores)),
                    memory_gib: Some(gib(site.capacity.memory)),
                    gpus: Some(site.capacity.gpus),
                    ..SiteDraft::default()
                })
                .collect(),
            size: sizes
                .map(|size| SizeDraft {
                    name: size.name.to_string(),
                    family: Some(size.family.to_string()),
                    site: size.site.to_string(),
                    cores: cores(size.shape.cores),
                    memory_gib: gib(size.shape.memory),
                    gpus: size.shape.gpus,
                    price: currency(size.price),
                    ..SizeDraft::default()
                })
                .collect(),
            cluster: clusters
                .map(|cluster| ClusterDraft {
                    name: cluster.name.to_string(),
                    size: cluster.size.to_string(),
                    min: Some(cluster.scale.min),
                    max: cluster.scale.max,
                    warm: Some(cluster.scale.warm),
                    order: Some(cluster.queue.order.key().to_owned()),
                    backfill: Some(cluster.queue.backfill),
                    idle: Some(format!("{} ms", cluster.scale.idle.as_millis())),
                    ..ClusterDraft::default()
                })
                .collect(),
            history: Some(HistoryDraft { file: "the jobs of the server".into(), cluster: None }),
            ..Self::default()
        }
    }
}

fn cores(thousandths: u64) -> f64 {
    thousandths as f64 / 1_000.0
}

fn gib(mebibytes: u64) -> f64 {
    mebibytes as f64 / 1_024.0
}

fn currency(price: Price) -> f64 {
    price.0 as f64 / 1e6
}
