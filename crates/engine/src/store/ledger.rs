//! Reading the ledger: what computes and jobs have cost. It is written by the engine's batches alone, hour by
//! hour; what a node has used since its last settlement is in the World and not here.

use std::collections::BTreeMap;

use atelier_domain::WorkspaceId;
use atelier_domain::compute::JobId;
use atelier_domain::compute::node::Holder;
use atelier_domain::world::Charge;
use sqlx::Row as _;

use super::sql::Sql;
use super::{Result, Store};

/// How the ledger calls what a node was made for.
pub fn ledger_name(holder: Holder) -> String {
    match holder {
        Holder::Instance(id) => id.to_string(),
        Holder::Cluster(id) => id.to_string(),
        Holder::Job(id) => id.to_string(),
    }
}

impl Store {
    /// What the nodes of these computes and serverless jobs have cost since an hour (counted from 1970), by
    /// [`ledger_name`]; what has cost nothing is left out.
    pub async fn cost_of_holders(
        &self,
        workspace: &WorkspaceId,
        holders: &[String],
        since_hour: i64,
    ) -> Result<BTreeMap<String, Charge>> {
        if holders.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut sql = Sql::new(
            "select holder, cast(sum(millis) as bigint), cast(sum(cost) as bigint) from ledger where workspace_id = ",
        );
        sql.bind(workspace.as_str()).push(" and hour >= ").bind(since_hour);
        sql.push(" and holder in ").bind_list(holders.iter().map(String::as_str)).push(" group by holder");
        let rows = sql.rows(&self.reader).await?;
        Ok(rows.iter().map(|row| (row.get(0), charge(row.get(1), row.get(2)))).collect())
    }

    /// What the nodes of one compute or serverless job have cost since an hour.
    pub async fn cost_of_holder(&self, workspace: &WorkspaceId, holder: Holder, since_hour: i64) -> Result<Charge> {
        let name = ledger_name(holder);
        let found = self.cost_of_holders(workspace, std::slice::from_ref(&name), since_hour).await?;
        Ok(found.get(&name).copied().unwrap_or_default())
    }

    /// What a job has cost, wherever it ran; none of the hours before `since_hour`, that of its submission,
    /// are looked at.
    pub async fn cost_of_job(&self, workspace: &WorkspaceId, job: JobId, since_hour: i64) -> Result<Charge> {
        let mut sql = Sql::new(
            "select coalesce(cast(sum(millis) as bigint), 0), coalesce(cast(sum(cost) as bigint), 0) from ledger where \
             workspace_id = ",
        );
        sql.bind(workspace.as_str()).push(" and hour >= ").bind(since_hour);
        sql.push(" and job_id = ").bind(i64::try_from(job.0).unwrap_or(i64::MAX));
        let rows = sql.rows(&self.reader).await?;
        Ok(rows.first().map(|row| charge(row.get(0), row.get(1))).unwrap_or_default())
    }
}

fn charge(millis: i64, cost: i64) -> Charge {
    Charge { millis: u64::try_from(millis).unwrap_or_default(), cost: u64::try_from(cost).unwrap_or_default() }
}
