//! Personal tokens for the API. Of the secret only a hash is kept.

use atelier_domain::account::{Ended, Ending};
use atelier_domain::history::{Actor, Event, Subject};
use atelier_domain::token::{Lifetime, Refusal, TokenName, judge_count};
use atelier_domain::{SshKeyId, Timestamp, TokenId, UserId, WorkspaceId};
use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::installation::new_id;
use super::people::{self, Person, SeenAt};
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

const COLUMNS: &str = "t.id, t.workspace_id, t.user_id, t.name, t.created_at, t.expires_at, t.used_at";

impl Store {
    /// A token with the person whose it is, by the hash of its secret.
    pub async fn token_and_person(&self, hash: &str) -> Result<Option<(Token, Person)>> {
        let sql = format!(
            "select {}, {COLUMNS} from tokens t join users u on u.id = t.user_id where t.hash = $1",
            people::COLUMNS
        );
        let row = self.reader.row(sqlx::query(&sql).bind(hash)).await?;
        Ok(row.map(|row| (token(&row, people::COLUMN_COUNT), people::person(&row))))
    }

    /// The tokens of a person, newest first, those included that work no more.
    pub async fn tokens_of(&self, user: &UserId) -> Result<Vec<Token>> {
        let sql = format!("select {COLUMNS} from tokens t where t.user_id = $1 order by t.created_at desc, t.id");
        let rows = self.reader.rows(sqlx::query(&sql).bind(user.as_str())).await?;
        Ok(rows.iter().map(|row| token(row, 0)).collect())
    }

    /// Writes last uses that were kept in memory. No revision: nobody waits for it.
    pub async fn flush_token_uses(&self, used: &[SeenAt<'_>]) -> Result<()> {
        if used.is_empty() {
            return Ok(());
        }
        let _in_line = self.write_lock.lock().await;
        let mut tx = self.writer.begin().await?;
        for (id, at) in used {
            let text = "update tokens set used_at = $1 where id = $2 and used_at < $1";
            sqlx::query(text).bind(at.0).bind(*id).execute(&mut *tx).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Drops tokens that stopped working before then.
    pub async fn drop_old_tokens(&self, before: Timestamp) -> Result<u64> {
        let _in_line = self.write_lock.lock().await;
        let dropped =
            sqlx::query("delete from tokens where expires_at < $1").bind(before.0).execute(&self.writer).await?;
        Ok(dropped.rows_affected())
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
        let text = "select cast(count(*) as bigint) from tokens where user_id = $1 and expires_at > $2";
        let query = sqlx::query_scalar(text).bind(person.id.as_str()).bind(self.now().0);
        let present: i64 = query.fetch_one(&mut *self.tx).await?;
        if let Err(refusal) = judge_count(u64::try_from(present).unwrap_or_default()) {
            return Ok(Err(refusal));
        }
        let id = TokenId::new(new_id("token"));
        sqlx::query(
            "insert into tokens (id, workspace_id, user_id, name, hash, created_at, expires_at, used_at) \
             values ($1, $2, $3, $4, $5, $6, $7, 0)",
        )
        .bind(id.as_str())
        .bind(person.workspace.as_str())
        .bind(person.id.as_str())
        .bind(name.as_str())
        .bind(hash)
        .bind(self.now().0)
        .bind(life.ends(self.now()).0)
        .execute(&mut *self.tx)
        .await?;
        let event = Event::TokenCreated { token: name.as_str().to_owned(), days: life.days() };
        self.record(&person.workspace, author, concerned(person, author).as_ref(), &event).await?;
        Ok(Ok(id))
    }

    /// Takes a token of a person away and records it; its name, if there was one.
    pub async fn revoke_token(&mut self, person: &Person, id: &TokenId, author: &Author) -> Result<Option<String>> {
        let text = "delete from tokens where id = $1 and user_id = $2 returning name";
        let query = sqlx::query_scalar(text).bind(id.as_str()).bind(person.id.as_str());
        let Some(name): Option<String> = query.fetch_optional(&mut *self.tx).await? else { return Ok(None) };
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
            let text = "select id from tokens where user_id = $1 order by id";
            let ids: Vec<String> = sqlx::query_scalar(text).bind(person.id.as_str()).fetch_all(&mut *self.tx).await?;
            for id in ids.into_iter().map(TokenId::new) {
                self.revoke_token(person, &id, author).await?;
                ended.tokens.push(id);
            }
        }
        if ending.ssh_keys {
            let text = "select id from ssh_keys where user_id = $1 and removed_at = 0 order by id";
            let ids: Vec<String> = sqlx::query_scalar(text).bind(person.id.as_str()).fetch_all(&mut *self.tx).await?;
            for id in ids.into_iter().map(SshKeyId::new) {
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

/// Reads [`COLUMNS`] from the column `first` on.
fn token(row: &AnyRow, first: usize) -> Token {
    let used_at: i64 = row.get(first + 6);
    Token {
        id: TokenId::new(row.get::<String, _>(first)),
        workspace: WorkspaceId::new(row.get::<String, _>(first + 1)),
        user: UserId::new(row.get::<String, _>(first + 2)),
        name: row.get(first + 3),
        created_at: Timestamp(row.get(first + 4)),
        expires_at: Timestamp(row.get(first + 5)),
        used_at: (used_at > 0).then_some(Timestamp(used_at)),
    }
}
