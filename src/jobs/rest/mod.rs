//! Jobs: submitted, listed, waited for, canceled.

pub mod actions;
pub mod files;
pub mod log;
pub mod view;
pub mod what_if;

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use atelier_domain::access::Action;
use atelier_domain::compute::job::{JobState, Target};
use atelier_domain::compute::{InstanceId, JobId};
use atelier_domain::text::search_text;
use atelier_domain::{Money, UserId, WorkspaceId};
use atelier_engine::clock;
use atelier_engine::store::{JobFilter, JobRow};
use atelier_studio::caller::Caller;
use atelier_studio::forecast::etas as forecast;
use atelier_studio::jobs::submit as job;
use atelier_studio::jobs::submit::{JobRequest, Submitted};
use atelier_studio::jobs::view::{charged, standings};
use axum::extract::Path;
use serde::Serialize;
use serde_json::json;

use crate::error::AppError;
use crate::jobs::rest::log::wait_place;
use crate::jobs::rest::view::path;
use crate::server::rest::asked::{Asked, Json, Parameters, span};
use crate::server::rest::people::People;
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{created, object, ok};

/// The longest wait in one request.
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// The most jobs in one answer.
const MOST_LISTED: u32 = 500;
/// How many unless the request says otherwise.
const LISTED: u32 = 50;
/// After the engine has lost count, it is given a moment.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// `POST /jobs`.
pub async fn submit(asked: Asked, Json(request): Json<JobRequest>) -> Answered {
    let id = asked.id_for("submit", &request);
    let done = job::submit(&asked.caller, id.clone(), &request).await;
    let submitted = asked.or_known(&id, done, Submitted::of).await?;
    let address = path(submitted.first);
    let id = submitted.first.to_string();
    let links = json!({ "self": address });
    Ok(created(&address, &object! { id: &id, first: &id, count: submitted.count, links: links }))
}

/// `GET /jobs/{id}?wait=30s`.
pub async fn show(asked: Asked, Path(id): Path<String>, mut parameters: Parameters) -> Answered {
    let caller = &asked.caller;
    caller.authorise(Action::JobRead).await?;
    let id = job_id(&id)?;
    let parse = |text: &str| span(text).filter(|wait| *wait <= LONGEST_WAIT);
    let wait = parameters.read("wait", parse, "a time up to 300s, such as 30s or 500ms")?;
    parameters.none_left(&["wait"])?;
    match wait {
        // Whoever waits wants to know as soon as it is over, not what it cost.
        Some(wait) if !wait.is_zero() => ok(&described(caller, waited_for(caller, id, wait).await?, None).await?),
        _ => {
            let row = found(caller, id).await?;
            let charged = charged(caller, &[&row]).await?.remove(&id);
            ok(&described(caller, row, charged).await?)
        }
    }
}

/// The job when it is over, or as it is when the time is.
async fn waited_for(caller: &Caller, id: JobId, wait: Duration) -> Answered<JobRow> {
    let actor = caller.actor()?;
    let until = clock::instant() + wait;
    // First the wait, then the look: what ends in between is not missed.
    let mut over = caller.studio.engine().job_over(id);
    let mut row = found(caller, id).await?;
    if row.ended.is_some() {
        return Ok(row);
    }
    let _place = wait_place(caller)?;
    let mut cuts = caller.studio.live().cuts();
    loop {
        tokio::select! {
            ended = over.ended() => match ended {
                Some(ended) => {
                    let state = JobState::of(&ended.verdict);
                    let (ended_at, verdict) = (Some(ended.at), Some(ended.verdict.clone()));
                    return Ok(JobRow { job: ended.job.clone(), state, ended: ended_at, verdict, ..row });
                }
                None => {
                    tokio::time::sleep(LOOK_AGAIN).await;
                    over = caller.studio.engine().job_over(id);
                    row = found(caller, id).await?;
                    if row.ended.is_some() {
                        return Ok(row);
                    }
                }
            },
            () = tokio::time::sleep_until(until.into()) => return found(caller, id).await,
            _ = crate::jobs::rest::log::cut(&mut cuts, actor) => return found(caller, id).await,
        }
    }
}

pub(super) async fn found(caller: &Caller, id: JobId) -> Answered<JobRow> {
    let workspace = &caller.actor()?.workspace.id;
    let row = caller.checked(caller.store().job(workspace, id).await)?;
    row.ok_or_else(|| Refusal::not_found("job"))
}

/// Adds what only the engine knows.
pub(super) async fn described(caller: &Caller, row: JobRow, charged: Option<Money>) -> Answered<impl Serialize> {
    let actor = caller.actor()?;
    let catalogue = caller.studio.engine().catalogue();
    let people = People::of(caller, [row.job.owner.clone()]).await?;
    let id = row.job.id;
    let known = match row.ended {
        Some(_) => None,
        None => atelier_studio::orders::ask(caller, move |world| world.look_up(id).map(Cow::into_owned)).await?,
    };
    let (row, standing, eta) = match known {
        Some(job) => {
            let row = JobRow { state: job.state(), job, ..row };
            let standing = standings(caller, &[&row]).await?.remove(&id);
            let eta = forecast::eta(caller, &row.job).await;
            (row, standing, eta)
        }
        None if row.ended.is_some() => (row, None, None),
        // It was over a moment ago.
        None => (found(caller, id).await?, None, None),
    };
    Ok(view::job(row, standing, eta, &catalogue, &people, actor, charged))
}

/// `GET /jobs`: the newest first.
pub async fn list(asked: Asked, mut parameters: Parameters) -> Answered {
    let caller = &asked.caller;
    caller.authorise(Action::JobRead).await?;
    let actor = caller.actor()?;
    let given = parameters.clone();
    let states = parameters.read("state", parse_states, "one or more states, with commas, or alive or over")?;
    let owner = match parameters.take("owner")? {
        Some(text) => Some(owner_of(caller, &text).await?),
        None => None,
    };
    let name = parameters.take("name")?;
    let cluster = parameters.take("cluster")?;
    let instance = parameters.take("instance")?;
    let count = |text: &str| text.parse().ok().filter(|limit| (1..=MOST_LISTED).contains(limit));
    let limit = parameters.read("limit", count, "a number from 1 to 500")?.unwrap_or(LISTED);
    let before = parameters.read("after", JobId::parse, "the id of a job")?;
    parameters.none_left(&["state", "owner", "cluster", "instance", "name", "limit", "after"])?;
    if cluster.is_some() && instance.is_some() {
        return Err(Refusal::field("instance", "Name a cluster or an instance, not both."));
    }
    let target = match &cluster {
        Some(name) => match atelier_studio::clusters::commands::find(caller, name).await {
            Ok(id) => Some(Target::Cluster(id)),
            Err(AppError::NotFound { .. }) => return Err(none_called("cluster", name)),
            Err(error) => return Err(error.into()),
        },
        None => match &instance {
            Some(name) => Some(Target::Instance(instance_of(caller, name).await?)),
            None => None,
        },
    };
    let filter = JobFilter {
        states: states.unwrap_or_default(),
        owner,
        target,
        part: name.as_deref().map(search_text).unwrap_or_default(),
        before,
        // One more tells whether there are more.
        limit: i64::from(limit) + 1,
        ..JobFilter::default()
    };
    let mut rows = caller.checked(caller.store().jobs(&actor.workspace.id, &filter).await)?;
    let has_more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let next = rows.last().filter(|_| has_more).map(|row| given.going_on("/api/v1/jobs", &row.job.id.to_string()));
    let catalogue = caller.studio.engine().catalogue();
    let people = People::of(caller, rows.iter().map(|row| row.job.owner.clone())).await?;
    let mut charged = charged(caller, &rows.iter().collect::<Vec<_>>()).await?;
    let alive: Vec<&JobRow> = rows.iter().filter(|row| row.ended.is_none()).collect();
    let mut standings = if alive.is_empty() { HashMap::new() } else { standings(caller, &alive).await? };
    let view = |row: JobRow| {
        let standing = standings.remove(&row.job.id);
        let cost = charged.remove(&row.job.id);
        view::job(row, standing, None, &catalogue, &people, actor, cost)
    };
    // Where the list goes on.
    ok(&object! { jobs: rows.into_iter().map(view).collect::<Vec<_>>(), next: next })
}

async fn instance_of(caller: &Caller, name: &str) -> Answered<InstanceId> {
    match atelier_studio::instances::commands::find(caller, name).await {
        Ok(subject) => Ok(subject.id),
        Err(AppError::NotFound { .. }) => Err(none_called("instance", name)),
        Err(error) => Err(error.into()),
    }
}

fn none_called(noun: &str, name: &str) -> Refusal {
    Refusal::field(noun, format!("There is no {noun} “{}” here.", atelier_domain::text::shortened(name)))
}

/// `me`, an id, or an e-mail address of the workspace.
pub async fn owner_of(caller: &Caller, text: &str) -> Answered<UserId> {
    let actor = caller.actor()?;
    if text == "me" {
        return Ok(actor.person.id.clone());
    }
    if !text.contains('@') {
        return Ok(UserId::new(text.chars().filter(|c| !c.is_control()).take(80).collect::<String>()));
    }
    let email = search_text(text).to_lowercase();
    let account = caller.checked(caller.store().account_by_email(&email).await)?;
    let is_here = |workspace: &WorkspaceId| *workspace == actor.workspace.id;
    match account.filter(|account| is_here(&account.person.workspace)) {
        Some(account) => Ok(account.person.id),
        None => Err(Refusal::field("owner", "Nobody here has this e-mail address.")),
    }
}

fn parse_states(text: &str) -> Option<Vec<JobState>> {
    let mut states = Vec::new();
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match word {
            "alive" => states.extend(JobState::ALL.into_iter().filter(|state| !state.is_over())),
            "over" => states.extend(JobState::ALL.into_iter().filter(|state| state.is_over())),
            word => states.push(JobState::from_key(word)?),
        }
    }
    Some(states)
}

/// What is no id of a job is the id of no job.
pub fn job_id(text: &str) -> Answered<JobId> {
    JobId::parse(text).ok_or_else(|| Refusal::not_found("job"))
}
