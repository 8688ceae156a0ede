//! Who is here.

use std::sync::Arc;

use atelier_domain::access::{Action, Grant, Role};
use atelier_domain::account::{self, AccountState, AccountVerb, Refusal};
use atelier_domain::error::AppError;
use atelier_domain::text::{is_id, search_text};
use atelier_domain::{Timestamp, UserId, WorkspaceId};
use atelier_engine::clock;
use atelier_engine::store::{HistoryEntry, HistoryFilter, PeopleFilter, PeopleOrder, Person};

use crate::caller::{Actor, Caller};
use crate::presence;
use crate::studio::Studio;

atelier_domain::keyed_enum! {
    /// What the list is sorted by.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
    pub enum PeopleSort {
        #[default]
        Name = "name";
        /// By the last request.
        Seen = "seen";
        /// By the day the account was made.
        Created = "created";
    }
}

/// What the list shows, as the URL holds it: `?q=&role=&state=&sort=&dir=&after=&before=`.
#[derive(Clone, Debug, Default)]
pub struct PeopleQuery {
    /// Part of a name or address.
    pub q: String,
    pub role: Option<Role>,
    pub state: Option<AccountState>,
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
    pub everyone: u64,
    /// How many of them asked this server for something in the last minutes.
    pub online: u64,
}

/// A person in a list.
#[derive(Clone, Debug)]
pub struct PersonRow {
    pub id: UserId,
    pub name: String,
    /// The sign-in name.
    pub email: String,
    /// The roles here, from least to most.
    pub roles: Vec<Role>,
    pub state: AccountState,
    /// Whether a request came in the last minutes.
    pub is_online: bool,
    /// The last request, if there was one.
    pub seen_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub is_self: bool,
}

/// Everything the page of one person shows.
#[derive(Clone, Debug)]
pub struct PersonDetail {
    pub row: PersonRow,
    pub time_zone: String,
    pub sessions: u64,
    /// What each verb would answer; rights are checked apart.
    pub verbs: Vec<(AccountVerb, Result<(), Refusal>)>,
    /// What they did and what was done to them, newest first.
    pub history: Vec<HistoryEntry>,
}

const PAGE: i64 = 50;

/// A page that many look at: the first one in some order, of everybody or of one role or state.
pub(crate) type FirstPage = (Option<Role>, Option<AccountState>, PeopleOrder, bool);

fn first_page(filter: &PeopleFilter) -> Option<FirstPage> {
    let is_one = filter.part.trim().is_empty() && filter.after.is_none();
    is_one.then_some((filter.role, filter.state, filter.order, filter.descending))
}

/// One page of people. Needs `member.read`.
pub async fn list_people(caller: &Caller, query: &PeopleQuery) -> Result<PeoplePage, AppError> {
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
        caller.studio.presence().flush(store, clock::now()).await;
    }
    let read = async { caller.checked(store.list_people(workspace, &filter).await) };
    let people = match first_page(&filter) {
        // The order of last requests is written without a revision.
        Some(page) if order != PeopleOrder::Seen => {
            caller.studio.reads().first_people.get(&caller.studio, (workspace.clone(), page), read).await?
        }
        _ => Arc::new(read.await?),
    };
    let matching = match filter.is_for_everybody() {
        true => everyone(caller, workspace).await?,
        false => caller.checked(store.count_people(workspace, &filter).await)?,
    };
    let most = usize::try_from(PAGE).unwrap_or(usize::MAX);
    let has_more = people.len() > most;
    let mut people: Vec<&Person> = people.iter().take(most).collect();
    if backwards {
        people.reverse();
    }
    let came_from = !cursor.is_empty();
    let (is_before, is_after) = if backwards { (has_more, came_from) } else { (came_from, has_more) };
    let next = people.last().filter(|_| is_after).map(|person| make_cursor(person, order));
    let previous = people.first().filter(|_| is_before).map(|person| make_cursor(person, order));
    let rows = people.into_iter().map(|person| person_row(&caller.studio, actor, person)).collect();
    Ok(PeoplePage { rows, matching, next, previous })
}

/// How many people there are, and how many of them are online. Needs `member.read`.
pub async fn head_count(caller: &Caller) -> Result<HeadCount, AppError> {
    let actor = caller.authorise(Action::MemberRead).await?;
    let everyone = everyone(caller, &actor.workspace.id).await?;
    Ok(HeadCount { everyone, online: caller.studio.presence().online(clock::now()) })
}

async fn everyone(caller: &Caller, workspace: &WorkspaceId) -> Result<u64, AppError> {
    let read = async { caller.checked(caller.store().count_people(workspace, &PeopleFilter::default()).await) };
    let found = caller.studio.reads().people.get(&caller.studio, workspace.clone(), read).await?;
    Ok(*found)
}

/// One person. Needs `member.read`.
pub async fn person(caller: &Caller, id: &str) -> Result<PersonDetail, AppError> {
    let actor = caller.authorise(Action::MemberRead).await?;
    let store = caller.store();
    let person = find(caller, actor, id).await?;
    let owners = caller.checked(store.count_owners(&actor.workspace.id).await)?;
    let standing = person.standing(Some(&actor.person.id));
    let verbs = AccountVerb::ALL.into_iter().map(|verb| (verb, account::judge(verb, standing, owners))).collect();
    let sessions = caller.checked(store.web_sessions_of(&person.id).await)?;
    let limits = caller.studio.settings().sessions;
    let alive = sessions
        .iter()
        .filter(|session| presence::is_alive(session, caller.studio.presence(), limits, clock::now()))
        .count();
    // Somebody who may see only the own history sees here what concerns themselves.
    let may_see = actor.person.rights().grant(Action::HistoryRead) == Grant::Any || person.id == actor.person.id;
    let filter = HistoryFilter { about: Some(person.id.clone()), limit: 20, ..HistoryFilter::default() };
    let history = if may_see { caller.checked(store.history(&actor.workspace.id, &filter).await)? } else { Vec::new() };
    Ok(PersonDetail {
        time_zone: person.time_zone.clone(),
        row: person_row(&caller.studio, actor, &person),
        sessions: alive as u64,
        verbs,
        history,
    })
}

/// How many people hold each role. Needs `member.read`.
pub async fn role_counts(caller: &Caller) -> Result<Vec<(Role, u64)>, AppError> {
    let actor = caller.authorise(Action::MemberRead).await?;
    caller.checked(caller.store().role_counts(&actor.workspace.id).await)
}

/// What a verb would do to each of these people, for the page that asks first. Needs `member.write`.
pub async fn judge_people(
    caller: &Caller,
    verb: AccountVerb,
    ids: &[String],
) -> Result<Vec<(PersonRow, Result<(), Refusal>)>, AppError> {
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
            // Judged one after another, as they will be carried out: the last Owner of the selection stays
            // too.
            owners -= 1;
        }
        judged.push((person_row(&caller.studio, actor, &person), answer));
    }
    Ok(judged)
}

/// One page of a list is the most that is changed at once.
pub const MOST_AT_ONCE: usize = 100;

/// A person of the actor's workspace.
pub async fn find(caller: &Caller, actor: &Actor, id: &str) -> Result<Person, AppError> {
    if !is_id(id) {
        return Err(AppError::not_found("person"));
    }
    let found = caller.checked(caller.store().person(&UserId::new(id)).await)?;
    found.filter(|person| person.workspace == actor.workspace.id).ok_or_else(|| AppError::not_found("person"))
}

fn person_row(state: &Studio, actor: &Actor, person: &Person) -> PersonRow {
    let seen_at = person.seen_at.max(state.presence().person(&person.id));
    PersonRow {
        is_online: account::is_online(seen_at, clock::now()) && person.state != AccountState::Disabled,
        is_self: person.id == actor.person.id,
        seen_at,
        id: person.id.clone(),
        name: person.name.clone(),
        email: person.email.clone(),
        roles: person.roles.clone(),
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
