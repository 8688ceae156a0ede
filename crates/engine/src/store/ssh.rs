//! Keys with which people come in by SSH, and the instances that can be entered so.

use atelier_domain::compute::InstanceId;
use atelier_domain::history::{Actor, Event};
use atelier_domain::ssh::{KeyName, KeyRefusal, MAX_KEYS, PublicKey};
use atelier_domain::{SshKeyId, Timestamp, UserId, WorkspaceId};
use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::installation::new_id;
use super::people::{self, Person};
use super::tokens::concerned;
use super::{Author, Result, Store, WriteTx};

/// A key as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshKey {
    pub id: SshKeyId,
    pub user: UserId,
    /// What it is called.
    pub name: String,
    /// Its kind, for people.
    pub kind: String,
    /// As OpenSSH writes it.
    pub line: String,
    /// `SHA256:…`.
    pub fingerprint: String,
    /// When it was added.
    pub created_at: Timestamp,
    /// When somebody last came in with it.
    pub used_at: Option<Timestamp>,
    /// When it was removed; then it opens nothing.
    pub removed_at: Option<Timestamp>,
}

const COLUMNS: &str = "k.id, k.user_id, k.name, k.kind, k.line, k.fingerprint, k.created_at, k.used_at, k.removed_at";

impl Store {
    /// The key of that fingerprint with the person whose it is: the one that counts, else the last that did.
    pub async fn ssh_key_and_person(&self, fingerprint: &str) -> Result<Option<(SshKey, Person)>> {
        let sql = format!(
            "select {}, {COLUMNS} from ssh_keys k join users u on u.id = k.user_id where k.fingerprint = $1 \
             order by case when k.removed_at = 0 then 0 else 1 end, k.removed_at desc limit 1",
            people::COLUMNS
        );
        let row = self.reader.row(sqlx::query(&sql).bind(fingerprint)).await?;
        Ok(row.map(|row| (key(&row, people::COLUMN_COUNT), people::person(&row))))
    }

    /// The keys of a person that count, newest first.
    pub async fn ssh_keys_of(&self, user: &UserId) -> Result<Vec<SshKey>> {
        let sql = format!(
            "select {COLUMNS} from ssh_keys k where k.user_id = $1 and k.removed_at = 0 order by k.created_at desc, \
             k.id"
        );
        let rows = self.reader.rows(sqlx::query(&sql).bind(user.as_str())).await?;
        Ok(rows.iter().map(|row| key(row, 0)).collect())
    }

    /// Notes that somebody came in with a key. No revision: nobody waits for it.
    pub async fn ssh_key_used(&self, id: &SshKeyId, at: Timestamp) -> Result<()> {
        let _in_line = self.write_lock.lock().await;
        let text = "update ssh_keys set used_at = $1 where id = $2 and used_at < $1";
        sqlx::query(text).bind(at.0).bind(id.as_str()).execute(&self.writer).await?;
        Ok(())
    }

    /// Since when an instance can be entered by SSH, and by whose wish; nothing while it cannot.
    pub async fn ssh_of(&self, instance: InstanceId) -> Result<Option<(UserId, Timestamp)>> {
        let text = "select user_id, since from ssh_instances where instance_id = $1";
        let row = self.reader.row(sqlx::query(text).bind(number(instance))).await?;
        Ok(row.map(|row| (UserId::new(row.get::<String, _>(0)), Timestamp(row.get(1)))))
    }
}

impl WriteTx<'_> {
    /// Adds a key to a person's own, if the rules allow it, and records it.
    pub async fn insert_ssh_key(
        &mut self,
        person: &Person,
        name: &KeyName,
        public: &PublicKey,
        fingerprint: &str,
        author: &Author,
    ) -> Result<std::result::Result<SshKeyId, KeyRefusal>> {
        let text = "select user_id, name from ssh_keys where fingerprint = $1 and removed_at = 0";
        let known = sqlx::query(text).bind(fingerprint).fetch_optional(&mut *self.tx).await?;
        if let Some(row) = known {
            let is_own = row.get::<String, _>(0) == person.id.as_str();
            return Ok(Err(if is_own { KeyRefusal::Own(row.get(1)) } else { KeyRefusal::Others }));
        }
        let text = "select cast(count(*) as bigint) from ssh_keys where user_id = $1 and removed_at = 0";
        let present: i64 = sqlx::query_scalar(text).bind(person.id.as_str()).fetch_one(&mut *self.tx).await?;
        if u64::try_from(present).unwrap_or_default() >= MAX_KEYS {
            return Ok(Err(KeyRefusal::TooMany));
        }
        let id = SshKeyId::new(new_id("key"));
        sqlx::query(
            "insert into ssh_keys (id, workspace_id, user_id, name, kind, line, fingerprint, created_at, used_at, \
             removed_at) \
             values ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0)",
        )
        .bind(id.as_str())
        .bind(person.workspace.as_str())
        .bind(person.id.as_str())
        .bind(name.as_str())
        .bind(public.kind_of().to_string())
        .bind(public.line())
        .bind(fingerprint)
        .bind(self.now().0)
        .execute(&mut *self.tx)
        .await?;
        let event = Event::SshKeyAdded { key: name.as_str().to_owned(), fingerprint: fingerprint.to_owned() };
        self.record(&person.workspace, author, None, &event).await?;
        Ok(Ok(id))
    }

    /// Takes a key of a person away and records it; its name, if there was one.
    pub async fn remove_ssh_key(&mut self, person: &Person, id: &SshKeyId, author: &Author) -> Result<Option<String>> {
        let text = "update ssh_keys set removed_at = $1 where id = $2 and user_id = $3 and removed_at = 0 \
                    returning name, fingerprint";
        let query = sqlx::query(text).bind(self.now().0).bind(id.as_str()).bind(person.id.as_str());
        let Some(row) = query.fetch_optional(&mut *self.tx).await? else { return Ok(None) };
        let name: String = row.get(0);
        let event = Event::SshKeyRemoved { key: name.clone(), fingerprint: row.get(1) };
        self.record(&person.workspace, author, concerned(person, author).as_ref(), &event).await?;
        Ok(Some(name))
    }

    /// Lets an instance be entered by SSH, or not any more. What is so already changes and records nothing.
    pub async fn switch_ssh(
        &mut self,
        workspace: &WorkspaceId,
        instance: (InstanceId, &str),
        owner: &UserId,
        is_on: bool,
        author: &Author,
    ) -> Result<bool> {
        let (id, name) = instance;
        let text = "select user_id from ssh_instances where instance_id = $1";
        let now: Option<String> = sqlx::query_scalar(text).bind(number(id)).fetch_optional(&mut *self.tx).await?;
        if now.as_deref().is_some_and(|user| user == owner.as_str()) == is_on {
            return Ok(false);
        }
        let text = "delete from ssh_instances where instance_id = $1";
        sqlx::query(text).bind(number(id)).execute(&mut *self.tx).await?;
        if is_on {
            let text = "insert into ssh_instances (instance_id, workspace_id, user_id, since) values ($1, $2, $3, $4)";
            let query = sqlx::query(text).bind(number(id)).bind(workspace.as_str()).bind(owner.as_str());
            query.bind(self.now().0).execute(&mut *self.tx).await?;
        }
        let event = Event::SshSwitched { instance: name.to_owned(), is_on };
        self.record(workspace, author, None, &event).await?;
        Ok(true)
    }
}

impl Store {
    /// Forgets that an instance could be entered by SSH: it is gone, or somebody else's. Who has it now
    /// decides anew.
    pub async fn drop_ssh_of(&self, instance: InstanceId) -> Result<()> {
        let _in_line = self.write_lock.lock().await;
        let text = "delete from ssh_instances where instance_id = $1";
        sqlx::query(text).bind(number(instance)).execute(&self.writer).await?;
        Ok(())
    }

    /// The instances that can be entered by SSH, those included that are gone.
    pub async fn instances_with_ssh(&self) -> Result<Vec<InstanceId>> {
        let rows = self.reader.rows(sqlx::query("select instance_id from ssh_instances")).await?;
        let id = |row: &AnyRow| u64::try_from(row.get::<i64, _>(0)).ok().map(InstanceId);
        Ok(rows.iter().filter_map(id).collect())
    }

    /// Records something that happened to a connection, by itself.
    pub async fn record_ssh(&self, person: &Person, event: &Event, now: Timestamp) -> Result<()> {
        let actor = Actor::Person { id: person.id.clone(), name: person.name.clone() };
        let mut tx = self.begin(now).await?;
        tx.record(&person.workspace, &Author { actor, request: String::new(), why: None }, None, event).await?;
        tx.commit().await?;
        Ok(())
    }
}

fn number(instance: InstanceId) -> i64 {
    i64::try_from(instance.0).unwrap_or(i64::MAX)
}

/// Reads [`COLUMNS`] from the column `first` on.
fn key(row: &AnyRow, first: usize) -> SshKey {
    let at = |column: usize| {
        let at: i64 = row.get(first + column);
        (at > 0).then_some(Timestamp(at))
    };
    SshKey {
        id: SshKeyId::new(row.get::<String, _>(first)),
        user: UserId::new(row.get::<String, _>(first + 1)),
        name: row.get(first + 2),
        kind: row.get(first + 3),
        line: row.get(first + 4),
        fingerprint: row.get(first + 5),
        created_at: Timestamp(row.get(first + 6)),
        used_at: at(7),
        removed_at: at(8),
    }
}
