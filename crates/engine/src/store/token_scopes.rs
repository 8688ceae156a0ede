//! Computes whose tokens reach beyond what is their owner's own.

use atelier_domain::history::Event;
use atelier_domain::workload::Scope;
use atelier_domain::world::ComputeRef;
use atelier_domain::{Timestamp, UserId, WorkspaceId};
use sqlx::Row as _;

use super::{Author, Result, Store, WriteTx};

fn key(compute: ComputeRef) -> String {
    match compute {
        ComputeRef::Instance(id) => id.to_string(),
        ComputeRef::Cluster(id) => id.to_string(),
    }
}

impl Store {
    /// Who has widened the tokens of a compute, and when; nobody where they reach no further than usual.
    pub async fn wide_tokens_of(&self, compute: ComputeRef) -> Result<Option<(UserId, Timestamp)>> {
        let text = "select user_id, since from wide_tokens where compute = $1";
        let row = self.reader.row(sqlx::query(text).bind(key(compute))).await?;
        Ok(row.map(|row| (UserId::new(row.get::<String, _>(0)), Timestamp(row.get(1)))))
    }
}

impl WriteTx<'_> {
    /// Sets how far the tokens of a compute reach, in the name of its owner. What is so already changes and
    /// records nothing.
    pub async fn set_token_scope(
        &mut self,
        workspace: &WorkspaceId,
        compute: (ComputeRef, &str),
        owner: &UserId,
        scope: Scope,
        author: &Author,
    ) -> Result<bool> {
        let (compute, name) = compute;
        let text = "select user_id from wide_tokens where compute = $1";
        let now: Option<String> = sqlx::query_scalar(text).bind(key(compute)).fetch_optional(&mut *self.tx).await?;
        if now.as_deref().is_some_and(|user| user == owner.as_str()) == (scope == Scope::All) {
            return Ok(false);
        }
        let text = "delete from wide_tokens where compute = $1";
        sqlx::query(text).bind(key(compute)).execute(&mut *self.tx).await?;
        if scope == Scope::All {
            let text = "insert into wide_tokens (compute, workspace_id, user_id, since) values ($1, $2, $3, $4)";
            let query = sqlx::query(text).bind(key(compute)).bind(workspace.as_str()).bind(owner.as_str());
            query.bind(self.now().0).execute(&mut *self.tx).await?;
        }
        let (name, is_wide) = (name.to_owned(), scope == Scope::All);
        let event = match compute {
            ComputeRef::Instance(_) => Event::InstanceTokensSet { instance: name, is_wide },
            ComputeRef::Cluster(_) => Event::ClusterTokensSet { cluster: name, is_wide },
        };
        self.record(workspace, author, None, &event).await?;
        Ok(true)
    }
}
