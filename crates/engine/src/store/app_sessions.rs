//! Sessions at the addresses of applications: each belongs to a session of the portal and is worth nothing
//! without it.

use atelier_domain::compute::InstanceId;
use atelier_domain::{SessionKey, Timestamp, UserId};
use sqlx::Row as _;

use super::people::{self, Person};
use super::sessions::{self, WebSessionInfo};
use super::{Result, Store};

/// A session at an application's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppSession {
    /// The hash of its cookie's secret.
    pub id: String,
    /// The session of the portal that it belongs to.
    pub session: SessionKey,
    pub user: UserId,
    pub instance: InstanceId,
    pub app: String,
}

impl Store {
    /// Writes a new one. False if the session of the portal has ended meanwhile.
    pub async fn create_app_session(&self, new: &AppSession, now: Timestamp) -> Result<bool> {
        let _in_line = self.write_lock.lock().await;
        let written = sqlx::query(
            "insert into app_sessions (id, web_session_id, user_id, instance_id, app, created_at) \
             select $1, s.id, s.user_id, $4, $5, $6 from web_sessions s where s.id = $2 and s.user_id = $3",
        )
        .bind(new.id.as_str())
        .bind(new.session.as_str())
        .bind(new.user.as_str())
        .bind(i64::try_from(new.instance.0).unwrap_or(i64::MAX))
        .bind(new.app.as_str())
        .bind(now.0)
        .execute(&self.writer)
        .await?;
        Ok(written.rows_affected() == 1)
    }

    /// One of them with the session of the portal and the person; nothing if any of the three is gone.
    pub async fn app_session(&self, id: &str) -> Result<Option<(AppSession, WebSessionInfo, Person)>> {
        let sql = format!(
            "select {}, {}, a.instance_id, a.app from app_sessions a join web_sessions s on s.id = a.web_session_id \
             join users u on u.id = s.user_id where a.id = $1",
            people::COLUMNS,
            sessions::JOINED
        );
        let row = self.reader.row(sqlx::query(&sql).bind(id)).await?;
        Ok(row.map(|row| {
            let info = sessions::info(&row, people::COLUMN_COUNT);
            let first = people::COLUMN_COUNT + sessions::JOINED_COUNT;
            let session = AppSession {
                id: id.to_owned(),
                session: info.key.clone(),
                user: info.user.clone(),
                instance: InstanceId(u64::try_from(row.get::<i64, _>(first)).unwrap_or_default()),
                app: row.get(first + 1),
            };
            (session, info, people::person(&row))
        }))
    }

    /// Drops those whose session of the portal has ended.
    pub async fn drop_ended_app_sessions(&self) -> Result<u64> {
        let _in_line = self.write_lock.lock().await;
        let sql = "delete from app_sessions where not exists \
                   (select 1 from web_sessions s where s.id = app_sessions.web_session_id)";
        Ok(sqlx::query(sql).execute(&self.writer).await?.rows_affected())
    }
}
