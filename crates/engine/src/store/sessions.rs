//! Web sessions.

use atelier_domain::{SessionKey, Timestamp, UserId, WorkspaceId};
use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::people::{self, Person};
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

const COLUMNS: &str = "id, workspace_id, user_id, device, address, created_at, seen_at, ends_at";
/// The same where other tables are joined.
pub(super) const JOINED: &str =
    "s.id, s.workspace_id, s.user_id, s.device, s.address, s.created_at, s.seen_at, s.ends_at";
/// How many they are.
pub(super) const JOINED_COUNT: usize = 8;

impl Store {
    /// One session by its key.
    pub async fn web_session(&self, key: &SessionKey) -> Result<Option<WebSession>> {
        let sql = format!("select {COLUMNS}, data from web_sessions where id = $1");
        let row = self.reader.row(sqlx::query(&sql).bind(key.as_str())).await?;
        Ok(row.map(|row| WebSession { info: info(&row, 0), data: row.get(8) }))
    }

    /// A session with the person whose it is, in one trip to the database: every request of somebody signed
    /// in asks this.
    pub async fn session_and_person(&self, key: &SessionKey) -> Result<Option<(WebSessionInfo, Person)>> {
        let sql = format!(
            "select {}, {JOINED} from web_sessions s join users u on u.id = s.user_id where s.id = $1",
            people::COLUMNS
        );
        let row = self.reader.row(sqlx::query(&sql).bind(key.as_str())).await?;
        Ok(row.map(|row| (info(&row, people::COLUMN_COUNT), people::person(&row))))
    }

    /// The sessions of a person, newest first, dead ones included.
    pub async fn web_sessions_of(&self, user: &UserId) -> Result<Vec<WebSessionInfo>> {
        let sql = format!("select {COLUMNS} from web_sessions where user_id = $1 order by created_at desc, id");
        let rows = self.reader.rows(sqlx::query(&sql).bind(user.as_str())).await?;
        Ok(rows.iter().map(|row| info(row, 0)).collect())
    }

    /// Writes a new session. Not if the account was disabled, its password replaced or its sessions ended
    /// since `epoch` was read: `false`.
    pub async fn create_web_session(&self, session: &WebSession, epoch: i64) -> Result<bool> {
        let _in_line = self.write_lock.lock().await;
        let info = &session.info;
        let written = sqlx::query(
            "insert into web_sessions (id, workspace_id, user_id, device, address, created_at, seen_at, ends_at, data) \
             select $1, $2, u.id, $4, $5, $6, $7, $8, $9 from users u \
             where u.id = $3 and u.disabled = 0 and u.session_epoch = $10",
        )
        .bind(info.key.as_str())
        .bind(info.workspace.as_str())
        .bind(info.user.as_str())
        .bind(info.device.as_str())
        .bind(info.address.as_str())
        .bind(info.created_at.0)
        .bind(info.seen_at.0)
        .bind(info.ends_at.0)
        .bind(session.data.as_str())
        .bind(epoch)
        .execute(&self.writer)
        .await?;
        Ok(written.rows_affected() == 1)
    }

    /// Writes the changed data of a session; `false` if it has ended.
    pub async fn save_web_session(&self, key: &SessionKey, data: &str) -> Result<bool> {
        let _in_line = self.write_lock.lock().await;
        let written = sqlx::query("update web_sessions set data = $1 where id = $2")
            .bind(data)
            .bind(key.as_str())
            .execute(&self.writer)
            .await?;
        Ok(written.rows_affected() == 1)
    }

    pub async fn delete_web_session(&self, key: &SessionKey) -> Result<()> {
        let _in_line = self.write_lock.lock().await;
        sqlx::query("delete from web_sessions where id = $1").bind(key.as_str()).execute(&self.writer).await?;
        Ok(())
    }

    /// Removes sessions that ended, by either limit.
    pub async fn delete_ended_web_sessions(&self, now: Timestamp, idle_before: Timestamp) -> Result<u64> {
        let _in_line = self.write_lock.lock().await;
        let deleted = sqlx::query("delete from web_sessions where ends_at <= $1 or seen_at <= $2")
            .bind(now.0)
            .bind(idle_before.0)
            .execute(&self.writer)
            .await?;
        Ok(deleted.rows_affected())
    }
}

impl WriteTx<'_> {
    /// Ends the sessions of a person, all or all but one, and says how many there were. Sign-ins that are
    /// under way come too late.
    pub async fn end_sessions(&mut self, user: &UserId, except: Option<&SessionKey>) -> Result<u64> {
        sqlx::query("update users set session_epoch = session_epoch + 1 where id = $1")
            .bind(user.as_str())
            .execute(&mut *self.tx)
            .await?;
        let ended = sqlx::query("delete from web_sessions where user_id = $1 and id <> $2")
            .bind(user.as_str())
            .bind(except.map_or("", SessionKey::as_str))
            .execute(&mut *self.tx)
            .await?;
        Ok(ended.rows_affected())
    }

    /// Ends one session of a person, and says whether it was there.
    pub async fn end_session(&mut self, user: &UserId, key: &SessionKey) -> Result<bool> {
        let ended = sqlx::query("delete from web_sessions where user_id = $1 and id = $2")
            .bind(user.as_str())
            .bind(key.as_str())
            .execute(&mut *self.tx)
            .await?;
        Ok(ended.rows_affected() == 1)
    }
}

/// Reads [`COLUMNS`] from the column `first` on.
pub(super) fn info(row: &AnyRow, first: usize) -> WebSessionInfo {
    WebSessionInfo {
        key: SessionKey::new(row.get::<String, _>(first)),
        workspace: WorkspaceId::new(row.get::<String, _>(first + 1)),
        user: UserId::new(row.get::<String, _>(first + 2)),
        device: row.get(first + 3),
        address: row.get(first + 4),
        created_at: Timestamp(row.get(first + 5)),
        seen_at: Timestamp(row.get(first + 6)),
        ends_at: Timestamp(row.get(first + 7)),
    }
}
