//! How many nodes of a cluster were in which state, for its chart: a row when that has changed. Only for
//! machines and their drawings, so it takes no revision.

use atelier_domain::compute::ClusterId;
use atelier_domain::time::Timestamp;
use sqlx::any::AnyRow;

use super::sql::{Columns as _, Record as _, Sql, record};
use super::{Result, Store};

/// The nodes of a cluster by state, and its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCounts {
    /// Nodes on their way.
    pub preparing: u64,
    /// Ready nodes without a job.
    pub idle: u64,
    pub running: u64,
    /// Nodes on their way out.
    pub leaving: u64,
    /// Nodes that nobody can talk to.
    pub unusable: u64,
    pub queued: u64,
}

impl NodeCounts {
    pub const fn nodes(&self) -> u64 {
        self.preparing + self.idle + self.running + self.leaving + self.unusable
    }
}

record!(NodeCounts {
    preparing: "preparing",
    idle: "idle",
    running: "running",
    leaving: "leaving",
    unusable: "unusable",
    queued: "queued",
});

impl Store {
    /// Notes what the nodes of clusters do from now on.
    pub async fn note_cluster_counts(&self, at: Timestamp, counts: &[(ClusterId, NodeCounts)]) -> Result<()> {
        let write = |(cluster, counts): &(ClusterId, NodeCounts)| {
            Sql::insert("cluster_counts")
                .set("cluster_id", *cluster)
                .set("at", at)
                .set("preparing", counts.preparing)
                .set("idle", counts.idle)
                .set("running", counts.running)
                .set("leaving", counts.leaving)
                .set("unusable", counts.unusable)
                .set("queued", counts.queued)
                .or_update("cluster_id, at", NodeCounts::COLUMNS)
        };
        self.write_all(counts.iter().map(write).collect()).await
    }

    /// What the nodes of a cluster did since an instant, the oldest first. Begins with what they did at that
    /// instant.
    pub async fn cluster_counts(&self, cluster: ClusterId, since: Timestamp) -> Result<Vec<(Timestamp, NodeCounts)>> {
        let sql = Sql::select(&format!("at, {}", NodeCounts::columns()), "cluster_counts")
            .eq("cluster_id", cluster)
            .and("at >= coalesce((select max(at) from cluster_counts where cluster_id = ? and at <= ?), ?)")
            .bind(cluster)
            .bind(since)
            .bind(since)
            .push(" order by at");
        let read = |row: &AnyRow| Ok((row.read("at")?, NodeCounts::read(row)?));
        sql.rows(&self.reader).await?.iter().map(read).collect()
    }

    /// Drops what is older, but for the last row of each cluster: it still says how things are.
    pub async fn prune_cluster_counts(&self, before: Timestamp) -> Result<()> {
        let newer = "at < (select max(newer.at) from cluster_counts newer where newer.cluster_id = \
                     cluster_counts.cluster_id)";
        self.write(Sql::delete("cluster_counts").and("at < ?").bind(before).and(newer)).await?;
        Ok(())
    }

    /// Drops all rows of clusters that are no more.
    pub async fn forget_cluster_counts(&self, clusters: &[ClusterId]) -> Result<()> {
        let drop_of = |cluster: &ClusterId| Sql::delete("cluster_counts").eq("cluster_id", *cluster);
        self.write_all(clusters.iter().map(drop_of).collect()).await
    }
}
