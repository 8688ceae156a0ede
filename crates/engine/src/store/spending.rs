//! Sums of the ledger over a stretch of hours: by hour, by compute, by person, by job.
//!
//! Every statement is bound to one workspace and to a stretch of hours, which is how the ledger's primary key
//! begins.

use std::collections::BTreeMap;

use atelier_domain::world::Charge;
use atelier_domain::{UserId, WorkspaceId};
use sqlx::Row as _;

use super::sql::Sql;
use super::{Result, Store};

/// How many keys one statement names at most.
const AT_ONCE: usize = 500;

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
    fn restrict(&self, sql: &mut Sql) {
        sql.push(" from ledger where workspace_id = ").bind(self.workspace.as_str());
        sql.push(" and hour >= ").bind(self.from).push(" and hour < ").bind(self.to);
        if let Some(person) = &self.person {
            sql.push(" and user_id = ").bind(person.as_str());
        }
    }
}

const SUMS: &str = "cast(sum(millis) as bigint), cast(sum(cost) as bigint)";

impl Store {
    /// What each hour cost, in order; hours without any cost are left out.
    pub async fn spent_by_hour(&self, filter: &SpendFilter) -> Result<Vec<(i64, Charge)>> {
        let mut sql = Sql::new(format!("select hour, {SUMS}"));
        filter.restrict(&mut sql);
        sql.push(" group by hour order by hour");
        let rows = sql.rows(&self.reader).await?;
        Ok(rows.iter().map(|row| (row.get(0), charge(row.get(1), row.get(2)))).collect())
    }

    /// The dearest, at most so many.
    pub async fn spent_by(&self, filter: &SpendFilter, by: SpendBy, most: i64) -> Result<Vec<(String, Charge)>> {
        let key = by.expression();
        let mut sql = Sql::new(format!("select {key}, {SUMS}"));
        filter.restrict(&mut sql);
        sql.push(&format!(" group by {key} order by sum(cost) desc, {key} limit ")).bind(most);
        let rows = sql.rows(&self.reader).await?;
        Ok(rows.iter().map(|row| (row.get(0), charge(row.get(1), row.get(2)))).collect())
    }

    /// How many there are.
    pub async fn count_spent_by(&self, filter: &SpendFilter, by: SpendBy) -> Result<u64> {
        let key = by.expression();
        let mut sql = Sql::new(format!("select count(*) from (select {key} as k"));
        filter.restrict(&mut sql);
        sql.push(&format!(" group by {key}) as groups"));
        sql.count(&self.reader).await
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
            let mut sql = Sql::new(format!("select {key}, {SUMS}"));
            filter.restrict(&mut sql);
            sql.push(&format!(" and {key} in ")).bind_list(keys.iter().map(String::as_str));
            sql.push(&format!(" group by {key}"));
            let rows = sql.rows(&self.reader).await?;
            found.extend(rows.iter().map(|row| (row.get::<String, _>(0), charge(row.get(1), row.get(2)))));
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
        let mut sql = Sql::new(format!("select hour, {key}, {SUMS}"));
        filter.restrict(&mut sql);
        sql.push(&format!(" and {key} in ")).bind_list(keys.iter().take(AT_ONCE).map(String::as_str));
        sql.push(&format!(" group by hour, {key} order by hour"));
        let rows = sql.rows(&self.reader).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1), charge(row.get(2), row.get(3)))).collect())
    }

    /// The node time of every instance that had any.
    pub async fn spent_on_instances(&self, filter: &SpendFilter) -> Result<BTreeMap<String, Charge>> {
        let mut sql = Sql::new(format!("select holder, {SUMS}"));
        filter.restrict(&mut sql);
        sql.push(" and holder like 'instance-%' group by holder");
        let rows = sql.rows(&self.reader).await?;
        Ok(rows.iter().map(|row| (row.get(0), charge(row.get(1), row.get(2)))).collect())
    }
}

fn charge(millis: i64, cost: i64) -> Charge {
    Charge { millis: u64::try_from(millis).unwrap_or_default(), cost: u64::try_from(cost).unwrap_or_default() }
}
