//! Accounts and their roles.

use std::collections::HashMap;

use atelier_domain::access::{Rights, Role};
use atelier_domain::account::{self, AccountState, AccountVerb, Refusal, Standing, Theme};
use atelier_domain::history::{Event, Subject};
use atelier_domain::{Timestamp, UserId, WorkspaceId};
use sqlx::any::AnyRow;

use super::installation::new_id;
use super::sql::{Columns as _, Order, Page, Record, Sql, Value, record};
use super::{Author, Error, Result, Store, WriteTx};
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
            Self::Name => "u.name_key",
            Self::Seen => "u.seen_at",
            Self::Created => "u.created_at",
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

/// Who can sign in as an Owner, and so grant rights.
const OWNERS: &str = "users u join role_assignments a on a.principal_id = u.id and a.principal_kind = 'user' and \
                      a.role = 'owner' and u.disabled = 0";

impl Store {
    /// One account by its sign-in name, with its hash.
    pub async fn account_by_email(&self, email: &str) -> Result<Option<Account>> {
        let found = Sql::of::<(Person, Secret)>("users u").eq("u.email", email).first(&self.reader).await?;
        Ok(found.map(|(person, Secret { password_hash, session_epoch })| Account {
            person,
            password_hash,
            session_epoch,
        }))
    }

    pub async fn person(&self, id: &UserId) -> Result<Option<Person>> {
        Sql::of::<Person>("users u").eq("u.id", id).first(&self.reader).await
    }

    /// One person, and how often all of their sessions have been ended.
    pub async fn person_and_epoch(&self, id: &UserId) -> Result<Option<(Person, i64)>> {
        let found = Sql::of::<(Person, Secret)>("users u").eq("u.id", id).first(&self.reader).await?;
        Ok(found.map(|(person, Secret { session_epoch, .. })| (person, session_epoch)))
    }

    /// Several people, in the order of the ids; unknown ids are left out.
    pub async fn people_by_id(&self, ids: &[UserId]) -> Result<Vec<Person>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut people: Vec<Person> = Sql::of::<Person>("users u").within("u.id", ids).all(&self.reader).await?;
        people.sort_by_key(|person| ids.iter().position(|id| *id == person.id));
        Ok(people)
    }

    /// People of a workspace that fit the filter, at most `limit`, in its order.
    pub async fn list_people(&self, workspace: &WorkspaceId, filter: &PeopleFilter) -> Result<Vec<Person>> {
        let past = filter.after.as_ref().map(|(value, id)| {
            let value: Value = match filter.order {
                PeopleOrder::Name => value.as_str().into(),
                // A cursor that is no number was not made by us; it then points before everything.
                PeopleOrder::Seen | PeopleOrder::Created => value.parse::<i64>().unwrap_or_default().into(),
            };
            [value, id.as_str().into()]
        });
        let (order, before, after) =
            if filter.descending { (Order::Descending, past, None) } else { (Order::Ascending, None, past) };
        let by = [filter.order.column(), "u.id"];
        restrict(Sql::of::<Person>("users u"), workspace, filter)
            .page(Page { by, order, before, after, limit: filter.limit })
            .all(&self.reader)
            .await
    }

    /// How many people fit the filter, wherever it starts.
    pub async fn count_people(&self, workspace: &WorkspaceId, filter: &PeopleFilter) -> Result<u64> {
        restrict(Sql::count_of("users u"), workspace, filter).count(&self.reader).await
    }

    /// How many people hold each role, disabled ones left out.
    pub async fn role_counts(&self, workspace: &WorkspaceId) -> Result<Vec<(Role, u64)>> {
        let from = "role_assignments a join users u on u.id = a.principal_id";
        let sql = Sql::select("a.role as role, count(*) as people", from)
            .eq("a.workspace_id", workspace)
            .and("a.principal_kind = 'user' and u.disabled = 0")
            .push(" group by a.role");
        let mut counts = HashMap::new();
        for row in sql.rows(&self.reader).await? {
            counts.insert(row.read::<String>("role")?, row.read("people")?);
        }
        Ok(Role::ALL.into_iter().map(|role| (role, counts.remove(role.key()).unwrap_or_default())).collect())
    }

    /// The names of Owners who can sign in, at most `limit`: the people who can grant rights.
    pub async fn owner_names(&self, workspace: &WorkspaceId, limit: i64) -> Result<Vec<String>> {
        let sql = Sql::select("u.name", OWNERS).eq("a.workspace_id", workspace);
        sql.push(" order by u.seen_at desc, u.id").limit(limit).values(&self.reader).await
    }

    /// How many Owners can sign in.
    pub async fn count_owners(&self, workspace: &WorkspaceId) -> Result<u64> {
        Sql::count_of(OWNERS).eq("a.workspace_id", workspace).count(&self.reader).await
    }

    /// Writes last requests that were kept in memory. No revision: nobody waits for it.
    pub async fn flush_seen(&self, people: &[SeenAt<'_>], sessions: &[SeenAt<'_>]) -> Result<()> {
        let mut statements = later("users", "seen_at", people);
        statements.extend(later("web_sessions", "seen_at", sessions));
        self.write_all(statements).await
    }
}

/// Moves times forward that were kept in memory, by the ids of their rows.
pub(super) fn later(table: &str, column: &str, times: &[SeenAt<'_>]) -> Vec<Sql> {
    let is_earlier = format!("{column} < ?");
    let write = |(id, at): &SeenAt<'_>| Sql::update(table).set(column, *at).eq("id", *id).and(&is_earlier).bind(*at);
    times.iter().map(write).collect()
}

impl WriteTx<'_> {
    /// Makes an account; [`Error::Taken`] if the sign-in name exists.
    pub async fn insert_account(&mut self, new: &NewAccount) -> Result<UserId> {
        let id = UserId::new(new_id("user"));
        let sql = Sql::insert("users")
            .set("id", &id)
            .set("workspace_id", &new.workspace)
            .set("email", new.email.as_str())
            .set("name", new.name.as_str())
            .set("name_key", new.name.to_lowercase())
            .set("password_hash", new.password_hash.as_str())
            .set("must_change_password", new.must_change_password)
            .set("disabled", false)
            .set("time_zone", new.time_zone.as_str())
            .set("theme", new.theme.key())
            .set("created_at", self.now())
            .set("session_epoch", 0)
            .set("seen_at", 0)
            .set("notices_read_at", self.now());
        sql.run(&mut self.tx).await.map_err(|error| match error {
            Error::Database(sqlx::Error::Database(database)) if database.is_unique_violation() => {
                Error::Taken("an account with this e-mail address")
            }
            error => error,
        })?;
        self.insert_roles(&new.workspace, &id, &new.roles).await?;
        Ok(id)
    }

    /// Reads a person inside the transaction, roles included.
    pub async fn person(&mut self, id: &UserId) -> Result<Option<Person>> {
        Sql::of::<Person>("users u").eq("u.id", id).first(&mut self.tx).await
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
                self.update_user(&person.id, |user| user.set("disabled", true)).await?;
                Event::PersonDisabled { sessions_ended: self.end_sessions(&person.id, None).await? }
            }
            AccountVerb::Enable => {
                self.update_user(&person.id, |user| user.set("disabled", false)).await?;
                Event::PersonEnabled
            }
            AccountVerb::ResetPassword => {
                let hash = temporary_hash.unwrap_or_default();
                self.update_user(&person.id, |user| user.set("password_hash", hash).set("must_change_password", true))
                    .await?;
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
        let sql = Sql::delete("role_assignments").eq("workspace_id", &person.workspace);
        sql.and("principal_kind = 'user'").eq("principal_id", &person.id).run(&mut self.tx).await?;
        self.insert_roles(&person.workspace, &person.id, roles).await?;
        let event = Event::RolesChanged { from: person.roles.clone(), to: roles.to_vec() };
        self.record(&person.workspace, author, Some(&person.subject()), &event).await?;
        Ok(Ok(()))
    }

    /// Replaces the password, if it is still the one that was checked: `false` if somebody has reset it
    /// since.
    pub async fn replace_password(&mut self, id: &UserId, checked: &str, hash: &str) -> Result<bool> {
        let sql = Sql::update("users").set("password_hash", hash).set("must_change_password", false);
        Ok(sql.eq("id", id).eq("password_hash", checked).run(&mut self.tx).await? == 1)
    }

    /// Sets the theme alone.
    pub async fn set_theme(&mut self, id: &UserId, theme: Theme) -> Result<()> {
        self.update_user(id, |user| user.set("theme", theme.key())).await
    }

    /// Sets the time zone alone.
    pub async fn set_time_zone(&mut self, id: &UserId, time_zone: &str) -> Result<()> {
        self.update_user(id, |user| user.set("time_zone", time_zone)).await
    }

    /// Sets name, time zone and theme.
    pub async fn set_profile(&mut self, id: &UserId, name: &str, time_zone: &str, theme: Theme) -> Result<()> {
        let sets = |user: Sql| user.set("name", name).set("name_key", name.to_lowercase());
        self.update_user(id, |user| sets(user).set("time_zone", time_zone).set("theme", theme.key())).await
    }

    /// Marks everything in the bell's menu as read.
    pub async fn read_notices(&mut self, id: &UserId) -> Result<()> {
        let now = self.now();
        self.update_user(id, |user| user.set("notices_read_at", now)).await
    }

    async fn update_user(&mut self, id: &UserId, sets: impl FnOnce(Sql) -> Sql) -> Result<()> {
        sets(Sql::update("users")).eq("id", id).run(&mut self.tx).await?;
        Ok(())
    }

    async fn count_owners(&mut self, workspace: &WorkspaceId) -> Result<u64> {
        Sql::count_of(OWNERS).eq("a.workspace_id", workspace).count(&mut self.tx).await
    }

    async fn insert_roles(&mut self, workspace: &WorkspaceId, id: &UserId, roles: &[Role]) -> Result<()> {
        for role in roles {
            Sql::insert("role_assignments")
                .set("workspace_id", workspace)
                .set("principal_kind", "user")
                .set("principal_id", id)
                .set("role", role.key())
                .set("granted_at", self.now())
                .run(&mut self.tx)
                .await?;
        }
        Ok(())
    }
}

fn actor_id(author: &Author) -> Option<&UserId> {
    match &author.actor {
        atelier_domain::history::Actor::Person { id, .. } => Some(id),
        _ => None,
    }
}

fn restrict(sql: Sql, workspace: &WorkspaceId, filter: &PeopleFilter) -> Sql {
    let sql = sql.eq("u.workspace_id", workspace);
    let sql = match filter.state {
        None => sql,
        Some(AccountState::Disabled) => sql.and("u.disabled = 1"),
        Some(AccountState::Active) => sql.and("u.disabled = 0 and u.must_change_password = 0"),
        Some(AccountState::Waiting) => sql.and("u.disabled = 0 and u.must_change_password = 1"),
    };
    let has_role = "exists (select 1 from role_assignments a where a.workspace_id = u.workspace_id and \
                    a.principal_kind = 'user' and a.principal_id = u.id and a.role = ?)";
    sql.and_if(has_role, filter.role.map(Role::key)).like(&["u.name_key", "u.email"], &filter.part)
}

impl Record for Person {
    /// The roles come along in one column: a statement of their own would be a second trip to the database
    /// for nearly every request.
    const COLUMNS: &'static [&'static str] = &[
        "u.id",
        "u.workspace_id",
        "u.email",
        "u.name",
        "u.must_change_password",
        "u.disabled",
        "u.time_zone",
        "u.theme",
        "u.created_at",
        "u.seen_at",
        "u.notices_read_at",
        "(select string_agg(a.role, ',') from role_assignments a where a.workspace_id = u.workspace_id and \
         a.principal_kind = 'user' and a.principal_id = u.id) as roles",
    ];

    fn read(row: &AnyRow) -> Result<Self> {
        let roles: Option<String> = row.read("roles")?;
        // A role of a later version grants nothing here.
        let mut roles: Vec<Role> = roles.unwrap_or_default().split(',').filter_map(Role::from_key).collect();
        roles.sort_unstable();
        Ok(Self {
            id: row.read("u.id")?,
            workspace: row.read("u.workspace_id")?,
            email: row.read("u.email")?,
            name: row.read("u.name")?,
            state: match (row.read("u.disabled")?, row.read("u.must_change_password")?) {
                (false, false) => AccountState::Active,
                (false, true) => AccountState::Waiting,
                (true, _) => AccountState::Disabled,
            },
            time_zone: row.read("u.time_zone")?,
            theme: Theme::from_key(&row.read::<String>("u.theme")?).unwrap_or_default(),
            created_at: row.read("u.created_at")?,
            seen_at: row.read("u.seen_at")?,
            notices_read_at: row.read("u.notices_read_at")?,
            roles,
        })
    }
}

/// What an account has beside the person.
struct Secret {
    password_hash: String,
    session_epoch: i64,
}

record!(Secret { password_hash: "u.password_hash", session_epoch: "u.session_epoch" });
