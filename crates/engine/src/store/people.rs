//! Accounts and their roles.

use atelier_domain::access::{Rights, Role};
use atelier_domain::account::{self, AccountState, AccountVerb, Refusal, Standing, Theme};
use atelier_domain::history::{Event, Subject};
use atelier_domain::{Timestamp, UserId, WorkspaceId};
use sqlx::Row as _;
use sqlx::any::AnyRow;

use super::installation::new_id;
use super::sql::Sql;
use super::{Author, Error, Result, Store, WriteTx, like_pattern};
use crate::live::Cut;

/// A person as lists show them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub id: UserId,
    /// The workspace whose Owners look after it.
    pub workspace: WorkspaceId,
    /// The sign-in name.
    pub email: String,
    pub name: String,
    /// Where the account stands.
    pub state: AccountState,
    /// The time zone.
    pub time_zone: String,
    pub theme: Theme,
    /// When it was made.
    pub created_at: Timestamp,
    /// The last request, if there was one.
    pub seen_at: Option<Timestamp>,
    /// When the bell was last read.
    pub notices_read_at: Timestamp,
    /// The roles in that workspace, from least to most.
    pub roles: Vec<Role>,
}

impl Person {
    /// What the rules need to know, seen by `actor`.
    pub fn standing(&self, actor: Option<&UserId>) -> Standing {
        Standing { state: self.state, is_owner: self.roles.contains(&Role::Owner), is_self: actor == Some(&self.id) }
    }

    /// What the person may do.
    pub fn rights(&self) -> Rights {
        Rights::of(&self.roles)
    }

    /// The person as the one something is done to.
    pub fn subject(&self) -> Subject {
        Subject { id: self.id.clone(), name: self.name.clone() }
    }
}

/// A person with what sign-in needs.
#[derive(Clone, Debug)]
pub struct Account {
    pub person: Person,
    /// The argon2id hash.
    pub password_hash: String,
    /// Counts what ends every session; a sign-in that began under an older one comes too late.
    pub session_epoch: i64,
}

/// An account to be made.
#[derive(Clone, Debug)]
pub struct NewAccount {
    /// The workspace that looks after it.
    pub workspace: WorkspaceId,
    /// The sign-in name, in lower case.
    pub email: String,
    pub name: String,
    /// The argon2id hash.
    pub password_hash: String,
    /// Whether the password is a temporary one.
    pub must_change_password: bool,
    /// The time zone.
    pub time_zone: String,
    pub theme: Theme,
    pub roles: Vec<Role>,
}

/// What a list of people is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PeopleOrder {
    #[default]
    Name,
    /// By the last request.
    Seen,
    /// By when the account was made.
    Created,
}

impl PeopleOrder {
    const fn column(self) -> &'static str {
        match self {
            Self::Name => "name_key",
            Self::Seen => "seen_at",
            Self::Created => "created_at",
        }
    }
}

/// Which people, in which order, from where.
#[derive(Clone, Debug, Default)]
pub struct PeopleFilter {
    /// Part of a name or address.
    pub part: String,
    /// Only with this role.
    pub role: Option<Role>,
    /// Only in this state.
    pub state: Option<AccountState>,
    pub order: PeopleOrder,
    /// From last to first.
    pub descending: bool,
    /// Only after this row in that order: the sort column's value and the id.
    pub after: Option<(String, String)>,
    /// How many at most.
    pub limit: i64,
}

impl PeopleFilter {
    /// Whether it leaves nobody out, wherever it starts.
    pub fn is_for_everybody(&self) -> bool {
        self.part.trim().is_empty() && self.role.is_none() && self.state.is_none()
    }
}

/// A person's or session's last request, as it is flushed.
pub type SeenAt<'a> = (&'a str, Timestamp);

/// What [`person`] reads. The roles come along in one column: a statement of their own would be a second trip
/// to the database for nearly every request.
pub(super) const COLUMNS: &str = "u.id, u.workspace_id, u.email, u.name, u.must_change_password, u.disabled, \
                                  u.time_zone, u.theme, u.created_at, u.seen_at, u.notices_read_at, (select \
                                  string_agg(a.role, ',') from role_assignments a where a.workspace_id = \
                                  u.workspace_id and a.principal_kind = 'user' and a.principal_id = u.id)";

/// How many columns those are; what a statement adds comes after them.
pub(super) const COLUMN_COUNT: usize = 12;

impl Store {
    /// One account by its sign-in name, with its hash.
    pub async fn account_by_email(&self, email: &str) -> Result<Option<Account>> {
        let sql = format!("select {COLUMNS}, u.password_hash, u.session_epoch from users u where u.email = $1");
        let row = self.reader.row(sqlx::query(&sql).bind(email)).await?;
        Ok(row.map(|row| Account {
            person: person(&row),
            password_hash: row.get(COLUMN_COUNT),
            session_epoch: row.get(COLUMN_COUNT + 1),
        }))
    }

    pub async fn person(&self, id: &UserId) -> Result<Option<Person>> {
        Ok(self.people_by_id(std::slice::from_ref(id)).await?.pop())
    }

    /// One person, and how often all of their sessions have been ended.
    pub async fn person_and_epoch(&self, id: &UserId) -> Result<Option<(Person, i64)>> {
        let sql = format!("select {COLUMNS}, u.session_epoch from users u where u.id = $1");
        let row = self.reader.row(sqlx::query(&sql).bind(id.as_str())).await?;
        Ok(row.map(|row| (person(&row), row.get(COLUMN_COUNT))))
    }

    /// Several people, in the order of the ids; unknown ids are left out.
    pub async fn people_by_id(&self, ids: &[UserId]) -> Result<Vec<Person>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut sql = Sql::new(format!("select {COLUMNS} from users u where u.id in "));
        sql.bind_list(ids.iter().map(UserId::as_str));
        let rows = sql.rows(&self.reader).await?;
        let mut people: Vec<Person> = rows.iter().map(person).collect();
        people.sort_by_key(|person| ids.iter().position(|id| *id == person.id));
        Ok(people)
    }

    /// People of a workspace that fit the filter, at most `limit`, in its order.
    pub async fn list_people(&self, workspace: &WorkspaceId, filter: &PeopleFilter) -> Result<Vec<Person>> {
        let column = filter.order.column();
        let (beyond, direction) = if filter.descending { ("<", "desc") } else { (">", "asc") };
        let mut sql = Sql::new(format!("select {COLUMNS} from users u where "));
        restrict(&mut sql, workspace, filter);
        if let Some((value, id)) = &filter.after {
            sql.push(&format!(" and (u.{column} {beyond} "));
            bind_sort_value(&mut sql, filter.order, value);
            sql.push(&format!(" or (u.{column} = "));
            bind_sort_value(&mut sql, filter.order, value);
            sql.push(&format!(" and u.id {beyond} ")).bind(id.as_str()).push("))");
        }
        sql.push(&format!(" order by u.{column} {direction}, u.id {direction} limit ")).bind(filter.limit);
        Ok(sql.rows(&self.reader).await?.iter().map(person).collect())
    }

    /// How many people fit the filter, wherever it starts.
    pub async fn count_people(&self, workspace: &WorkspaceId, filter: &PeopleFilter) -> Result<u64> {
        let mut sql = Sql::new("select cast(count(*) as bigint) from users u where ");
        restrict(&mut sql, workspace, filter);
        sql.count(&self.reader).await
    }

    /// How many people hold each role, disabled ones left out.
    pub async fn role_counts(&self, workspace: &WorkspaceId) -> Result<Vec<(Role, u64)>> {
        let query = sqlx::query(
            "select a.role, cast(count(*) as bigint) from role_assignments a join users u on u.id = a.principal_id \
             where a.workspace_id = $1 and a.principal_kind = 'user' and u.disabled = 0 group by a.role",
        )
        .bind(workspace.as_str());
        let rows = self.reader.rows(query).await?;
        let count = |role: Role| {
            let row = rows.iter().find(|row| row.get::<String, _>(0) == role.key());
            row.map_or(0, |row| u64::try_from(row.get::<i64, _>(1)).unwrap_or_default())
        };
        Ok(Role::ALL.into_iter().map(|role| (role, count(role))).collect())
    }

    /// The names of Owners who can sign in, at most `limit`: the people who can grant rights.
    pub async fn owner_names(&self, workspace: &WorkspaceId, limit: i64) -> Result<Vec<String>> {
        let query = sqlx::query(
            "select u.name from users u join role_assignments a on a.principal_id = u.id and a.principal_kind = 'user' \
             where a.workspace_id = $1 and a.role = 'owner' and u.disabled = 0 order by u.seen_at desc, u.id limit $2",
        )
        .bind(workspace.as_str())
        .bind(limit);
        Ok(self.reader.rows(query).await?.iter().map(|row| row.get(0)).collect())
    }

    /// How many Owners can sign in.
    pub async fn count_owners(&self, workspace: &WorkspaceId) -> Result<u64> {
        let row = self.reader.row(sqlx::query(OWNERS).bind(workspace.as_str())).await?;
        Ok(row.map_or(0, |row| u64::try_from(row.get::<i64, _>(0)).unwrap_or_default()))
    }

    /// Writes last requests that were kept in memory. No revision: nobody waits for it.
    pub async fn flush_seen(&self, people: &[SeenAt<'_>], sessions: &[SeenAt<'_>]) -> Result<()> {
        if people.is_empty() && sessions.is_empty() {
            return Ok(());
        }
        let _in_line = self.write_lock.lock().await;
        let mut tx = self.writer.begin().await?;
        for (sql, seen) in [
            ("update users set seen_at = $1 where id = $2 and seen_at < $1", people),
            ("update web_sessions set seen_at = $1 where id = $2 and seen_at < $1", sessions),
        ] {
            for (id, at) in seen {
                sqlx::query(sql).bind(at.0).bind(*id).execute(&mut *tx).await?;
            }
        }
        tx.commit().await?;
        Ok(())
    }
}

impl WriteTx<'_> {
    /// Makes an account; [`Error::Taken`] if the sign-in name exists.
    pub async fn insert_account(&mut self, new: &NewAccount) -> Result<UserId> {
        let id = UserId::new(new_id("user"));
        sqlx::query(
            "insert into users (id, workspace_id, email, name, name_key, password_hash, must_change_password, \
             disabled, \
             time_zone, theme, created_at, session_epoch, seen_at, notices_read_at) \
             values ($1, $2, $3, $4, $5, $6, $7, 0, $8, $9, $10, 0, 0, $10)",
        )
        .bind(id.as_str())
        .bind(new.workspace.as_str())
        .bind(new.email.as_str())
        .bind(new.name.as_str())
        .bind(new.name.to_lowercase())
        .bind(new.password_hash.as_str())
        .bind(i64::from(new.must_change_password))
        .bind(new.time_zone.as_str())
        .bind(new.theme.key())
        .bind(self.now().0)
        .execute(&mut *self.tx)
        .await
        .map_err(|error| match &error {
            sqlx::Error::Database(database) if database.is_unique_violation() => {
                Error::Taken("an account with this e-mail address")
            }
            _ => Error::Database(error),
        })?;
        self.insert_roles(&new.workspace, &id, &new.roles).await?;
        Ok(id)
    }

    /// Reads a person inside the transaction, roles included.
    pub async fn person(&mut self, id: &UserId) -> Result<Option<Person>> {
        let sql = format!("select {COLUMNS} from users u where u.id = $1");
        let row = sqlx::query(&sql).bind(id.as_str()).fetch_optional(&mut *self.tx).await?;
        Ok(row.as_ref().map(person))
    }

    /// Carries a verb out if the rules allow it, ends sessions where it must, and records it. The answer
    /// names whose streams to cut after the commit.
    pub async fn change_account(
        &mut self,
        verb: AccountVerb,
        person: &Person,
        temporary_hash: Option<&str>,
        author: &Author,
    ) -> Result<std::result::Result<Cut, Refusal>> {
        let actor = actor_id(author);
        let owners = self.count_owners(&person.workspace).await?;
        if let Err(refusal) = account::judge(verb, person.standing(actor), owners) {
            return Ok(Err(refusal));
        }
        let event = match verb {
            AccountVerb::Disable => {
                sqlx::query("update users set disabled = 1 where id = $1")
                    .bind(person.id.as_str())
                    .execute(&mut *self.tx)
                    .await?;
                Event::PersonDisabled { sessions_ended: self.end_sessions(&person.id, None).await? }
            }
            AccountVerb::Enable => {
                sqlx::query("update users set disabled = 0 where id = $1")
                    .bind(person.id.as_str())
                    .execute(&mut *self.tx)
                    .await?;
                Event::PersonEnabled
            }
            AccountVerb::ResetPassword => {
                self.set_temporary_password(&person.id, temporary_hash.unwrap_or_default()).await?;
                self.forget_failures(&person.email).await?;
                Event::PasswordReset { sessions_ended: self.end_sessions(&person.id, None).await? }
            }
        };
        self.record(&person.workspace, author, Some(&person.subject()), &event).await?;
        Ok(Ok(Cut::Person(person.id.clone())))
    }

    /// Replaces the roles if the rules allow it, and records it.
    pub async fn set_roles(
        &mut self,
        person: &Person,
        roles: &[Role],
        author: &Author,
    ) -> Result<std::result::Result<(), Refusal>> {
        let owners = self.count_owners(&person.workspace).await?;
        if let Err(refusal) =
            account::judge_roles(person.standing(actor_id(author)), roles.contains(&Role::Owner), owners)
        {
            return Ok(Err(refusal));
        }
        sqlx::query(
            "delete from role_assignments where workspace_id = $1 and principal_kind = 'user' and principal_id = $2",
        )
        .bind(person.workspace.as_str())
        .bind(person.id.as_str())
        .execute(&mut *self.tx)
        .await?;
        self.insert_roles(&person.workspace, &person.id, roles).await?;
        let event = Event::RolesChanged { from: person.roles.clone(), to: roles.to_vec() };
        self.record(&person.workspace, author, Some(&person.subject()), &event).await?;
        Ok(Ok(()))
    }

    /// Sets a temporary password, which must be changed at the next sign-in.
    async fn set_temporary_password(&mut self, id: &UserId, hash: &str) -> Result<()> {
        sqlx::query("update users set password_hash = $1, must_change_password = 1 where id = $2")
            .bind(hash)
            .bind(id.as_str())
            .execute(&mut *self.tx)
            .await?;
        Ok(())
    }

    /// Replaces the password, if it is still the one that was checked: `false` if somebody has reset it
    /// since.
    pub async fn replace_password(&mut self, id: &UserId, checked: &str, hash: &str) -> Result<bool> {
        let replaced = sqlx::query(
            "update users set password_hash = $1, must_change_password = 0 where id = $2 and password_hash = $3",
        )
        .bind(hash)
        .bind(id.as_str())
        .bind(checked)
        .execute(&mut *self.tx)
        .await?;
        Ok(replaced.rows_affected() == 1)
    }

    /// Sets the theme alone.
    pub async fn set_theme(&mut self, id: &UserId, theme: Theme) -> Result<()> {
        sqlx::query("update users set theme = $1 where id = $2")
            .bind(theme.key())
            .bind(id.as_str())
            .execute(&mut *self.tx)
            .await?;
        Ok(())
    }

    /// Sets the time zone alone.
    pub async fn set_time_zone(&mut self, id: &UserId, time_zone: &str) -> Result<()> {
        sqlx::query("update users set time_zone = $1 where id = $2")
            .bind(time_zone)
            .bind(id.as_str())
            .execute(&mut *self.tx)
            .await?;
        Ok(())
    }

    /// Sets name, time zone and theme.
    pub async fn set_profile(&mut self, id: &UserId, name: &str, time_zone: &str, theme: Theme) -> Result<()> {
        sqlx::query("update users set name = $1, name_key = $2, time_zone = $3, theme = $4 where id = $5")
            .bind(name)
            .bind(name.to_lowercase())
            .bind(time_zone)
            .bind(theme.key())
            .bind(id.as_str())
            .execute(&mut *self.tx)
            .await?;
        Ok(())
    }

    /// Marks everything in the bell's menu as read.
    pub async fn read_notices(&mut self, id: &UserId) -> Result<()> {
        sqlx::query("update users set notices_read_at = $1 where id = $2")
            .bind(self.now().0)
            .bind(id.as_str())
            .execute(&mut *self.tx)
            .await?;
        Ok(())
    }

    async fn count_owners(&mut self, workspace: &WorkspaceId) -> Result<u64> {
        let count: i64 = sqlx::query_scalar(OWNERS).bind(workspace.as_str()).fetch_one(&mut *self.tx).await?;
        Ok(u64::try_from(count).unwrap_or_default())
    }

    async fn insert_roles(&mut self, workspace: &WorkspaceId, id: &UserId, roles: &[Role]) -> Result<()> {
        for role in roles {
            sqlx::query(
                "insert into role_assignments (workspace_id, principal_kind, principal_id, role, granted_at) \
                 values ($1, 'user', $2, $3, $4)",
            )
            .bind(workspace.as_str())
            .bind(id.as_str())
            .bind(role.key())
            .bind(self.now().0)
            .execute(&mut *self.tx)
            .await?;
        }
        Ok(())
    }
}

const OWNERS: &str = "select cast(count(*) as bigint) from users u join role_assignments a on a.principal_id = u.id \
                      where a.workspace_id = $1 and a.principal_kind = 'user' and a.role = 'owner' and u.disabled = 0";

fn actor_id(author: &Author) -> Option<&UserId> {
    match &author.actor {
        atelier_domain::history::Actor::Person { id, .. } => Some(id),
        _ => None,
    }
}

fn restrict(sql: &mut Sql, workspace: &WorkspaceId, filter: &PeopleFilter) {
    sql.push("u.workspace_id = ").bind(workspace.as_str());
    match filter.state {
        None => {}
        Some(AccountState::Disabled) => _ = sql.push(" and u.disabled = 1"),
        Some(AccountState::Active) => _ = sql.push(" and u.disabled = 0 and u.must_change_password = 0"),
        Some(AccountState::Waiting) => _ = sql.push(" and u.disabled = 0 and u.must_change_password = 1"),
    }
    if let Some(role) = filter.role {
        sql.push(
            " and exists (select 1 from role_assignments a where a.workspace_id = u.workspace_id \
             and a.principal_kind = 'user' and a.principal_id = u.id and a.role = ",
        )
        .bind(role.key())
        .push(")");
    }
    let part = filter.part.trim();
    if !part.is_empty() {
        let pattern = like_pattern(part);
        sql.push(" and (u.name_key like ").bind(pattern.clone()).push(" escape '\\'");
        sql.push(" or u.email like ").bind(pattern).push(" escape '\\')");
    }
}

fn bind_sort_value(sql: &mut Sql, order: PeopleOrder, value: &str) {
    match order {
        PeopleOrder::Name => sql.bind(value.to_owned()),
        // A cursor that is no number was not made by us; it then points before everything.
        PeopleOrder::Seen | PeopleOrder::Created => sql.bind(value.parse::<i64>().unwrap_or_default()),
    };
}

/// Reads [`COLUMNS`].
pub(super) fn person(row: &AnyRow) -> Person {
    let roles: Option<String> = row.get(11);
    // A role of a later version grants nothing here.
    let mut roles: Vec<Role> = roles.unwrap_or_default().split(',').filter_map(Role::from_key).collect();
    roles.sort_unstable();
    let (must_change, disabled): (i64, i64) = (row.get(4), row.get(5));
    let seen_at: i64 = row.get(9);
    Person {
        id: UserId::new(row.get::<String, _>(0)),
        workspace: WorkspaceId::new(row.get::<String, _>(1)),
        email: row.get(2),
        name: row.get(3),
        state: match (disabled, must_change) {
            (0, 0) => AccountState::Active,
            (0, _) => AccountState::Waiting,
            _ => AccountState::Disabled,
        },
        time_zone: row.get(6),
        theme: Theme::from_key(&row.get::<String, _>(7)),
        created_at: Timestamp(row.get(8)),
        seen_at: (seen_at > 0).then_some(Timestamp(seen_at)),
        notices_read_at: Timestamp(row.get(10)),
        roles,
    }
}
