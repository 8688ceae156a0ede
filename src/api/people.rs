//! People: the list, one person, and everything an administrator does to accounts.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

use leptos::prelude::*;

use crate::api::Done;
use crate::error::AppError;

#[cfg(feature = "ssr")]
pub use reads::*;

/// Adds a person with a temporary password, which is shown once. Needs `member.write`.
#[server(prefix = "/fn", endpoint = "create_person")]
pub async fn create_person(
    name: String,
    email: String,
    #[server(default)] roles: Vec<String>,
    #[server(default)] why: String,
) -> Result<Done, AppError> {
    changes::create_person(&name, &email, &roles, &why).await
}

/// Replaces somebody's roles. Needs `member.write`.
#[server(prefix = "/fn", endpoint = "set_roles")]
pub async fn set_roles(
    user: String,
    #[server(default)] roles: Vec<String>,
    #[server(default)] why: String,
) -> Result<Done, AppError> {
    changes::set_roles(&user, &roles, &why).await
}

/// Disables or enables accounts or resets a password: `verb` as in [`atelier_domain::account::AccountVerb`]. Each account is
/// judged by itself; those that the rules protect stay as they are. Needs `member.write`.
#[server(prefix = "/fn", endpoint = "change_accounts")]
pub async fn change_accounts(
    verb: String,
    #[server(default)] ids: Vec<String>,
    #[server(default)] why: String,
) -> Result<Done, AppError> {
    changes::change_accounts(&verb, &ids, &why).await
}

#[cfg(feature = "ssr")]
mod reads {
    use atelier_domain::access::{Action, Grant, Role};
    use atelier_domain::account::{self, AccountState, AccountVerb, Refusal};
    use atelier_domain::text::{is_id, search_text};
    use atelier_domain::{Timestamp, UserId};
    use atelier_engine::clock;
    use atelier_engine::store::{HistoryFilter, PeopleFilter, PeopleOrder, Person};

    use crate::api::caller::Caller;
    use crate::api::history::HistoryRow;
    use crate::error::AppError;
    use crate::server::actor::Actor;
    use crate::server::session_store;
    use crate::server::state::AppState;

    /// What the list is sorted by.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum PeopleSort {
        /// By name.
        #[default]
        Name,
        /// By the last request.
        Seen,
        /// By the day the account was made.
        Created,
    }

    impl PeopleSort {
        /// Every order.
        pub const ALL: [Self; 3] = [Self::Name, Self::Seen, Self::Created];

        /// The name in the URL.
        pub const fn key(self) -> &'static str {
            match self {
                Self::Name => "name",
                Self::Seen => "seen",
                Self::Created => "created",
            }
        }
    }

    /// What the list shows, as the URL holds it: `?q=&role=&state=&sort=&dir=&after=&before=`.
    #[derive(Clone, Debug, Default)]
    pub struct PeopleQuery {
        /// Part of a name or address.
        pub q: String,
        /// Only people with this role.
        pub role: Option<Role>,
        /// Only accounts in this state.
        pub state: Option<AccountState>,
        /// The order.
        pub sort: PeopleSort,
        /// From last to first.
        pub descending: bool,
        /// The cursor of the last row of the page before.
        pub after: String,
        /// The cursor of the first row of the page after.
        pub before: String,
    }

    /// One page of the list.
    #[derive(Clone, Debug)]
    pub struct PeoplePage {
        /// At most 50 people.
        pub rows: Vec<PersonRow>,
        /// How many people fit the filter.
        pub matching: u64,
        /// The cursor for `after` of the next page.
        pub next: Option<String>,
        /// The cursor for `before` of the page before.
        pub previous: Option<String>,
    }

    /// The people in numbers.
    #[derive(Clone, Copy, Debug)]
    pub struct HeadCount {
        /// How many people there are.
        pub everyone: u64,
        /// How many of them asked this server for something in the last minutes.
        pub online: u64,
    }

    /// A person in a list.
    #[derive(Clone, Debug)]
    pub struct PersonRow {
        /// The account.
        pub id: UserId,
        /// The name.
        pub name: String,
        /// The sign-in name.
        pub email: String,
        /// The roles here, from least to most.
        pub roles: Vec<Role>,
        /// Where the account stands.
        pub state: AccountState,
        /// Whether a request came in the last minutes.
        pub is_online: bool,
        /// The last request, if there was one.
        pub seen_at: Option<Timestamp>,
        /// When the account was made.
        pub created_at: Timestamp,
        /// Whether it is the viewer's own.
        pub is_self: bool,
    }

    /// Everything the page of one person shows.
    #[derive(Clone, Debug)]
    pub struct PersonDetail {
        /// The person.
        pub row: PersonRow,
        /// The time zone.
        pub time_zone: String,
        /// Sessions that are alive.
        pub sessions: u64,
        /// What each verb would answer; rights are checked apart.
        pub verbs: Vec<(AccountVerb, Result<(), Refusal>)>,
        /// What they did and what was done to them, newest first.
        pub history: Vec<HistoryRow>,
    }

    /// Rows of one page.
    const PAGE: i64 = 50;

    /// One page of people. Needs `member.read`.
    pub async fn list_people(query: &PeopleQuery) -> Result<PeoplePage, AppError> {
        let caller = Caller::here()?;
        let actor = caller.authorise(Action::MemberRead).await?;
        let order = match query.sort {
            PeopleSort::Name => PeopleOrder::Name,
            PeopleSort::Seen => PeopleOrder::Seen,
            PeopleSort::Created => PeopleOrder::Created,
        };
        // The page before is the page after in the opposite order, turned around.
        let backwards = !query.before.is_empty();
        let cursor = if backwards { &query.before } else { &query.after };
        let filter = PeopleFilter {
            part: search_text(&query.q),
            role: query.role,
            state: query.state,
            order,
            descending: query.descending != backwards,
            after: parse_cursor(cursor),
            limit: PAGE + 1,
        };
        let store = caller.store();
        let workspace = &actor.workspace.id;
        if query.sort == PeopleSort::Seen {
            // Last requests rest in memory for up to a minute; the order must fit what the rows say.
            caller.state.presence().flush(store, clock::now()).await;
        }
        let mut people = caller.checked(store.list_people(workspace, &filter).await)?;
        let matching = caller.checked(store.count_people(workspace, &filter).await)?;
        let has_more = people.len() > usize::try_from(PAGE).unwrap_or(usize::MAX);
        people.truncate(usize::try_from(PAGE).unwrap_or(usize::MAX));
        if backwards {
            people.reverse();
        }
        let came_from = !cursor.is_empty();
        let (is_before, is_after) = if backwards { (has_more, came_from) } else { (came_from, has_more) };
        let next = people.last().filter(|_| is_after).map(|person| make_cursor(person, order));
        let previous = people.first().filter(|_| is_before).map(|person| make_cursor(person, order));
        let rows = people.into_iter().map(|person| person_row(&caller.state, actor, person)).collect();
        Ok(PeoplePage { rows, matching, next, previous })
    }

    /// How many people there are, and how many of them are online. Needs `member.read`.
    pub async fn head_count() -> Result<HeadCount, AppError> {
        let caller = Caller::here()?;
        let actor = caller.authorise(Action::MemberRead).await?;
        let everyone =
            caller.checked(caller.store().count_people(&actor.workspace.id, &PeopleFilter::default()).await)?;
        Ok(HeadCount { everyone, online: caller.state.presence().online(clock::now()) })
    }

    /// One person. Needs `member.read`.
    pub async fn person(id: &str) -> Result<PersonDetail, AppError> {
        let caller = Caller::here()?;
        let actor = caller.authorise(Action::MemberRead).await?;
        let store = caller.store();
        let person = find(&caller, actor, id).await?;
        let owners = caller.checked(store.count_owners(&actor.workspace.id).await)?;
        let standing = person.standing(Some(&actor.person.id));
        let verbs = AccountVerb::ALL.into_iter().map(|verb| (verb, account::judge(verb, standing, owners))).collect();
        let sessions = caller.checked(store.web_sessions_of(&person.id).await)?;
        let limits = caller.state.config().sessions;
        let alive = sessions
            .iter()
            .filter(|session| session_store::is_alive(session, caller.state.presence(), limits, clock::now()))
            .count();
        // Somebody who may see only the own history sees here what concerns themselves.
        let may_see = actor.person.rights().grant(Action::HistoryRead) == Grant::Any || person.id == actor.person.id;
        let filter = HistoryFilter { about: Some(person.id.clone()), limit: 20, ..HistoryFilter::default() };
        let history =
            if may_see { caller.checked(store.history(&actor.workspace.id, &filter).await)? } else { Vec::new() };
        Ok(PersonDetail {
            time_zone: person.time_zone.clone(),
            row: person_row(&caller.state, actor, person),
            sessions: alive as u64,
            verbs,
            history: history.into_iter().map(crate::api::history::row).collect(),
        })
    }

    /// How many people hold each role. Needs `member.read`.
    pub async fn role_counts() -> Result<Vec<(Role, u64)>, AppError> {
        let caller = Caller::here()?;
        let actor = caller.authorise(Action::MemberRead).await?;
        caller.checked(caller.store().role_counts(&actor.workspace.id).await)
    }

    /// What a verb would do to each of these people, for the page that asks first. Needs `member.write`.
    pub async fn judge_people(
        verb: AccountVerb,
        ids: &[String],
    ) -> Result<Vec<(PersonRow, Result<(), Refusal>)>, AppError> {
        let caller = Caller::here()?;
        let actor = caller.authorise(Action::MemberWrite).await?;
        let store = caller.store();
        let ids: Vec<UserId> = ids.iter().filter(|id| is_id(id)).take(MOST_AT_ONCE).map(UserId::new).collect();
        let people = caller.checked(store.people_by_id(&ids).await)?;
        let mut owners = caller.checked(store.count_owners(&actor.workspace.id).await)?;
        let mut judged = Vec::new();
        for person in people.into_iter().filter(|person| person.workspace == actor.workspace.id) {
            let standing = person.standing(Some(&actor.person.id));
            let answer = account::judge(verb, standing, owners);
            if answer.is_ok() && verb == AccountVerb::Disable && standing.is_owner {
                // Judged one after another, as they will be carried out: the last Owner of the selection stays too.
                owners -= 1;
            }
            judged.push((person_row(&caller.state, actor, person), answer));
        }
        Ok(judged)
    }

    /// One page of a list is the most that is changed at once.
    pub(super) const MOST_AT_ONCE: usize = 100;

    /// A person of the actor's workspace.
    pub(super) async fn find(caller: &Caller, actor: &Actor, id: &str) -> Result<Person, AppError> {
        if !is_id(id) {
            return Err(AppError::not_found("person"));
        }
        let found = caller.checked(caller.store().person(&UserId::new(id)).await)?;
        found.filter(|person| person.workspace == actor.workspace.id).ok_or_else(|| AppError::not_found("person"))
    }

    fn person_row(state: &AppState, actor: &Actor, person: Person) -> PersonRow {
        let seen_at = person.seen_at.max(state.presence().person(&person.id));
        PersonRow {
            is_online: account::is_online(seen_at, clock::now()) && person.state != AccountState::Disabled,
            is_self: person.id == actor.person.id,
            seen_at,
            id: person.id,
            name: person.name,
            email: person.email,
            roles: person.roles,
            state: person.state,
            created_at: person.created_at,
        }
    }

    /// A cursor is the row's place in the order: the value it is sorted by, and its id.
    fn make_cursor(person: &Person, order: PeopleOrder) -> String {
        let value = match order {
            PeopleOrder::Name => person.name.to_lowercase(),
            PeopleOrder::Seen => person.seen_at.map_or(0, |at| at.0).to_string(),
            PeopleOrder::Created => person.created_at.0.to_string(),
        };
        format!("{}~{value}", person.id)
    }

    fn parse_cursor(text: &str) -> Option<(String, String)> {
        text.split_once('~').map(|(id, value)| (value.to_owned(), id.to_owned()))
    }
}

#[cfg(feature = "ssr")]
mod changes {
    use atelier_domain::access::{Action, Role, Whose, parse_roles};
    use atelier_domain::account::{AccountVerb, Theme};
    use atelier_domain::history::{Event, Subject};
    use atelier_domain::name::{EmailAddress, PersonName};
    use atelier_domain::text::{Problem, and_list, counted, parse_why};
    use atelier_engine::clock;
    use atelier_engine::live::Cut;
    use atelier_engine::store::{Error as StoreError, NewAccount};

    use super::reads::{MOST_AT_ONCE, find};
    use crate::api::Done;
    use crate::api::caller::Caller;
    use crate::error::AppError;
    use crate::paths;
    use crate::server::passwords::temporary;

    pub async fn create_person(name: &str, email: &str, roles: &[String], why: &str) -> Result<Done, AppError> {
        let caller = Caller::here()?;
        let actor = caller.authorise(Action::MemberWrite).await?;
        let (name, email, roles, why) =
            all_or_problems(PersonName::parse(name), EmailAddress::parse(email), parse_roles(roles), parse_why(why))?;
        let password = temporary();
        let password_hash = caller.checked(caller.state.passwords().hash(password.clone().into()).await)?;
        let new = NewAccount {
            workspace: actor.workspace.id.clone(),
            email: email.as_str().to_owned(),
            name: name.as_str().to_owned(),
            password_hash,
            must_change_password: true,
            time_zone: actor.person.time_zone.clone(),
            theme: Theme::System,
            roles: roles.clone(),
        };
        let author = caller.author(why)?;
        let mut tx = caller.begin(Action::MemberWrite, Whose::Others).await?;
        let id = match tx.insert_account(&new).await {
            Err(StoreError::Taken(_)) => {
                return Err(
                    Problem::new("email", format!("{email} has an account already. Find it under People.")).into()
                );
            }
            other => caller.checked(other)?,
        };
        let subject = Subject { id: id.clone(), name: new.name.clone() };
        caller
            .checked(tx.record(&actor.workspace.id, &author, Some(&subject), &Event::PersonCreated { roles }).await)?;
        caller.checked(tx.commit().await)?;
        Ok(Done {
            secret_label: format!("Temporary password of {}", new.name),
            secret: password,
            ..Done::go(paths::person(&actor.workspace.slug, id.as_str()), format!("{} was added.", new.name))
        })
    }

    pub async fn set_roles(user: &str, roles: &[String], why: &str) -> Result<Done, AppError> {
        let caller = Caller::here()?;
        let actor = caller.authorise(Action::MemberWrite).await?;
        let roles = parse_roles(roles)?;
        let author = caller.author(parse_why(why)?)?;
        let known = find(&caller, actor, user).await?;
        let mut tx = caller.begin(Action::MemberWrite, Whose::Others).await?;
        // Read again inside the transaction: somebody else may have changed the account since.
        let person = caller.checked(tx.person(&known.id).await)?.ok_or_else(|| AppError::not_found("person"))?;
        if person.roles == roles {
            return Ok(Done::stay(format!("{} holds exactly these roles already; nothing was changed.", person.name)));
        }
        caller.checked(tx.set_roles(&person, &roles, &author).await)??;
        caller.checked(tx.commit().await)?;
        caller.state.live().cut(Cut::Rights(person.id.clone()));
        let labels: Vec<&str> = roles.iter().map(|role: &Role| role.label()).collect();
        Ok(Done::stay(format!("{} is now {}.", person.name, and_list(&labels))))
    }

    pub async fn change_accounts(verb: &str, ids: &[String], why: &str) -> Result<Done, AppError> {
        let caller = Caller::here()?;
        let actor = caller.authorise(Action::MemberWrite).await?;
        let verb = AccountVerb::from_key(verb).ok_or_else(|| {
            Problem::new("verb", "There is no such verb; the verbs are disable, enable and reset-password.")
        })?;
        let author = caller.author(parse_why(why)?)?;
        check_count(verb, ids.len())?;
        let mut known = Vec::new();
        for id in ids {
            known.push(find(&caller, actor, id).await?);
        }
        let password = temporary();
        let hash = match verb {
            AccountVerb::ResetPassword => {
                Some(caller.checked(caller.state.passwords().hash(password.clone().into()).await)?)
            }
            AccountVerb::Disable | AccountVerb::Enable => None,
        };
        let mut tx = caller.begin(Action::MemberWrite, Whose::Others).await?;
        let (mut changed, mut refused, mut cuts, mut shut_out) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for person in &known {
            let person = caller.checked(tx.person(&person.id).await)?.ok_or_else(|| AppError::not_found("person"))?;
            match caller.checked(tx.change_account(verb, &person, hash.as_deref(), &author).await)? {
                Ok(cut) => {
                    shut_out.push(person.id);
                    changed.push(person.name);
                    cuts.push(cut);
                }
                Err(refusal) => refused.push((person.name, refusal)),
            }
        }
        if changed.is_empty() {
            // Nothing is committed, so there is no empty revision either.
            return Err(refused
                .first()
                .map_or_else(|| AppError::not_found("person"), |(_, refusal)| (*refusal).into()));
        }
        caller.checked(tx.commit().await)?;
        if verb != AccountVerb::Enable {
            // Only now: a stream that reconnects must find the session gone.
            cuts.into_iter().for_each(|cut| caller.state.live().cut(cut));
            // When they were last here is kept, but they are not here any more.
            caller.state.presence().flush(caller.store(), clock::now()).await;
            shut_out.iter().for_each(|id| caller.state.presence().forget(id));
        }
        let next = match ids {
            [one] => paths::person(&actor.workspace.slug, one),
            _ => paths::people(&actor.workspace.slug),
        };
        let done = Done::go(next, said(verb, &changed, &refused));
        Ok(match verb {
            AccountVerb::ResetPassword => {
                Done { secret_label: format!("Temporary password of {}", changed[0]), secret: password, ..done }
            }
            AccountVerb::Disable | AccountVerb::Enable => done,
        })
    }

    fn check_count(verb: AccountVerb, count: usize) -> Result<(), Problem> {
        match (verb, count) {
            (_, 0) => Err(Problem::new("ids", "Nobody was selected. Select at least one person.")),
            (AccountVerb::ResetPassword, 2..) => {
                Err(Problem::new("ids", "Reset one password at a time: each temporary password is shown once."))
            }
            (_, count) if count > MOST_AT_ONCE => Err(Problem::new(
                "ids",
                format!("At most {MOST_AT_ONCE} accounts are changed at once; {count} were selected."),
            )),
            _ => Ok(()),
        }
    }

    fn said(verb: AccountVerb, changed: &[String], refused: &[(String, atelier_domain::account::Refusal)]) -> String {
        let whom = match changed {
            [one] => one.clone(),
            many => counted(many.len() as u64, "person", "people"),
        };
        let were = if changed.len() == 1 { "was" } else { "were" };
        let what = match verb {
            AccountVerb::Disable => format!("{whom} {were} disabled and can no longer sign in."),
            AccountVerb::Enable => format!("{whom} {were} enabled again."),
            AccountVerb::ResetPassword => format!("The password of {whom} was reset and all sessions have ended."),
        };
        let left: String = refused.iter().map(|(name, refusal)| format!(" {name} was left as is: {refusal}")).collect();
        format!("{what}{left}")
    }

    /// Gathers every problem of a form instead of showing one after another.
    fn all_or_problems<A, B, C, D>(
        a: Result<A, Problem>,
        b: Result<B, Problem>,
        c: Result<C, Problem>,
        d: Result<D, Problem>,
    ) -> Result<(A, B, C, D), AppError> {
        match (a, b, c, d) {
            (Ok(a), Ok(b), Ok(c), Ok(d)) => Ok((a, b, c, d)),
            (a, b, c, d) => {
                let problems = [a.err(), b.err(), c.err(), d.err()].into_iter().flatten().collect();
                Err(AppError::Invalid { problems })
            }
        }
    }
}
