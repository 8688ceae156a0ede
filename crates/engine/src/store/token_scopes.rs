//! Computes whose tokens reach beyond what is their owner's own.

use atelier_domain::history::Event;
use atelier_domain::workload::Scope;
use atelier_domain::world::ComputeRef;
use atelier_domain::{Timestamp, UserId, WorkspaceId};

use super::sql::{Columns as _, Sql};
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
        let row = Sql::select("user_id, since", "wide_tokens").eq("compute", key(compute)).row(&self.reader).await?;
        row.map(|row| Ok((row.read("user_id")?, row.read("since")?))).transpose()
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
        let now = Sql::select("user_id", "wide_tokens").eq("compute", key(compute));
        let now = now.value::<UserId>(&mut self.tx).await?;
        if now.is_some_and(|user| user == *owner) == (scope == Scope::All) {
            return Ok(false);
        }
        Sql::delete("wide_tokens").eq("compute", key(compute)).run(&mut self.tx).await?;
        if scope == Scope::All {
            let sql = Sql::insert("wide_tokens").set("compute", key(compute)).set("workspace_id", workspace);
            sql.set("user_id", owner).set("since", self.now()).run(&mut self.tx).await?;
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
