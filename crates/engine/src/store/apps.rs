//! Applications that people added to their instances.

use atelier_domain::WorkspaceId;
use atelier_domain::compute::InstanceId;
use atelier_domain::compute::app::{AppName, CustomApp};
use atelier_domain::history::Event;
use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::{Author, Error, Result, Store, WriteTx};

const OF_INSTANCE: &str = "select record from instance_apps where instance_id = $1 order by name";

impl Store {
    /// The applications of an instance, by name.
    pub async fn apps_of(&self, instance: InstanceId) -> Result<Vec<CustomApp>> {
        let rows = self.reader.rows(sqlx::query(OF_INSTANCE).bind(number(instance))).await?;
        rows.iter().map(read).collect()
    }

    /// Whether an instance has an application of that name.
    pub async fn has_app(&self, instance: InstanceId, name: &str) -> Result<bool> {
        let text = "select 1 from instance_apps where instance_id = $1 and name = $2";
        let row = self.reader.row(sqlx::query(text).bind(number(instance)).bind(name)).await?;
        Ok(row.is_some())
    }

    /// The instances that have applications of their own.
    pub async fn instances_with_apps(&self) -> Result<Vec<InstanceId>> {
        let rows = self.reader.rows(sqlx::query("select distinct instance_id from instance_apps")).await?;
        let id = |row: &AnyRow| u64::try_from(row.get::<i64, _>(0)).ok().map(InstanceId);
        Ok(rows.iter().filter_map(id).collect())
    }

    /// Forgets the applications of an instance that is no more, or is no more its owner's. No revision:
    /// nobody sees them.
    pub async fn drop_apps_of(&self, instance: InstanceId) -> Result<()> {
        let _in_line = self.write_lock.lock().await;
        let text = "delete from instance_apps where instance_id = $1";
        sqlx::query(text).bind(number(instance)).execute(&self.writer).await?;
        Ok(())
    }
}

impl WriteTx<'_> {
    /// The same list as [`Store::apps_of`], as of this change.
    pub async fn apps_of(&mut self, instance: InstanceId) -> Result<Vec<CustomApp>> {
        let rows = sqlx::query(OF_INSTANCE).bind(number(instance)).fetch_all(&mut *self.tx).await?;
        rows.iter().map(read).collect()
    }

    /// Adds an application, or changes the one of that name, and records it.
    pub async fn put_app(
        &mut self,
        workspace: &WorkspaceId,
        instance: InstanceId,
        app: &CustomApp,
        author: &Author,
        event: &Event,
    ) -> Result<()> {
        let record = serde_json::to_string(app)
            .map_err(|error| Error::Unreadable { what: "an application", value: error.to_string() })?;
        sqlx::query(
            "insert into instance_apps (workspace_id, instance_id, name, record, changed_at) values ($1, $2, $3, $4, \
             $5) \
             on conflict (instance_id, name) do update set record = excluded.record, changed_at = excluded.changed_at",
        )
        .bind(workspace.as_str())
        .bind(number(instance))
        .bind(app.name.as_str())
        .bind(record)
        .bind(self.now().0)
        .execute(&mut *self.tx)
        .await?;
        self.record(workspace, author, None, event).await
    }

    /// Takes an application away and records it; whether there was one.
    pub async fn remove_app(
        &mut self,
        workspace: &WorkspaceId,
        instance: InstanceId,
        name: &AppName,
        author: &Author,
        event: &Event,
    ) -> Result<bool> {
        let text = "delete from instance_apps where instance_id = $1 and name = $2";
        let gone = sqlx::query(text).bind(number(instance)).bind(name.as_str()).execute(&mut *self.tx).await?;
        if gone.rows_affected() == 0 {
            return Ok(false);
        }
        self.record(workspace, author, None, event).await?;
        Ok(true)
    }
}

fn number(instance: InstanceId) -> i64 {
    i64::try_from(instance.0).unwrap_or(i64::MAX)
}

fn read(row: &AnyRow) -> Result<CustomApp> {
    let record: String = row.get(0);
    serde_json::from_str(&record).map_err(|_| Error::Unreadable { what: "an application", value: record })
}
