//! The installation itself and its workspaces.

use atelier_domain::account::Theme;
use atelier_domain::history::{Event, Subject};
use atelier_domain::name::WorkspaceSlug;
use atelier_domain::{UserId, WorkspaceId};
use sqlx::Row as _;

use super::people::NewAccount;
use super::{Author, Result, Store, WriteTx};
use crate::clock;

/// A workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    pub id: WorkspaceId,
    /// The short name in paths.
    pub slug: String,
    /// The name for people.
    pub name: String,
}

/// What set-up makes: the first workspace and its Owner.
#[derive(Clone, Debug)]
pub struct FirstAccount {
    /// The workspace's name for people.
    pub workspace: String,
    pub name: String,
    /// The sign-in name.
    pub email: String,
    /// The argon2id hash.
    pub password_hash: String,
    /// The time zone.
    pub time_zone: String,
}

impl WriteTx<'_> {
    /// Notes that an Owner has confirmed that everybody here trusts everybody; false if one had before.
    pub async fn confirm_trust(&mut self, workspace: &WorkspaceId, author: &Author) -> Result<bool> {
        let text = "update installation set trust_confirmed_at = $1 where trust_confirmed_at = 0";
        let changed = sqlx::query(text).bind(self.now().0).execute(&mut *self.tx).await?.rows_affected() > 0;
        if changed {
            self.record(workspace, author, None, &Event::TrustConfirmed).await?;
        }
        Ok(changed)
    }
}

impl Store {
    /// The id of this installation: what it makes elsewhere is marked with it.
    pub async fn installation_id(&self) -> Result<String> {
        let row = self.reader.row(sqlx::query("select id from installation")).await?;
        Ok(row.map(|row| row.get(0)).unwrap_or_default())
    }

    /// Whether an Owner has confirmed that everybody here trusts everybody.
    pub async fn is_trust_confirmed(&self) -> Result<bool> {
        let row = self.reader.row(sqlx::query("select trust_confirmed_at from installation")).await?;
        Ok(row.is_some_and(|row| row.get::<i64, _>(0) > 0))
    }

    /// Finds or makes the installation's row and gives the present revision.
    pub(super) async fn claim_installation(&self) -> Result<i64> {
        let _in_line = self.write_lock.lock().await;
        // Two servers may start on the same empty database: one row, whoever makes it.
        sqlx::query(
            "insert into installation (one, id, revision, created_at) values (1, $1, 0, $2) on conflict (one) \
             do nothing",
        )
        .bind(new_id("inst"))
        .bind(clock::now().0)
        .execute(&self.writer)
        .await?;
        Ok(sqlx::query_scalar("select revision from installation").fetch_one(&self.writer).await?)
    }

    /// Whether anybody has an account yet.
    pub async fn has_people(&self) -> Result<bool> {
        let found = self.reader.row(sqlx::query("select cast(1 as bigint) from users limit 1")).await?;
        Ok(found.is_some())
    }

    /// The workspaces, by short name.
    pub async fn workspaces(&self) -> Result<Vec<Workspace>> {
        let rows = self.reader.rows(sqlx::query("select id, slug, name from workspaces order by slug")).await?;
        Ok(rows
            .iter()
            .map(|row| Workspace { id: WorkspaceId::new(row.get::<String, _>(0)), slug: row.get(1), name: row.get(2) })
            .collect())
    }

    /// Makes the first workspace and its Owner, once: `None` if somebody was quicker.
    pub async fn set_up(&self, first: &FirstAccount, author: &Author) -> Result<Option<(Workspace, UserId)>> {
        let mut tx = self.begin(clock::now()).await?;
        let taken: Option<i64> =
            sqlx::query_scalar("select cast(1 as bigint) from users limit 1").fetch_optional(&mut *tx.tx).await?;
        if taken.is_some() {
            return Ok(None);
        }
        let workspace = Workspace {
            id: WorkspaceId::new(new_id("ws")),
            slug: WorkspaceSlug::from_display_name(&first.workspace).as_str().to_owned(),
            name: first.workspace.clone(),
        };
        sqlx::query("insert into workspaces (id, slug, name, created_at) values ($1, $2, $3, $4)")
            .bind(workspace.id.as_str())
            .bind(workspace.slug.as_str())
            .bind(workspace.name.as_str())
            .bind(tx.now().0)
            .execute(&mut *tx.tx)
            .await?;
        let id = tx
            .insert_account(&NewAccount {
                workspace: workspace.id.clone(),
                email: first.email.clone(),
                name: first.name.clone(),
                password_hash: first.password_hash.clone(),
                must_change_password: false,
                time_zone: first.time_zone.clone(),
                theme: Theme::System,
                roles: vec![atelier_domain::access::Role::Owner],
            })
            .await?;
        let subject = Subject { id: id.clone(), name: first.name.clone() };
        // Whoever set the server up is the person that came out of it, unless the server did it by itself.
        let author = match author.actor {
            atelier_domain::history::Actor::Person { .. } => Author {
                actor: atelier_domain::history::Actor::Person { id: id.clone(), name: first.name.clone() },
                ..author.clone()
            },
            _ => author.clone(),
        };
        tx.record(&workspace.id, &author, Some(&subject), &Event::SetUp { workspace: workspace.name.clone() }).await?;
        tx.commit().await?;
        Ok(Some((workspace, id)))
    }
}

/// A new random id with a prefix that tells its kind in logs: 100 bits in base 32.
pub(super) fn new_id(prefix: &str) -> String {
    use rand::Rng as _;
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut random = rand::rng();
    let tail: String = (0..20).map(|_| char::from(ALPHABET[random.random_range(0..32)])).collect();
    format!("{prefix}-{tail}")
}
