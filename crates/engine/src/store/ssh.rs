//! Keys with which people come in by SSH, and the instances that can be entered so.

use atelier_domain::compute::InstanceId;
use atelier_domain::history::{Actor, Event};
use atelier_domain::ssh::{KeyName, KeyRefusal, MAX_KEYS, PublicKey};
use atelier_domain::{SshKeyId, Timestamp, UserId, WorkspaceId};

use super::installation::new_id;
use super::people::{Person, later};
use super::sql::{Columns as _, Sql, record};
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

record!(SshKey {
    id: "k.id",
    user: "k.user_id",
    name: "k.name",
    kind: "k.kind",
    line: "k.line",
    fingerprint: "k.fingerprint",
    created_at: "k.created_at",
    used_at: "k.used_at",
    removed_at: "k.removed_at",
});

impl Store {
    /// The key of that fingerprint with the person whose it is: the one that counts, else the last that did.
    pub async fn ssh_key_and_person(&self, fingerprint: &str) -> Result<Option<(SshKey, Person)>> {
        Sql::of::<(SshKey, Person)>("ssh_keys k join users u on u.id = k.user_id")
            .eq("k.fingerprint", fingerprint)
            .push(" order by case when k.removed_at = 0 then 0 else 1 end, k.removed_at desc limit 1")
            .first(&self.reader)
            .await
    }

    /// The keys of a person that count, newest first.
    pub async fn ssh_keys_of(&self, user: &UserId) -> Result<Vec<SshKey>> {
        let sql = Sql::of::<SshKey>("ssh_keys k").eq("k.user_id", user).and("k.removed_at = 0");
        sql.push(" order by k.created_at desc, k.id").all(&self.reader).await
    }

    /// Notes that somebody came in with a key. No revision: nobody waits for it.
    pub async fn ssh_key_used(&self, id: &SshKeyId, at: Timestamp) -> Result<()> {
        self.write_all(later("ssh_keys", "used_at", &[(id.as_str(), at)])).await
    }

    /// Since when an instance can be entered by SSH, and by whose wish; nothing while it cannot.
    pub async fn ssh_of(&self, instance: InstanceId) -> Result<Option<(UserId, Timestamp)>> {
        let sql = Sql::select("user_id, since", "ssh_instances").eq("instance_id", instance);
        let row = sql.row(&self.reader).await?;
        row.map(|row| Ok((row.read("user_id")?, row.read("since")?))).transpose()
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
        let known = Sql::select("user_id, name", "ssh_keys").eq("fingerprint", fingerprint).and("removed_at = 0");
        if let Some(row) = known.row(&mut self.tx).await? {
            let is_own = row.read::<UserId>("user_id")? == person.id;
            return Ok(Err(if is_own { KeyRefusal::Own(row.read("name")?) } else { KeyRefusal::Others }));
        }
        let present = Sql::count_of("ssh_keys").eq("user_id", &person.id).and("removed_at = 0");
        if present.count(&mut self.tx).await? >= MAX_KEYS {
            return Ok(Err(KeyRefusal::TooMany));
        }
        let id = SshKeyId::new(new_id("key"));
        Sql::insert("ssh_keys")
            .set("id", &id)
            .set("workspace_id", &person.workspace)
            .set("user_id", &person.id)
            .set("name", name.as_str())
            .set("kind", public.kind_of().to_string())
            .set("line", public.line())
            .set("fingerprint", fingerprint)
            .set("created_at", self.now())
            .set("used_at", 0)
            .set("removed_at", 0)
            .run(&mut self.tx)
            .await?;
        let event = Event::SshKeyAdded { key: name.as_str().to_owned(), fingerprint: fingerprint.to_owned() };
        self.record(&person.workspace, author, None, &event).await?;
        Ok(Ok(id))
    }

    /// Takes a key of a person away and records it; its name, if there was one.
    pub async fn remove_ssh_key(&mut self, person: &Person, id: &SshKeyId, author: &Author) -> Result<Option<String>> {
        let sql = Sql::update("ssh_keys").set("removed_at", self.now()).eq("id", id).eq("user_id", &person.id);
        let removed = sql.and("removed_at = 0").push(" returning name, fingerprint").row(&mut self.tx).await?;
        let Some(row) = removed else { return Ok(None) };
        let name: String = row.read("name")?;
        let event = Event::SshKeyRemoved { key: name.clone(), fingerprint: row.read("fingerprint")? };
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
        let now = Sql::select("user_id", "ssh_instances").eq("instance_id", id).value::<UserId>(&mut self.tx).await?;
        if now.is_some_and(|user| user == *owner) == is_on {
            return Ok(false);
        }
        Sql::delete("ssh_instances").eq("instance_id", id).run(&mut self.tx).await?;
        if is_on {
            Sql::insert("ssh_instances")
                .set("instance_id", id)
                .set("workspace_id", workspace)
                .set("user_id", owner)
                .set("since", self.now())
                .run(&mut self.tx)
                .await?;
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
        self.write(Sql::delete("ssh_instances").eq("instance_id", instance)).await?;
        Ok(())
    }

    /// The instances that can be entered by SSH, those included that are gone.
    pub async fn instances_with_ssh(&self) -> Result<Vec<InstanceId>> {
        Sql::select("instance_id", "ssh_instances").values(&self.reader).await
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
