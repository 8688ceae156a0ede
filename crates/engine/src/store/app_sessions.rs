//! Sessions at the addresses of applications: each belongs to a session of the portal and is worth nothing
//! without it.

use atelier_domain::compute::InstanceId;
use atelier_domain::{SessionKey, Timestamp, UserId};

use super::people::Person;
use super::sessions::WebSessionInfo;
use super::sql::{Sql, record};
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

record!(AppSession {
    id: "a.id",
    session: "a.web_session_id",
    user: "a.user_id",
    instance: "a.instance_id",
    app: "a.app",
});

impl Store {
    /// Writes a new one. False if the session of the portal has ended meanwhile.
    pub async fn create_app_session(&self, new: &AppSession, now: Timestamp) -> Result<bool> {
        let sql = Sql::new(
            "insert into app_sessions (id, instance_id, app, created_at, web_session_id, user_id) \
             select ?, ?, ?, ?, s.id, s.user_id from web_sessions s",
        );
        let sql = sql.bind(new.id.as_str()).bind(new.instance).bind(new.app.as_str()).bind(now);
        Ok(self.write(sql.eq("s.id", &new.session).eq("s.user_id", &new.user)).await? == 1)
    }

    /// One of them with the session of the portal and the person; nothing if any of the three is gone.
    pub async fn app_session(&self, id: &str) -> Result<Option<(AppSession, WebSessionInfo, Person)>> {
        let from = "app_sessions a join web_sessions s on s.id = a.web_session_id join users u on u.id = s.user_id";
        let sql = Sql::of::<(AppSession, (WebSessionInfo, Person))>(from).eq("a.id", id);
        let found = sql.first(&self.reader).await?;
        Ok(found.map(|(app, (session, person))| (app, session, person)))
    }

    /// Drops those whose session of the portal has ended.
    pub async fn drop_ended_app_sessions(&self) -> Result<u64> {
        let ended = "not exists (select 1 from web_sessions s where s.id = app_sessions.web_session_id)";
        self.write(Sql::delete("app_sessions").and(ended)).await
    }
}
