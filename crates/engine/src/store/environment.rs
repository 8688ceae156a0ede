//! The base environment of instances: the list of its packages, and which one is in use.

use atelier_domain::history::{Event, Topic};
use atelier_domain::{Timestamp, WorkspaceId};
use sqlx::Row as _;
use sqlx::any::AnyRow;

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

const LOOK: &str = "select requirements, edition, in_use from base_environment where one = 1";

impl Store {
    /// What is wanted and what there is.
    pub async fn base_environment(&self) -> Result<BaseEnvironment> {
        let row = self.reader.row(sqlx::query(LOOK)).await?;
        Ok(row.as_ref().map(read).unwrap_or_default())
    }

    /// Instances get that one from now on.
    pub async fn use_environment(&self, hash: &str, now: Timestamp) -> Result<()> {
        let mut tx = self.begin(now).await?;
        let known = tx.base_environment().await?;
        tx.put_environment(&BaseEnvironment { in_use: hash.to_owned(), ..known }).await?;
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
        let row = sqlx::query(LOOK).fetch_optional(&mut *self.tx).await?;
        Ok(row.as_ref().map(read).unwrap_or_default())
    }

    /// Changes what is wanted, and records it with who did.
    pub async fn want_environment(
        &mut self,
        workspace: &WorkspaceId,
        author: &Author,
        wanted: &BaseEnvironment,
        event: &Event,
    ) -> Result<()> {
        self.put_environment(wanted).await?;
        self.record(workspace, author, None, event).await
    }

    async fn put_environment(&mut self, it: &BaseEnvironment) -> Result<()> {
        sqlx::query(
            "insert into base_environment (one, requirements, edition, in_use, changed_at) values (1, $1, $2, $3, $4) \
             on conflict (one) do update set requirements = excluded.requirements, edition = excluded.edition, \
             in_use = excluded.in_use, changed_at = excluded.changed_at",
        )
        .bind(it.requirements.as_str())
        .bind(i64::from(it.edition))
        .bind(it.in_use.as_str())
        .bind(self.now().0)
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }
}

fn read(row: &AnyRow) -> BaseEnvironment {
    let edition = u32::try_from(row.get::<i64, _>(1)).unwrap_or_default();
    BaseEnvironment { requirements: row.get(0), edition, in_use: row.get(2) }
}
