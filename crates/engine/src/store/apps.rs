//! Applications that people added to their instances.

use atelier_domain::WorkspaceId;
use atelier_domain::compute::InstanceId;
use atelier_domain::compute::app::{AppName, CustomApp};
use atelier_domain::history::Event;
use sqlx::any::AnyRow;

use super::sql::{Columns as _, Sql};
use super::{Author, Error, Result, Store, WriteTx};

fn of_instance(instance: InstanceId) -> Sql {
    Sql::select("record", "instance_apps").eq("instance_id", instance).push(" order by name")
}

impl Store {
    /// The applications of an instance, by name.
    pub async fn apps_of(&self, instance: InstanceId) -> Result<Vec<CustomApp>> {
        of_instance(instance).rows(&self.reader).await?.iter().map(read).collect()
    }

    /// Whether an instance has an application of that name.
    pub async fn has_app(&self, instance: InstanceId, name: &str) -> Result<bool> {
        let sql = Sql::select("1", "instance_apps").eq("instance_id", instance).eq("name", name);
        Ok(sql.row(&self.reader).await?.is_some())
    }

    /// The instances that have applications of their own.
    pub async fn instances_with_apps(&self) -> Result<Vec<InstanceId>> {
        Sql::select("distinct instance_id", "instance_apps").values(&self.reader).await
    }

    /// Forgets the applications of an instance that is no more, or is no more its owner's. No revision:
    /// nobody sees them.
    pub async fn drop_apps_of(&self, instance: InstanceId) -> Result<()> {
        self.write(Sql::delete("instance_apps").eq("instance_id", instance)).await?;
        Ok(())
    }
}

impl WriteTx<'_> {
    /// The same list as [`Store::apps_of`], as of this change.
    pub async fn apps_of(&mut self, instance: InstanceId) -> Result<Vec<CustomApp>> {
        of_instance(instance).rows(&mut self.tx).await?.iter().map(read).collect()
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
        Sql::insert("instance_apps")
            .set("workspace_id", workspace)
            .set("instance_id", instance)
            .set("name", app.name.as_str())
            .set("record", record)
            .set("changed_at", self.now())
            .or_update("instance_id, name", &["record", "changed_at"])
            .run(&mut self.tx)
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
        let sql = Sql::delete("instance_apps").eq("instance_id", instance).eq("name", name.as_str());
        if sql.run(&mut self.tx).await? == 0 {
            return Ok(false);
        }
        self.record(workspace, author, None, event).await?;
        Ok(true)
    }
}

fn read(row: &AnyRow) -> Result<CustomApp> {
    row.json("an application", "record")
}
