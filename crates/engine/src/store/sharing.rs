//! Shares of applications. Whether one opens anything is judged by `atelier_domain::app_sharing`, with who
//! owns the instance now.

use atelier_domain::app_sharing::{AppShare, Level};
use atelier_domain::compute::InstanceId;
use atelier_domain::history::{Actor, Event, Subject};
use atelier_domain::{Timestamp, UserId, WorkspaceId};
use sqlx::any::AnyRow;

use super::people::Person;
use super::sql::{Columns as _, Record, Sql};
use super::{Author, Error, Result, Store, WriteTx};

/// A share with what its owner sees of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedApp {
    pub share: AppShare,
    /// What the instance was called when it was shared.
    pub instance_name: String,
    /// What the application is called.
    pub app_label: String,
    /// When it was last used; none if it never was.
    pub used_at: Option<Timestamp>,
}

/// A share to be written.
#[derive(Clone, Debug)]
pub struct NewShare<'a> {
    pub workspace: &'a WorkspaceId,
    pub instance: InstanceId,
    /// What it is called.
    pub instance_name: &'a str,
    pub owner: &'a UserId,
    pub app: &'a str,
    /// What it is called.
    pub app_label: &'a str,
    pub person: &'a Person,
    /// What they may do there.
    pub level: Level,
    /// Until when, and the same for people.
    pub until: Option<(Timestamp, String)>,
}

/// Which share: instance, application and person.
pub type ShareKey = (InstanceId, String, UserId);

impl Record for SharedApp {
    const COLUMNS: &'static [&'static str] = &[
        "s.instance_id",
        "s.app",
        "s.user_id",
        "s.owner_id",
        "s.instance_name",
        "s.app_label",
        "s.level",
        "s.until",
        "s.since",
        "s.used_at",
    ];

    fn read(row: &AnyRow) -> Result<Self> {
        let level: String = row.read("s.level")?;
        Ok(Self {
            share: AppShare {
                instance: row.read("s.instance_id")?,
                app: row.read("s.app")?,
                user: row.read("s.user_id")?,
                owner: row.read("s.owner_id")?,
                level: Level::from_key(&level).ok_or(Error::Unreadable { what: "a share", value: level })?,
                until: row.read("s.until")?,
                since: row.read("s.since")?,
            },
            instance_name: row.read("s.instance_name")?,
            app_label: row.read("s.app_label")?,
            used_at: row.read("s.used_at")?,
        })
    }
}

const WITH_OWNER: &str = "instance_shares s join users u on u.id = s.owner_id";

impl Store {
    /// What is shared of an application with somebody, and how the account of who shared it stands.
    pub async fn share_of(&self, key: &ShareKey) -> Result<Option<(SharedApp, Person)>> {
        let sql = Sql::of::<(SharedApp, Person)>(WITH_OWNER).eq("s.instance_id", key.0);
        sql.eq("s.app", key.1.as_str()).eq("s.user_id", &key.2).first(&self.reader).await
    }

    /// What is shared of an instance, and with whom, by name.
    pub async fn shares_of_instance(&self, instance: InstanceId) -> Result<Vec<(SharedApp, Person)>> {
        let sql = Sql::of::<(SharedApp, Person)>("instance_shares s join users u on u.id = s.user_id");
        sql.eq("s.instance_id", instance).push(" order by u.name_key, u.id, s.app").all(&self.reader).await
    }

    /// What is shared with somebody, and by whom.
    pub async fn shares_with(&self, user: &UserId) -> Result<Vec<(SharedApp, Person)>> {
        let sql = Sql::of::<(SharedApp, Person)>(WITH_OWNER).eq("s.user_id", user);
        sql.push(" order by s.instance_name, s.app, s.instance_id").all(&self.reader).await
    }

    /// Writes last uses that were kept in memory. No revision: nobody waits for it.
    pub async fn flush_share_uses(&self, used: &[(ShareKey, Timestamp)]) -> Result<()> {
        let write = |((instance, app, user), at): &(ShareKey, Timestamp)| {
            let sql = Sql::update("instance_shares").set("used_at", *at).eq("instance_id", *instance);
            sql.eq("app", app.as_str()).eq("user_id", user).and("used_at < ?").bind(*at)
        };
        self.write_all(used.iter().map(write).collect()).await
    }

    /// Tells the history of shares whose time is over, once each. How many there were.
    pub async fn end_shares(&self, now: Timestamp) -> Result<u64> {
        let due = |sql: Sql| sql.and("is_over = 0 and until > 0 and until <= ?").bind(now);
        if due(Sql::select("1", "instance_shares")).row(&self.reader).await?.is_none() {
            return Ok(0);
        }
        let mut tx = self.begin(now).await?;
        let ended = due(Sql::update("instance_shares").set("is_over", true))
            .push(" returning workspace_id, user_id, instance_name, app_label")
            .rows(&mut tx.tx)
            .await?;
        let author = Author { actor: Actor::System, request: String::new(), why: None };
        for row in &ended {
            let subject = tx.person(&row.read("user_id")?).await?.map(|person| person.subject());
            let event = Event::InstanceShareEnded { instance: row.read("instance_name")?, app: row.read("app_label")? };
            tx.record(&row.read("workspace_id")?, &author, subject.as_ref(), &event).await?;
        }
        tx.commit().await?;
        Ok(ended.len() as u64)
    }

    /// Forgets shares that opened nothing since then: their time was over, and nobody needs to see that any
    /// more.
    pub async fn drop_old_shares(&self, before: Timestamp) -> Result<u64> {
        self.write(Sql::delete("instance_shares").and("until > 0 and until < ?").bind(before)).await
    }

    /// Forgets the shares of instances that are gone, and those that somebody gave who does not own the
    /// instance any more: they open nothing.
    pub async fn drop_shares_of_others(&self, owners: &[(InstanceId, UserId)]) -> Result<u64> {
        let mut dropped = 0;
        for row in Sql::select("distinct instance_id, owner_id", "instance_shares").rows(&self.reader).await? {
            let (id, owner): (InstanceId, UserId) = (row.read("instance_id")?, row.read("owner_id")?);
            if !owners.iter().any(|(known, whose)| *known == id && *whose == owner) {
                dropped +=
                    self.write(Sql::delete("instance_shares").eq("instance_id", id).eq("owner_id", &owner)).await?;
            }
        }
        Ok(dropped)
    }
}

impl WriteTx<'_> {
    /// How many shares an instance has beside that one.
    pub async fn count_other_shares(&mut self, instance: InstanceId, app: &str, user: &UserId) -> Result<u64> {
        Sql::count_of("instance_shares")
            .eq("instance_id", instance)
            .and("not (app = ? and user_id = ?)")
            .bind(app)
            .bind(user)
            .and("(until = 0 or until > ?)")
            .bind(self.now())
            .count(&mut self.tx)
            .await
    }

    /// Writes a share, or changes the one there is, and records it.
    pub async fn put_share(&mut self, new: &NewShare<'_>, author: &Author) -> Result<()> {
        Sql::insert("instance_shares")
            .set("instance_id", new.instance)
            .set("app", new.app)
            .set("user_id", &new.person.id)
            .set("workspace_id", new.workspace)
            .set("owner_id", new.owner)
            .set("instance_name", new.instance_name)
            .set("app_label", new.app_label)
            .set("level", new.level.key())
            .set("until", new.until.as_ref().map_or(0, |(at, _)| at.0))
            .set("since", self.now())
            .set("used_at", 0)
            .set("is_over", false)
            .or_update(
                "instance_id, app, user_id",
                &["owner_id", "instance_name", "app_label", "level", "until", "is_over"],
            )
            .run(&mut self.tx)
            .await?;
        let event = Event::InstanceShared {
            instance: new.instance_name.to_owned(),
            app: new.app_label.to_owned(),
            level: new.level,
            until: new.until.as_ref().map(|(_, words)| words.clone()),
        };
        self.record(new.workspace, author, Some(&new.person.subject()), &event).await
    }

    /// Takes a share away and records it; what it was, if there was one.
    pub async fn revoke_share(
        &mut self,
        workspace: &WorkspaceId,
        instance: InstanceId,
        app: &str,
        subject: &Subject,
        author: &Author,
    ) -> Result<Option<String>> {
        let sql = Sql::delete("instance_shares").eq("instance_id", instance).eq("app", app).eq("user_id", &subject.id);
        let gone = sql.push(" returning instance_name, app_label, is_over").row(&mut self.tx).await?;
        let Some(row) = gone else { return Ok(None) };
        let label: String = row.read("app_label")?;
        if !row.read::<bool>("is_over")? {
            let event = Event::InstanceUnshared { instance: row.read("instance_name")?, app: label.clone() };
            self.record(workspace, author, Some(subject), &event).await?;
        }
        Ok(Some(label))
    }
}
