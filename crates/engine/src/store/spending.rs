//! Sums of the ledger over a stretch of hours: by hour, by compute, by person, by job.
//!
//! Every statement is bound to one workspace and to a stretch of hours, which is how the ledger's primary key
//! begins.

use std::collections::BTreeMap;

use atelier_domain::world::Charge;
use atelier_domain::{UserId, WorkspaceId};

use super::ledger::{sums, sums_by};
use super::sql::{AT_ONCE, Columns as _, Record as _, Sql};
use super::{Result, Store};

/// The key of all nodes of serverless jobs together.
pub const SERVERLESS: &str = "serverless";

/// What sums are made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpendBy {
    /// Instances and clusters as [`super::ledger_name`] calls them; serverless jobs are one, [`SERVERLESS`].
    Compute,
    /// Accounts by their id.
    Person,
    /// Numbers of jobs; `0` is time without a job.
    Job,
}

impl SpendBy {
    const fn expression(self) -> &'static str {
        match self {
            Self::Compute => "case when holder like 'job-%' then 'serverless' else holder end",
            Self::Person => "user_id",
            Self::Job => "cast(job_id as text)",
        }
    }
}

/// Which part of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpendFilter {
    pub workspace: WorkspaceId,
    /// From this hour on, counted from 1970.
    pub from: i64,
    /// Up to this hour, which is left out.
    pub to: i64,
    /// What this person pays, or what everybody does.
    pub person: Option<UserId>,
}

impl SpendFilter {
    fn restrict(&self, sql: Sql) -> Sql {
        let sql = sql.eq("workspace_id", &self.workspace).and("hour >= ?").bind(self.from);
        sql.and("hour < ?").bind(self.to).and_if("user_id = ?", self.person.as_ref())
    }
}

impl Store {
    /// What each hour cost, in order; hours without any cost are left out.
    pub async fn spent_by_hour(&self, filter: &SpendFilter) -> Result<Vec<(i64, Charge)>> {
        sums(filter.restrict(sums_by("hour")).push(" group by hour order by hour"), &self.reader).await
    }

    /// The dearest, at most so many.
    pub async fn spent_by(&self, filter: &SpendFilter, by: SpendBy, most: i64) -> Result<Vec<(String, Charge)>> {
        let key = by.expression();
        let sql = filter.restrict(sums_by(key)).push(&format!(" group by {key} order by sum(cost) desc, {key}"));
        sums(sql.limit(most), &self.reader).await
    }

    /// How many there are.
    pub async fn count_spent_by(&self, filter: &SpendFilter, by: SpendBy) -> Result<u64> {
        let sql = Sql::count_of(&format!("(select distinct {} as summed from ledger", by.expression()));
        filter.restrict(sql).push(") as sums").count(&self.reader).await
    }

    /// What these cost; those that cost nothing are left out.
    pub async fn spent_on(
        &self,
        filter: &SpendFilter,
        by: SpendBy,
        keys: &[String],
    ) -> Result<BTreeMap<String, Charge>> {
        let key = by.expression();
        let mut found = BTreeMap::new();
        for keys in keys.chunks(AT_ONCE) {
            let sql = filter.restrict(sums_by(key)).within(key, keys.iter().map(String::as_str));
            found.extend(sums::<String, Vec<_>>(sql.push(&format!(" group by {key}")), &self.reader).await?);
        }
        Ok(found)
    }

    /// What these few cost in each hour, in order.
    pub async fn spent_by_hour_on(
        &self,
        filter: &SpendFilter,
        by: SpendBy,
        keys: &[String],
    ) -> Result<Vec<(i64, String, Charge)>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let key = by.expression();
        let sql = filter.restrict(sums_by(&format!("hour, {key}")));
        let sql = sql.within(key, keys.iter().take(AT_ONCE).map(String::as_str));
        let rows = sql.push(&format!(" group by hour, {key} order by hour")).rows(&self.reader).await?;
        rows.iter().map(|row| Ok((row.read("hour")?, row.read("summed")?, Charge::read(row)?))).collect()
    }

    /// The node time of every instance that had any.
    pub async fn spent_on_instances(&self, filter: &SpendFilter) -> Result<BTreeMap<String, Charge>> {
        let sql = filter.restrict(sums_by("holder")).and("holder like 'instance-%'");
        sums(sql.push(" group by holder"), &self.reader).await
    }
}
