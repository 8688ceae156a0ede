//! Personal tokens for the API. Of the secret only a hash is kept.

use atelier_domain::account::{Ended, Ending};
use atelier_domain::history::{Actor, Event, Subject};
use atelier_domain::token::{Lifetime, Refusal, TokenName, judge_count};
use atelier_domain::{SshKeyId, Timestamp, TokenId, UserId, WorkspaceId};

use super::installation::new_id;
use super::people::{Person, SeenAt, later};
use super::sql::{Sql, record};
use super::{Author, Result, Store, WriteTx};

/// A token as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub id: TokenId,
    /// The workspace that it is for.
    pub workspace: WorkspaceId,
    pub user: UserId,
    /// What it is called.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it stops working.
    pub expires_at: Timestamp,
    /// The last use that was flushed, if there was one.
    pub used_at: Option<Timestamp>,
}

record!(Token {
    id: "t.id",
    workspace: "t.workspace_id",
    user: "t.user_id",
    name: "t.name",
    created_at: "t.created_at",
    expires_at: "t.expires_at",
    used_at: "t.used_at",
});

impl Store {
    /// A token with the person whose it is, by the hash of its secret.
    pub async fn token_and_person(&self, hash: &str) -> Result<Option<(Token, Person)>> {
        let sql = Sql::of::<(Token, Person)>("tokens t join users u on u.id = t.user_id");
        sql.eq("t.hash", hash).first(&self.reader).await
    }

    /// The tokens of a person, newest first, those included that work no more.
    pub async fn tokens_of(&self, user: &UserId) -> Result<Vec<Token>> {
        let sql = Sql::of::<Token>("tokens t").eq("t.user_id", user);
        sql.push(" order by t.created_at desc, t.id").all(&self.reader).await
    }

    /// Writes last uses that were kept in memory. No revision: nobody waits for it.
    pub async fn flush_token_uses(&self, used: &[SeenAt<'_>]) -> Result<()> {
        self.write_all(later("tokens", "used_at", used)).await
    }

    /// Drops tokens that stopped working before then.
    pub async fn drop_old_tokens(&self, before: Timestamp) -> Result<u64> {
        self.write(Sql::delete("tokens").and("expires_at < ?").bind(before)).await
    }
}

impl WriteTx<'_> {
    /// Makes a token for a person if the rules allow it, and records it.
    pub async fn insert_token(
        &mut self,
        person: &Person,
        name: &TokenName,
        life: Lifetime,
        hash: &str,
        author: &Author,
    ) -> Result<std::result::Result<TokenId, Refusal>> {
        if person.state == atelier_domain::account::AccountState::Disabled {
            return Ok(Err(Refusal::Disabled));
        }
        let working = Sql::count_of("tokens").eq("user_id", &person.id).and("expires_at > ?").bind(self.now());
        if let Err(refusal) = judge_count(working.count(&mut self.tx).await?) {
            return Ok(Err(refusal));
        }
        let id = TokenId::new(new_id("token"));
        Sql::insert("tokens")
            .set("id", &id)
            .set("workspace_id", &person.workspace)
            .set("user_id", &person.id)
            .set("name", name.as_str())
            .set("hash", hash)
            .set("created_at", self.now())
            .set("expires_at", life.ends(self.now()))
            .set("used_at", 0)
            .run(&mut self.tx)
            .await?;
        let event = Event::TokenCreated { token: name.as_str().to_owned(), days: life.days() };
        self.record(&person.workspace, author, concerned(person, author).as_ref(), &event).await?;
        Ok(Ok(id))
    }

    /// Takes a token of a person away and records it; its name, if there was one.
    pub async fn revoke_token(&mut self, person: &Person, id: &TokenId, author: &Author) -> Result<Option<String>> {
        let sql = Sql::delete("tokens").eq("id", id).eq("user_id", &person.id).push(" returning name");
        let Some(name) = sql.value::<String>(&mut self.tx).await? else { return Ok(None) };
        let event = Event::TokenRevoked { token: name.clone() };
        self.record(&person.workspace, author, concerned(person, author).as_ref(), &event).await?;
        Ok(Some(name))
    }
}

impl WriteTx<'_> {
    /// Ends what a person can come in with beside their password, as far as that is wanted.
    pub async fn end_access(&mut self, person: &Person, ending: Ending, author: &Author) -> Result<Ended> {
        let mut ended = Ended::default();
        if ending.tokens {
            let ids = Sql::select("id", "tokens").eq("user_id", &person.id).values::<TokenId>(&mut self.tx).await?;
            for id in ids {
                self.revoke_token(person, &id, author).await?;
                ended.tokens.push(id);
            }
        }
        if ending.ssh_keys {
            let keys = Sql::select("id", "ssh_keys").eq("user_id", &person.id).and("removed_at = 0");
            for id in keys.values::<SshKeyId>(&mut self.tx).await? {
                ended.ssh_keys += u64::from(self.remove_ssh_key(person, &id, author).await?.is_some());
            }
        }
        Ok(ended)
    }
}

/// Whom it concerns, if that is not whoever did it.
pub(super) fn concerned(person: &Person, author: &Author) -> Option<Subject> {
    match &author.actor {
        Actor::Person { id, .. } if *id == person.id => None,
        _ => Some(person.subject()),
    }
}
