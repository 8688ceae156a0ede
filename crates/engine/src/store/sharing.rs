//! Shares of applications. Whether one opens anything is judged by `atelier_domain::app_sharing`, with who
//! owns the instance now.

use atelier_domain::app_sharing::{AppShare, Level};
use atelier_domain::compute::InstanceId;
use atelier_domain::history::{Actor, Event, Subject};
use atelier_domain::{Timestamp, UserId, WorkspaceId};
use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::people::{self, Person};
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

const COLUMNS: &str =
    "s.instance_id, s.app, s.user_id, s.owner_id, s.instance_name, s.app_label, s.level, s.until, s.since, s.used_at";
const COLUMN_COUNT: usize = 10;

impl Store {
    /// What is shared of an application with somebody, and how the account of who shared it stands.
    pub async fn share_of(&self, key: &ShareKey) -> Result<Option<(SharedApp, Person)>> {
        let sql = format!(
            "select {}, {COLUMNS} from instance_shares s join users u on u.id = s.owner_id \
             where s.instance_id = $1 and s.app = $2 and s.user_id = $3",
            people::COLUMNS
        );
        let query = sqlx::query(&sql).bind(number(key.0)).bind(key.1.as_str()).bind(key.2.as_str());
        let Some(row) = self.reader.row(query).await? else { return Ok(None) };
        Ok(Some((shared(&row, people::COLUMN_COUNT)?, people::person(&row))))
    }

    /// What is shared of an instance, and with whom, by name.
    pub async fn shares_of_instance(&self, instance: InstanceId) -> Result<Vec<(SharedApp, Person)>> {
        let sql = format!(
            "select {}, {COLUMNS} from instance_shares s join users u on u.id = s.user_id where s.instance_id = $1 \
             order by u.name_key, u.id, s.app",
            people::COLUMNS
        );
        let rows = self.reader.rows(sqlx::query(&sql).bind(number(instance))).await?;
        rows.iter().map(|row| Ok((shared(row, people::COLUMN_COUNT)?, people::person(row)))).collect()
    }

    /// What is shared with somebody, and by whom.
    pub async fn shares_with(&self, user: &UserId) -> Result<Vec<(SharedApp, Person)>> {
        let sql = format!(
            "select {}, {COLUMNS} from instance_shares s join users u on u.id = s.owner_id where s.user_id = $1 \
             order by s.instance_name, s.app, s.instance_id",
            people::COLUMNS
        );
        let rows = self.reader.rows(sqlx::query(&sql).bind(user.as_str())).await?;
        rows.iter().map(|row| Ok((shared(row, people::COLUMN_COUNT)?, people::person(row)))).collect()
    }

    /// Writes last uses that were kept in memory. No revision: nobody waits for it.
    pub async fn flush_share_uses(&self, used: &[(ShareKey, Timestamp)]) -> Result<()> {
        if used.is_empty() {
            return Ok(());
        }
        let _in_line = self.write_lock.lock().await;
        let mut tx = self.writer.begin().await?;
        for ((instance, app, user), at) in used {
            let text = "update instance_shares set used_at = $1 where instance_id = $2 and app = $3 and user_id = $4 \
                        and used_at < $1";
            sqlx::query(text)
                .bind(at.0)
                .bind(number(*instance))
                .bind(app.as_str())
                .bind(user.as_str())
                .execute(&mut *tx)
                .await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Tells the history of shares whose time is over, once each. How many there were.
    pub async fn end_shares(&self, now: Timestamp) -> Result<u64> {
        let due = "select s.workspace_id from instance_shares s where s.is_over = 0 and s.until > 0 and s.until <= $1";
        if self.reader.row(sqlx::query(due).bind(now.0)).await?.is_none() {
            return Ok(0);
        }
        let mut tx = self.begin(now).await?;
        let text = "update instance_shares set is_over = 1 where is_over = 0 and until > 0 and until <= $1 \
                    returning workspace_id, user_id, instance_name, app_label";
        let rows = sqlx::query(text).bind(now.0).fetch_all(&mut *tx.tx).await?;
        let author = Author { actor: Actor::System, request: String::new(), why: None };
        for row in &rows {
            let (workspace, user) = (WorkspaceId::new(row.get::<String, _>(0)), UserId::new(row.get::<String, _>(1)));
            let subject = tx.person(&user).await?.map(|person| person.subject());
            let event = Event::InstanceShareEnded { instance: row.get(2), app: row.get(3) };
            tx.record(&workspace, &author, subject.as_ref(), &event).await?;
        }
        tx.commit().await?;
        Ok(rows.len() as u64)
    }

    /// Forgets shares that opened nothing since then: their time was over, and nobody needs to see that any
    /// more.
    pub async fn drop_old_shares(&self, before: Timestamp) -> Result<u64> {
        let _in_line = self.write_lock.lock().await;
        let sql = "delete from instance_shares where until > 0 and until < $1";
        Ok(sqlx::query(sql).bind(before.0).execute(&self.writer).await?.rows_affected())
    }

    /// Forgets the shares of instances that are gone, and those that somebody gave who does not own the
    /// instance any more: they open nothing.
    pub async fn drop_shares_of_others(&self, owners: &[(InstanceId, UserId)]) -> Result<u64> {
        let sql = "select distinct instance_id, owner_id from instance_shares";
        let rows = self.reader.rows(sqlx::query(sql)).await?;
        let mut dropped = 0;
        for row in &rows {
            let (id, owner) = (instance_id(row, 0), UserId::new(row.get::<String, _>(1)));
            if owners.iter().any(|(known, whose)| *known == id && *whose == owner) {
                continue;
            }
            let _in_line = self.write_lock.lock().await;
            let sql = "delete from instance_shares where instance_id = $1 and owner_id = $2";
            let query = sqlx::query(sql).bind(number(id)).bind(owner.as_str());
            dropped += query.execute(&self.writer).await?.rows_affected();
        }
        Ok(dropped)
    }
}

impl WriteTx<'_> {
    /// How many shares an instance has beside that one.
    pub async fn count_other_shares(&mut self, instance: InstanceId, app: &str, user: &UserId) -> Result<u64> {
        let text = "select cast(count(*) as bigint) from instance_shares where instance_id = $1 \
                    and not (app = $2 and user_id = $3) and (until = 0 or until > $4)";
        let query = sqlx::query_scalar(text).bind(number(instance)).bind(app).bind(user.as_str()).bind(self.now().0);
        let count: i64 = query.fetch_one(&mut *self.tx).await?;
        Ok(u64::try_from(count).unwrap_or_default())
    }

    /// Writes a share, or changes the one there is, and records it.
    pub async fn put_share(&mut self, new: &NewShare<'_>, author: &Author) -> Result<()> {
        let until = new.until.as_ref().map_or(0, |(at, _)| at.0);
        sqlx::query(
            "insert into instance_shares (instance_id, app, user_id, workspace_id, owner_id, instance_name, app_label, \
             level, \
             until, since, used_at, is_over) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0) \
             on conflict (instance_id, app, user_id) do update set owner_id = excluded.owner_id, \
             instance_name = excluded.instance_name, app_label = excluded.app_label, level = excluded.level, \
             until = excluded.until, is_over = 0",
        )
        .bind(number(new.instance))
        .bind(new.app)
        .bind(new.person.id.as_str())
        .bind(new.workspace.as_str())
        .bind(new.owner.as_str())
        .bind(new.instance_name)
        .bind(new.app_label)
        .bind(new.level.key())
        .bind(until)
        .bind(self.now().0)
        .execute(&mut *self.tx)
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
        let text = "delete from instance_shares where instance_id = $1 and app = $2 and user_id = $3 \
                    returning instance_name, app_label, is_over";
        let query = sqlx::query(text).bind(number(instance)).bind(app).bind(subject.id.as_str());
        let Some(row) = query.fetch_optional(&mut *self.tx).await? else { return Ok(None) };
        let label: String = row.get(1);
        if row.get::<i64, _>(2) == 0 {
            let event = Event::InstanceUnshared { instance: row.get(0), app: label.clone() };
            self.record(workspace, author, Some(subject), &event).await?;
        }
        Ok(Some(label))
    }
}

fn number(instance: InstanceId) -> i64 {
    i64::try_from(instance.0).unwrap_or(i64::MAX)
}

fn instance_id(row: &AnyRow, column: usize) -> InstanceId {
    InstanceId(u64::try_from(row.get::<i64, _>(column)).unwrap_or_default())
}

/// Reads [`COLUMNS`] from the column `first` on.
fn shared(row: &AnyRow, first: usize) -> Result<SharedApp> {
    debug_assert!(row.len() >= first + COLUMN_COUNT, "all columns are selected");
    let level: String = row.get(first + 6);
    let time = |column: usize| Some(row.get::<i64, _>(first + column)).filter(|at| *at > 0).map(Timestamp);
    Ok(SharedApp {
        share: AppShare {
            instance: instance_id(row, first),
            app: row.get(first + 1),
            user: UserId::new(row.get::<String, _>(first + 2)),
            owner: UserId::new(row.get::<String, _>(first + 3)),
            level: Level::from_key(&level).ok_or(Error::Unreadable { what: "a share", value: level })?,
            until: time(7),
            since: Timestamp(row.get(first + 8)),
        },
        instance_name: row.get(first + 4),
        app_label: row.get(first + 5),
        used_at: time(9),
    })
}
