//! The base environment of instances: the list of its packages, and which one is in use.

use atelier_domain::history::{Event, Topic};
use atelier_domain::{Timestamp, WorkspaceId};

use super::sql::{Sql, record};
use super::{Author, Result, Store, WriteTx};

/// What is wanted and what there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseEnvironment {
    /// The list, one package a line; empty for the one that comes with Atelier.
    pub requirements: String,
    /// Counted up when the same list is wanted anew.
    pub edition: u32,
    /// The name of the one that instances get; empty before the first.
    pub in_use: String,
}

record!(BaseEnvironment { requirements: "requirements", edition: "edition", in_use: "in_use" });

fn look() -> Sql {
    Sql::of::<BaseEnvironment>("base_environment").eq("one", 1)
}

impl Store {
    /// What is wanted and what there is.
    pub async fn base_environment(&self) -> Result<BaseEnvironment> {
        Ok(look().first(&self.reader).await?.unwrap_or_default())
    }

    /// Instances get that one from now on.
    pub async fn use_base_environment(&self, hash: &str, now: Timestamp) -> Result<()> {
        let mut tx = self.begin(now).await?;
        let known = tx.base_environment().await?;
        tx.put_base_environment(&BaseEnvironment { in_use: hash.to_owned(), ..known }).await?;
        tx.topics.insert(Topic::Engine);
        tx.commit().await?;
        Ok(())
    }

    /// Something that is shown beside the engine has changed and is kept nowhere, such as how far a build is.
    pub async fn tell_engine_pages(&self, now: Timestamp) -> Result<()> {
        let mut tx = self.begin(now).await?;
        tx.topics.insert(Topic::Engine);
        tx.commit().await?;
        Ok(())
    }
}

impl WriteTx<'_> {
    /// The same list as [`Store::base_environment`], as of this change.
    pub async fn base_environment(&mut self) -> Result<BaseEnvironment> {
        Ok(look().first(&mut self.tx).await?.unwrap_or_default())
    }

    /// Changes what is wanted, and records it with who did.
    pub async fn want_base_environment(
        &mut self,
        workspace: &WorkspaceId,
        author: &Author,
        wanted: &BaseEnvironment,
        event: &Event,
    ) -> Result<()> {
        self.put_base_environment(wanted).await?;
        self.record(workspace, author, None, event).await
    }

    async fn put_base_environment(&mut self, it: &BaseEnvironment) -> Result<()> {
        Sql::insert("base_environment")
            .set("one", 1)
            .set("requirements", it.requirements.as_str())
            .set("edition", it.edition)
            .set("in_use", it.in_use.as_str())
            .set("changed_at", self.now())
            .or_update("one", &["requirements", "edition", "in_use", "changed_at"])
            .run(&mut self.tx)
            .await?;
        Ok(())
    }
}
