//! Web sessions.

use atelier_domain::{SessionKey, Timestamp, UserId, WorkspaceId};

use super::people::Person;
use super::sql::{Columns as _, Record as _, Sql, record};
use super::{Result, Store, WriteTx};

/// A session as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebSession {
    /// What people see of it.
    pub info: WebSessionInfo,
    /// The session layer's own data, as JSON.
    pub data: String,
}

/// What people see of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebSessionInfo {
    /// The hash of the cookie's secret.
    pub key: SessionKey,
    /// The workspace that was signed in to.
    pub workspace: WorkspaceId,
    pub user: UserId,
    /// The browser, as it said at sign-in.
    pub device: String,
    /// The network address at sign-in.
    pub address: String,
    pub created_at: Timestamp,
    /// The last request that was flushed.
    pub seen_at: Timestamp,
    pub ends_at: Timestamp,
}

record!(WebSessionInfo {
    key: "s.id",
    workspace: "s.workspace_id",
    user: "s.user_id",
    device: "s.device",
    address: "s.address",
    created_at: "s.created_at",
    seen_at: "s.seen_at",
    ends_at: "s.ends_at",
});

impl Store {
    /// One session by its key.
    pub async fn web_session(&self, key: &SessionKey) -> Result<Option<WebSession>> {
        let sql = Sql::select(&format!("{}, s.data as data", WebSessionInfo::columns()), "web_sessions s");
        let row = sql.eq("s.id", key).row(&self.reader).await?;
        row.map(|row| Ok(WebSession { info: WebSessionInfo::read(&row)?, data: row.read("data")? })).transpose()
    }

    /// A session with the person whose it is, in one trip to the database: every request of somebody signed
    /// in asks this.
    pub async fn session_and_person(&self, key: &SessionKey) -> Result<Option<(WebSessionInfo, Person)>> {
        let sql = Sql::of::<(WebSessionInfo, Person)>("web_sessions s join users u on u.id = s.user_id");
        sql.eq("s.id", key).first(&self.reader).await
    }

    /// The sessions of a person, newest first, dead ones included.
    pub async fn web_sessions_of(&self, user: &UserId) -> Result<Vec<WebSessionInfo>> {
        let sql = Sql::of::<WebSessionInfo>("web_sessions s").eq("s.user_id", user);
        sql.push(" order by s.created_at desc, s.id").all(&self.reader).await
    }

    /// Writes a new session. Not if the account was disabled, its password replaced or its sessions ended
    /// since `epoch` was read: `false`.
    pub async fn create_web_session(&self, session: &WebSession, epoch: i64) -> Result<bool> {
        let info = &session.info;
        let sql = Sql::new(
            "insert into web_sessions (id, workspace_id, device, address, created_at, seen_at, ends_at, data, user_id) \
             select ?, ?, ?, ?, ?, ?, ?, ?, u.id from users u",
        )
        .bind(&info.key)
        .bind(&info.workspace)
        .bind(info.device.as_str())
        .bind(info.address.as_str())
        .bind(info.created_at)
        .bind(info.seen_at)
        .bind(info.ends_at)
        .bind(session.data.as_str())
        .eq("u.id", &info.user)
        .and("u.disabled = 0")
        .eq("u.session_epoch", epoch);
        Ok(self.write(sql).await? == 1)
    }

    /// Writes the changed data of a session; `false` if it has ended.
    pub async fn save_web_session(&self, key: &SessionKey, data: &str) -> Result<bool> {
        Ok(self.write(Sql::update("web_sessions").set("data", data).eq("id", key)).await? == 1)
    }

    pub async fn delete_web_session(&self, key: &SessionKey) -> Result<()> {
        self.write(Sql::delete("web_sessions").eq("id", key)).await?;
        Ok(())
    }

    /// Removes sessions that ended, by either limit.
    pub async fn delete_ended_web_sessions(&self, now: Timestamp, idle_before: Timestamp) -> Result<u64> {
        let sql = Sql::delete("web_sessions").and("(ends_at <= ? or seen_at <= ?)").bind(now).bind(idle_before);
        self.write(sql).await
    }
}

impl WriteTx<'_> {
    /// Ends the sessions of a person, all or all but one, and says how many there were. Sign-ins that are
    /// under way come too late.
    pub async fn end_sessions(&mut self, user: &UserId, except: Option<&SessionKey>) -> Result<u64> {
        let next = Sql::new("update users set session_epoch = session_epoch + 1").eq("id", user);
        next.run(&mut self.tx).await?;
        Sql::delete("web_sessions").eq("user_id", user).and_if("id <> ?", except).run(&mut self.tx).await
    }

    /// Ends one session of a person, and says whether it was there.
    pub async fn end_session(&mut self, user: &UserId, key: &SessionKey) -> Result<bool> {
        Ok(Sql::delete("web_sessions").eq("user_id", user).eq("id", key).run(&mut self.tx).await? == 1)
    }
}
