//! How many nodes of a cluster were in which state, for its chart: a row when that has changed. Only for
//! machines and their drawings, so it takes no revision.

use atelier_domain::compute::ClusterId;
use atelier_domain::time::Timestamp;
use sqlx::Row as _;

use super::sql::Sql;
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

const COLUMNS: &str = "cluster_id, at, preparing, idle, running, leaving, unusable, queued";

impl Store {
    /// Notes what the nodes of clusters do from now on.
    pub async fn note_cluster_counts(&self, at: Timestamp, counts: &[(ClusterId, NodeCounts)]) -> Result<()> {
        let _in_line = self.write_lock.lock().await;
        for (cluster, counts) in counts {
            let statement = format!(
                "insert into cluster_counts ({COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict \
                 (cluster_id, at) do update set preparing = excluded.preparing, idle = excluded.idle, \
                 running = excluded.running, leaving = excluded.leaving, unusable = excluded.unusable, \
                 queued = excluded.queued"
            );
            let numbers =
                [counts.preparing, counts.idle, counts.running, counts.leaving, counts.unusable, counts.queued];
            let mut query = sqlx::query(&statement).bind(number(cluster.0)).bind(at.0);
            for count in numbers {
                query = query.bind(number(count));
            }
            query.execute(&self.writer).await?;
        }
        Ok(())
    }

    /// What the nodes of a cluster did since an instant, the oldest first. Begins with what they did at that
    /// instant.
    pub async fn cluster_counts(&self, cluster: ClusterId, since: Timestamp) -> Result<Vec<(Timestamp, NodeCounts)>> {
        let mut sql = Sql::new(format!("select {COLUMNS} from cluster_counts where cluster_id = "));
        sql.bind(number(cluster.0)).push(" and at >= coalesce((select max(at) from cluster_counts where cluster_id = ");
        sql.bind(number(cluster.0)).push(" and at <= ").bind(since.0).push("), ").bind(since.0);
        sql.push(") order by at");
        let rows = sql.rows(&self.reader).await?;
        let count = |number: i64| u64::try_from(number).unwrap_or_default();
        Ok(rows
            .iter()
            .map(|row| {
                let counts = NodeCounts {
                    preparing: count(row.get(2)),
                    idle: count(row.get(3)),
                    running: count(row.get(4)),
                    leaving: count(row.get(5)),
                    unusable: count(row.get(6)),
                    queued: count(row.get(7)),
                };
                (Timestamp(row.get(1)), counts)
            })
            .collect())
    }

    /// Drops what is older, but for the last row of each cluster: it still says how things are.
    pub async fn prune_cluster_counts(&self, before: Timestamp) -> Result<()> {
        let _in_line = self.write_lock.lock().await;
        sqlx::query(
            "delete from cluster_counts where at < $1 and at < (select max(newer.at) from cluster_counts newer where \
             newer.cluster_id = cluster_counts.cluster_id)",
        )
        .bind(before.0)
        .execute(&self.writer)
        .await?;
        Ok(())
    }

    /// Drops all rows of clusters that are no more.
    pub async fn forget_cluster_counts(&self, clusters: &[ClusterId]) -> Result<()> {
        let _in_line = self.write_lock.lock().await;
        for cluster in clusters {
            sqlx::query("delete from cluster_counts where cluster_id = $1")
                .bind(number(cluster.0))
                .execute(&self.writer)
                .await?;
        }
        Ok(())
    }
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
