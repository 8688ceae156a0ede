//! Sharing applications of instances with colleagues, for pages and the API alike.

use atelier_domain::Timestamp;
use atelier_domain::access::{Action, Whose};
use atelier_domain::account::AccountState;
use atelier_domain::app_sharing::{self as sharing, Asked, Level, Standing, opens};
use atelier_domain::compute::InstanceId;
use atelier_domain::compute::instance::InstanceState;
use atelier_domain::error::AppError;
use atelier_domain::text::{Problem, shortened};
use atelier_engine::clock;
use atelier_engine::store::{NewShare, PeopleFilter, Person, SharedApp};

use crate::caller::Caller;
use crate::clock as said;
use crate::instances::commands::{Subject, authorise, find};
use crate::instances::detail::instance;
use crate::orders::ask;
use crate::people::names::somebody;

/// So many people are offered to choose from; others are found by their address.
pub const OFFERED: i64 = 500;

/// A share as its owner sees it.
#[derive(Clone, Debug)]
pub struct ShareRow {
    pub app: String,
    pub label: String,
    pub person: Person,
    pub level: Level,
    /// What it opens right now; nothing if it opens nothing.
    pub opens: Option<Level>,
    pub until: Option<Timestamp>,
    pub since: Timestamp,
    pub used_at: Option<Timestamp>,
}

/// What is shared with the caller.
#[derive(Clone, Debug)]
pub struct SharedWithMe {
    pub instance: InstanceId,
    pub name: String,
    pub state: InstanceState,
    pub owner: Person,
    pub app: String,
    pub label: String,
    pub level: Level,
    pub until: Option<Timestamp>,
    pub since: Timestamp,
}

/// What shall be shared, as it was asked for.
#[derive(Clone, Debug)]
pub struct ShareRequest {
    /// With whom: an id or a sign-in name.
    pub person: String,
    pub app: String,
    pub level: String,
    pub until: Result<Option<Timestamp>, Problem>,
}

/// What the tab of an instance shows.
#[derive(Clone, Debug)]
pub struct SharingView {
    pub rows: Vec<ShareRow>,
    /// With whom else something could be shared.
    pub colleagues: Vec<Person>,
}

/// The shares of one's own instance. Needs `instance.share`.
pub async fn view(caller: &Caller, name: &str) -> Result<SharingView, AppError> {
    Ok(SharingView { rows: list(caller, name).await?, colleagues: colleagues(caller).await? })
}

/// The shares of an instance. For its owner alone.
pub async fn list(caller: &Caller, name: &str) -> Result<Vec<ShareRow>, AppError> {
    let subject = find(caller, name).await?;
    authorise(caller, &subject, Action::InstanceShare).await?;
    rows_of(caller, &subject).await
}

async fn rows_of(caller: &Caller, subject: &Subject) -> Result<Vec<ShareRow>, AppError> {
    let me = &caller.actor()?.person;
    let found = caller.checked(caller.store().shares_of_instance(subject.id).await)?;
    let own = found.into_iter().filter(|(shared, _)| shared.share.owner == subject.owner);
    Ok(own.map(|(shared, person)| row(caller, me, shared, person)).collect())
}

fn row(caller: &Caller, owner: &Person, shared: SharedApp, person: Person) -> ShareRow {
    let SharedApp { share, app_label, used_at, .. } = shared;
    let rights = person.rights();
    let standing = Standing {
        owner: &owner.id,
        owner_state: owner.state,
        visitor_state: person.state,
        rights: &rights,
        now: clock::now(),
    };
    let key = (share.instance, share.app.clone(), share.user.clone());
    ShareRow {
        opens: opens(&share, &standing),
        level: share.level,
        until: share.until,
        since: share.since,
        used_at: used_at.max(caller.studio.share_uses().last(&key)),
        app: share.app,
        label: app_label,
        person,
    }
}

/// People with whom something can be shared: of this workspace, not disabled, not oneself.
pub async fn colleagues(caller: &Caller) -> Result<Vec<Person>, AppError> {
    let me = caller.actor()?.person.id.clone();
    let found = people(caller).await?;
    Ok(found.into_iter().filter(|one| one.state != AccountState::Disabled && one.id != me).collect())
}

/// The people of this workspace, as many as are offered to choose from.
pub async fn people(caller: &Caller) -> Result<Vec<Person>, AppError> {
    let actor = caller.authorise(Action::MemberRead).await?;
    let filter = PeopleFilter { limit: OFFERED, ..PeopleFilter::default() };
    caller.checked(caller.store().list_people(&actor.workspace.id, &filter).await)
}

/// Shares an application, or changes how it is shared. What was written.
pub async fn put(caller: &Caller, name: &str, request: ShareRequest) -> Result<(Subject, ShareRow), AppError> {
    let subject = find(caller, name).await?;
    authorise(caller, &subject, Action::InstanceShare).await?;
    let detail = instance(caller, subject.name.as_str()).await?;
    let person = person_of(caller, &request.person).await;
    let label = match detail.app(&request.app) {
        Some(app) if sharing::is_app(&app.name) => Ok(app.label.clone()),
        _ if request.app.trim().is_empty() => Err(Problem::new("app", "Choose the application.")),
        _ => {
            let known: Vec<&str> = detail.apps.iter().map(|app| app.name.as_str()).collect();
            let start = shortened(&request.app);
            let known = atelier_domain::text::and_list(&known);
            Err(Problem::new("app", format!("There is no application “{start}” here; there are {known}.")))
        }
    };
    let level = Level::parse(&request.level);
    let (person, label, level, until) = match (person, label, level, request.until) {
        (Ok(Ok(person)), Ok(label), Ok(level), Ok(until)) => (person, label, level, until),
        (person, label, level, until) => {
            let person = person?.err();
            let problems = [person, label.err(), level.err(), until.err()];
            return Err(AppError::Invalid { problems: problems.into_iter().flatten().collect() });
        }
    };
    let author = caller.author(None)?;
    let mut tx = caller.begin(Action::InstanceShare, Whose::Own).await?;
    // Read again inside: their account may just have been disabled.
    let person = caller.checked(tx.person(&person.id).await)?.ok_or_else(|| no_such_person(&request.person))?;
    let present = caller.checked(tx.count_other_shares(subject.id, &request.app, &person.id).await)?;
    let rights = person.rights();
    let asked = Asked {
        owner: &subject.owner,
        user: &person.id,
        state: person.state,
        rights: &rights,
        app: &request.app,
        level,
        until,
        present,
        now: clock::now(),
    };
    sharing::judge(&asked).map_err(refused)?;
    let new = NewShare {
        workspace: &caller.actor()?.workspace.id,
        instance: subject.id,
        instance_name: subject.name.as_str(),
        owner: &subject.owner,
        app: &request.app,
        app_label: &label,
        person: &person,
        level,
        until: until.map(|until| (until, format!("{} UTC", said::date_and_time(until, "UTC")))),
    };
    caller.checked(tx.put_share(&new, &author).await)?;
    caller.checked(tx.commit().await)?;
    let written = rows_of(caller, &subject).await?.into_iter();
    let written = written.into_iter().find(|row| row.app == request.app && row.person.id == person.id);
    Ok((subject, written.ok_or_else(|| AppError::not_found("share"))?))
}

fn refused(refusal: sharing::Refusal) -> AppError {
    match refusal.field() {
        Some(field) => Problem::new(field, refusal.to_string()).into(),
        None => AppError::refused(refusal.code(), refusal.to_string()),
    }
}

fn no_such_person(typed: &str) -> Problem {
    match typed.trim() {
        "" => Problem::new("person", "Choose a colleague."),
        typed => {
            Problem::new("person", format!("Nobody in this workspace has the id or address “{}”.", shortened(typed)))
        }
    }
}

/// Somebody of the caller's workspace, by id or sign-in name.
pub async fn person_of(caller: &Caller, typed: &str) -> Result<Result<Person, Problem>, AppError> {
    Ok(somebody(caller, typed).await?.ok_or_else(|| no_such_person(typed)))
}

/// Takes a share back. What open connections it had end at once. The name of the person, and of the
/// application.
pub async fn revoke(caller: &Caller, name: &str, app: &str, person: &str) -> Result<(String, String), AppError> {
    let subject = find(caller, name).await?;
    authorise(caller, &subject, Action::InstanceShare).await?;
    let none = || AppError::not_found("share");
    let person = person_of(caller, person).await?.map_err(|_| none())?;
    let author = caller.author(None)?;
    let mut tx = caller.begin(Action::InstanceShare, Whose::Own).await?;
    let workspace = caller.actor()?.workspace.id.clone();
    let revoked = tx.revoke_share(&workspace, subject.id, app, &person.subject(), &author).await;
    let label = caller.checked(revoked)?.ok_or_else(none)?;
    caller.checked(tx.commit().await)?;
    Ok((person.name, label))
}

/// What others share with the caller and can be opened, or could if it ran.
pub async fn with_me(caller: &Caller) -> Result<Vec<SharedWithMe>, AppError> {
    let me = caller.actor()?.person.clone();
    let found = caller.checked(caller.store().shares_with(&me.id).await)?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<InstanceId> = found.iter().map(|(shared, _)| shared.share.instance).collect();
    let workspace = caller.actor()?.workspace.id.clone();
    let standing = ask(caller, move |world| {
        let known = ids.into_iter().map(|id| world.instance(id).filter(|one| one.workspace == workspace));
        let known =
            known.map(|one| one.map(|one| (one.name.to_string(), one.owner.clone(), world.instance_state(one))));
        known.collect::<Vec<_>>()
    });
    let (standing, rights, now) = (standing.await?, me.rights(), clock::now());
    let rows = found.into_iter().zip(standing).filter_map(|((shared, giver), known)| {
        let (name, owner, state) = known?;
        let standing =
            Standing { owner: &owner, owner_state: giver.state, visitor_state: me.state, rights: &rights, now };
        let level = opens(&shared.share, &standing)?;
        Some(SharedWithMe {
            instance: shared.share.instance,
            name,
            state,
            owner: giver,
            app: shared.share.app,
            label: shared.app_label,
            level,
            until: shared.share.until,
            since: shared.share.since,
        })
    });
    Ok(rows.collect())
}
