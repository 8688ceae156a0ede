//! How agents show who they are, and as whom people run on the server's own machine.

use atelier_domain::compute::NodeId;
use atelier_domain::uids::Uids;
use atelier_domain::{Timestamp, UserId};
use sha2::{Digest as _, Sha256};
use sqlx::Row as _;

use super::{Result, Store};

/// As whom somebody runs on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalUser {
    /// The number of the system's user.
    pub uid: u32,
    /// A short name for paths and prompts.
    pub handle: String,
}

/// What came of an agent's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is who it says to be.
    Known,
    /// The node was given no token, or it is gone.
    NoSuchNode,
    /// Token or secret is wrong, or the token belongs to another agent by now.
    Wrong,
}

/// What is kept of a secret. They are long and random, so a plain hash is enough.
fn hashed(secret: &str) -> String {
    atelier_domain::text::hex(&Sha256::digest(secret.as_bytes()))
}

impl Store {
    /// A node is about to be launched: whoever shows this token first is its agent.
    pub async fn expect_agent(&self, node: NodeId, token: &str, now: Timestamp) -> Result<()> {
        let _in_line = self.write_lock.lock().await;
        sqlx::query(
            "insert into agents (node_id, token_hash, secret_hash, made_at) values ($1, $2, '', $3) \
             on conflict (node_id) do update set token_hash = excluded.token_hash, secret_hash = '', made_at = \
             excluded.made_at",
        )
        .bind(number(node))
        .bind(hashed(token))
        .bind(now.0)
        .execute(&self.writer)
        .await?;
        Ok(())
    }

    /// An agent joins: its token is bound to its secret. The same two again are as good.
    pub async fn admit_agent(&self, node: NodeId, token: &str, secret: &str) -> Result<Admission> {
        // Strangers must not hold up those who write.
        let look = "select token_hash, secret_hash from agents where node_id = $1";
        let Some(row) = self.reader.row(sqlx::query(look).bind(number(node))).await? else {
            return Ok(Admission::NoSuchNode);
        };
        let (known, bound): (String, String) = (row.get(0), row.get(1));
        if known.is_empty() || known != hashed(token) || !(bound.is_empty() || bound == hashed(secret)) {
            return Ok(Admission::Wrong);
        }
        let _in_line = self.write_lock.lock().await;
        let bound = sqlx::query(
            "update agents set secret_hash = $1 where node_id = $2 and token_hash = $3 and token_hash <> '' \
             and secret_hash in ('', $4)",
        )
        .bind(hashed(secret))
        .bind(number(node))
        .bind(hashed(token))
        .bind(hashed(secret))
        .execute(&self.writer)
        .await?;
        if bound.rows_affected() == 1 {
            return Ok(Admission::Known);
        }
        let found = sqlx::query("select cast(1 as bigint) from agents where node_id = $1").bind(number(node));
        let is_there = found.fetch_optional(&self.writer).await?.is_some();
        Ok(if is_there { Admission::Wrong } else { Admission::NoSuchNode })
    }

    /// An agent comes back with its secret: from then on its token is worth nothing.
    pub async fn recognise_agent(&self, node: NodeId, secret: &str) -> Result<Admission> {
        let sql = "select secret_hash, token_hash from agents where node_id = $1";
        let Some(row) = self.reader.row(sqlx::query(sql).bind(number(node))).await? else {
            return Ok(Admission::NoSuchNode);
        };
        let (known, token): (String, String) = (row.get(0), row.get(1));
        if known.is_empty() || known != hashed(secret) {
            return Ok(Admission::Wrong);
        }
        if !token.is_empty() {
            let _in_line = self.write_lock.lock().await;
            sqlx::query("update agents set token_hash = '' where node_id = $1")
                .bind(number(node))
                .execute(&self.writer)
                .await?;
        }
        Ok(Admission::Known)
    }

    /// A node is gone: its agent is nobody any more.
    pub async fn forget_agent(&self, node: NodeId) -> Result<()> {
        let _in_line = self.write_lock.lock().await;
        sqlx::query("delete from agents where node_id = $1").bind(number(node)).execute(&self.writer).await?;
        Ok(())
    }

    /// From now on people get these users of the system. Whoever has one keeps it.
    pub fn number_people(&self, uids: Uids) {
        // Set once, at the start of the server.
        let _ = self.uids.set(uids);
    }

    /// Which users of the system people get.
    pub fn uids(&self) -> Uids {
        self.uids.get().copied().unwrap_or_default()
    }

    /// The numbers of all users that people have.
    pub async fn local_uids(&self) -> Result<Vec<u32>> {
        let rows = self.reader.rows(sqlx::query("select uid from local_users order by uid")).await?;
        Ok(rows.iter().filter_map(|row| u32::try_from(row.get::<i64, _>(0)).ok()).collect())
    }

    /// As whom that person runs on the server's own machine; made when it is first asked for, and kept for
    /// good.
    pub async fn local_user(&self, user: &UserId) -> Result<LocalUser> {
        let look = "select uid, handle from local_users where user_id = $1";
        if let Some(row) = self.reader.row(sqlx::query(look).bind(user.as_str())).await? {
            return Ok(local_user(&row));
        }
        let wanted = match self.person(user).await? {
            Some(person) => handle_from(&person.email),
            None => "person".to_owned(),
        };
        let _in_line = self.write_lock.lock().await;
        let mut tx = self.writer.begin().await?;
        if let Some(row) = sqlx::query(look).bind(user.as_str()).fetch_optional(&mut *tx).await? {
            return Ok(local_user(&row));
        }
        let first = i64::from(self.uids().first());
        let next: i64 = sqlx::query_scalar("select coalesce(max(uid) + 1, $1) from local_users")
            .bind(first)
            .fetch_one(&mut *tx)
            .await?;
        let next = next.max(first);
        let taken: Vec<String> = sqlx::query_scalar("select handle from local_users").fetch_all(&mut *tx).await?;
        let free = |handle: &String| !taken.contains(handle);
        let handle = std::iter::once(wanted.clone())
            .chain((2..).map(|number| format!("{wanted}-{number}")))
            .find(free)
            .unwrap_or(wanted);
        sqlx::query("insert into local_users (user_id, uid, handle) values ($1, $2, $3)")
            .bind(user.as_str())
            .bind(next)
            .bind(handle.as_str())
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(LocalUser { uid: u32::try_from(next).unwrap_or(u32::MAX), handle })
    }
}

fn number(node: NodeId) -> i64 {
    i64::try_from(node.0).unwrap_or(i64::MAX)
}

fn local_user(row: &sqlx::any::AnyRow) -> LocalUser {
    LocalUser { uid: u32::try_from(row.get::<i64, _>(0)).unwrap_or(u32::MAX), handle: row.get(1) }
}

/// A short name from an address: what stands before the `@`, in letters that every system takes.
fn handle_from(email: &str) -> String {
    let local = email.split('@').next().unwrap_or_default().to_lowercase();
    let safe: String =
        local.chars().map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' }).collect();
    let safe: String = safe.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    let safe: String = safe.chars().take(24).collect();
    let safe = safe.trim_matches('-');
    if safe.starts_with(|c: char| c.is_ascii_lowercase()) { safe.to_owned() } else { format!("u{safe}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_names_that_every_system_takes() {
        for (email, handle) in [
            ("ines@example.org", "ines"),
            ("Ada.Lovelace+x@example.org", "ada-lovelace-x"),
            ("7of9@example.org", "u7of9"),
            ("жук@example.org", "u"),
            ("..@x", "u"),
        ] {
            assert_eq!(handle_from(email), handle);
        }
    }
}
