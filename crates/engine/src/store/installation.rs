//! The installation itself and its workspaces.

use atelier_domain::account::Theme;
use atelier_domain::history::{Event, Subject};
use atelier_domain::name::WorkspaceSlug;
use atelier_domain::{UserId, WorkspaceId};

use super::people::NewAccount;
use super::sql::{Sql, record};
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

record!(Workspace { id: "id", slug: "slug", name: "name" });

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
        let sql = Sql::update("installation").set("trust_confirmed_at", self.now()).and("trust_confirmed_at = 0");
        let changed = sql.run(&mut self.tx).await? > 0;
        if changed {
            self.record(workspace, author, None, &Event::TrustConfirmed).await?;
        }
        Ok(changed)
    }
}

impl Store {
    /// The id of this installation: what it makes elsewhere is marked with it.
    pub async fn installation_id(&self) -> Result<String> {
        Ok(Sql::select("id", "installation").value(&self.reader).await?.unwrap_or_default())
    }

    /// Whether an Owner has confirmed that everybody here trusts everybody.
    pub async fn is_trust_confirmed(&self) -> Result<bool> {
        let at = Sql::select("trust_confirmed_at", "installation").value::<i64>(&self.reader).await?;
        Ok(at.is_some_and(|at| at > 0))
    }

    /// Finds or makes the installation's row and gives the present revision.
    pub(super) async fn claim_installation(&self) -> Result<i64> {
        // Two servers may start on the same empty database: one row, whoever makes it.
        let sql = Sql::insert("installation")
            .set("one", 1)
            .set("id", new_id("inst"))
            .set("revision", 0)
            .set("created_at", clock::now())
            .push(" on conflict (one) do nothing");
        self.write(sql).await?;
        Ok(Sql::select("revision", "installation").value(&self.reader).await?.unwrap_or_default())
    }

    /// Whether anybody has an account yet.
    pub async fn has_people(&self) -> Result<bool> {
        Ok(Sql::select("1", "users").limit(1).row(&self.reader).await?.is_some())
    }

    /// The workspaces, by short name.
    pub async fn workspaces(&self) -> Result<Vec<Workspace>> {
        Sql::of::<Workspace>("workspaces").push(" order by slug").all(&self.reader).await
    }

    /// Makes the first workspace and its Owner, once: `None` if somebody was quicker.
    pub async fn set_up(&self, first: &FirstAccount, author: &Author) -> Result<Option<(Workspace, UserId)>> {
        let mut tx = self.begin(clock::now()).await?;
        if Sql::select("1", "users").limit(1).row(&mut tx.tx).await?.is_some() {
            return Ok(None);
        }
        let workspace = Workspace {
            id: WorkspaceId::new(new_id("ws")),
            slug: WorkspaceSlug::from_display_name(&first.workspace).as_str().to_owned(),
            name: first.workspace.clone(),
        };
        Sql::insert("workspaces")
            .set("id", &workspace.id)
            .set("slug", workspace.slug.as_str())
            .set("name", workspace.name.as_str())
            .set("created_at", tx.now())
            .run(&mut tx.tx)
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
