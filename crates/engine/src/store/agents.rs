//! How agents show who they are, and as whom people run on the server's own machine.

use atelier_domain::compute::NodeId;
use atelier_domain::marks::Marks;
use atelier_domain::uids::Uids;
use atelier_domain::{Timestamp, UserId};
use sha2::{Digest as _, Sha256};

use super::sql::{Columns as _, Sql, record};
use super::{Result, Store};

/// As whom somebody runs on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalUser {
    /// The number of the system's user.
    pub uid: u32,
    /// A short name for paths and prompts.
    pub handle: String,
}

record!(LocalUser { uid: "uid", handle: "handle" });

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
        let sql = Sql::insert("agents")
            .set("node_id", node)
            .set("token_hash", hashed(token))
            .set("secret_hash", "")
            .set("made_at", now)
            .or_update("node_id", &["token_hash", "secret_hash", "made_at"]);
        self.write(sql).await?;
        Ok(())
    }

    /// An agent joins: its token is bound to its secret. The same two again are as good.
    pub async fn admit_agent(&self, node: NodeId, token: &str, secret: &str) -> Result<Admission> {
        // Strangers must not hold up those who write.
        let look = Sql::select("token_hash, secret_hash", "agents").eq("node_id", node);
        let Some(row) = look.row(&self.reader).await? else { return Ok(Admission::NoSuchNode) };
        let (known, bound): (String, String) = (row.read("token_hash")?, row.read("secret_hash")?);
        if known.is_empty() || known != hashed(token) || !(bound.is_empty() || bound == hashed(secret)) {
            return Ok(Admission::Wrong);
        }
        let bind = Sql::update("agents")
            .set("secret_hash", hashed(secret))
            .eq("node_id", node)
            .eq("token_hash", hashed(token))
            .within("secret_hash", [String::new(), hashed(secret)]);
        if self.write(bind).await? == 1 {
            return Ok(Admission::Known);
        }
        let is_there = Sql::select("1", "agents").eq("node_id", node).row(&self.reader).await?.is_some();
        Ok(if is_there { Admission::Wrong } else { Admission::NoSuchNode })
    }

    /// An agent comes back with its secret: from then on its token is worth nothing.
    pub async fn recognise_agent(&self, node: NodeId, secret: &str) -> Result<Admission> {
        let look = Sql::select("secret_hash, token_hash", "agents").eq("node_id", node);
        let Some(row) = look.row(&self.reader).await? else { return Ok(Admission::NoSuchNode) };
        let (known, token): (String, String) = (row.read("secret_hash")?, row.read("token_hash")?);
        if known.is_empty() || known != hashed(secret) {
            return Ok(Admission::Wrong);
        }
        if !token.is_empty() {
            self.write(Sql::update("agents").set("token_hash", "").eq("node_id", node)).await?;
        }
        Ok(Admission::Known)
    }

    /// A node is gone: its agent is nobody any more.
    pub async fn forget_agent(&self, node: NodeId) -> Result<()> {
        self.write(Sql::delete("agents").eq("node_id", node)).await?;
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
        Sql::select("uid", "local_users").push(" order by uid").values(&self.reader).await
    }

    /// As whom that person runs on the server's own machine; made when it is first asked for, and kept for
    /// good.
    pub async fn local_user(&self, user: &UserId) -> Result<LocalUser> {
        let look = || Sql::of::<LocalUser>("local_users").eq("user_id", user);
        if let Some(known) = look().first(&self.reader).await? {
            return Ok(known);
        }
        let wanted = match self.person(user).await? {
            Some(person) => handle_from(&person.email),
            None => "person".to_owned(),
        };
        let _in_line = self.write_lock.lock().await;
        let mut tx = self.writer.begin().await?;
        if let Some(known) = look().first(&mut tx).await? {
            return Ok(known);
        }
        // A number that was somebody's is never given out again, also not after an older database was taken
        // back: their files are theirs.
        let first = self.uids().first();
        let used = Sql::select("max(uid)", "local_users").value::<Option<u32>>(&mut tx).await?.flatten();
        let before = Sql::select("last_uid", "installation").value::<Option<u32>>(&mut tx).await?.flatten();
        let uid = used.max(before).map_or(first, |last| last.saturating_add(1).max(first));
        let given = Marks { users: uid.into(), ..Marks::default() };
        if let Some(marks) = self.marks_file() {
            marks.reserve(&given).await.map_err(sqlx::Error::Io)?;
        }
        let taken: Vec<String> = Sql::select("handle", "local_users").values(&mut tx).await?;
        let free = |handle: &String| !taken.contains(handle);
        let handle = std::iter::once(wanted.clone())
            .chain((2..).map(|number| format!("{wanted}-{number}")))
            .find(free)
            .unwrap_or(wanted);
        let sql = Sql::insert("local_users").set("user_id", user).set("uid", uid).set("handle", handle.as_str());
        sql.run(&mut tx).await?;
        tx.commit().await?;
        if let Some(marks) = self.marks_file() {
            marks.saw(&given);
        }
        Ok(LocalUser { uid, handle })
    }
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
