//! Reading the ledger: what computes and jobs have cost. It is written by the engine's batches alone, hour by
//! hour; what a node has used since its last settlement is in the World and not here.

use std::collections::BTreeMap;

use atelier_domain::WorkspaceId;
use atelier_domain::compute::JobId;
use atelier_domain::compute::node::Holder;
use atelier_domain::world::Charge;
use sqlx::any::AnyRow;

use super::readers::Readers;
use super::sql::{Columns as _, Field, Record, Sql};
use super::{Result, Store};

/// How the ledger calls what a node was made for.
pub fn ledger_name(holder: Holder) -> String {
    match holder {
        Holder::Instance(id) => id.to_string(),
        Holder::Cluster(id) => id.to_string(),
        Holder::Job(id) => id.to_string(),
    }
}

impl Record for Charge {
    const COLUMNS: &'static [&'static str] =
        &["cast(coalesce(sum(millis), 0) as bigint) as millis", "cast(coalesce(sum(cost), 0) as bigint) as cost"];

    fn read(row: &AnyRow) -> Result<Self> {
        Ok(Self { millis: row.read("millis")?, cost: row.read("cost")? })
    }
}

/// Sums of the ledger by an expression; what they are made of and `group by` follow.
pub(super) fn sums_by(expression: &str) -> Sql {
    Sql::select(&format!("{expression} as summed, {}", Charge::columns()), "ledger")
}

/// What [`sums_by`] found.
pub(super) async fn sums<K: Field, S: FromIterator<(K, Charge)>>(sql: Sql, readers: &Readers) -> Result<S> {
    sql.rows(readers).await?.iter().map(|row| Ok((row.read("summed")?, Charge::read(row)?))).collect()
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
        let sql = sums_by("holder").eq("workspace_id", workspace).and("hour >= ?").bind(since_hour);
        sums(sql.within("holder", holders.iter().map(String::as_str)).push(" group by holder"), &self.reader).await
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
        let sql = Sql::of::<Charge>("ledger").eq("workspace_id", workspace).and("hour >= ?").bind(since_hour);
        Ok(sql.eq("job_id", job).first(&self.reader).await?.unwrap_or_default())
    }
}
