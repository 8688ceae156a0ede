//! Instances: made, listed, waited for, changed, deleted.

pub mod actions;
pub mod apps;
pub mod sharing;
pub mod ssh;
pub mod token_scope;
pub mod transfer;
pub mod view;

use std::collections::BTreeSet;
use std::time::Duration;

use atelier_domain::access::Action;
use atelier_domain::compute::InstanceId;
use atelier_domain::compute::idle::Source;
use atelier_domain::compute::instance::{Instance, InstanceState};
use atelier_domain::compute::tags::Tags;
use atelier_domain::compute::verb::Verb;
use atelier_domain::text::{parse_why, search_text};
use atelier_domain::world::{Answer, Order, World};
use atelier_domain::{UserId, WorkspaceId};
use atelier_engine::clock;
use atelier_studio::caller::Caller;
use atelier_studio::instances::commands::{Settings, carry_out, configure, find, find_for};
use atelier_studio::instances::create::InstanceRequest;
use atelier_studio::instances::view::{self as read, AsOf, is_settled};
use atelier_studio::orders::ask;
use axum::extract::Path;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::instances::rest::actions::shown;
use crate::instances::rest::view::path;
use crate::jobs::rest::log::wait_place;
use crate::jobs::rest::owner_of;
use crate::server::rest::asked::{Asked, Json, Parameters, span};
use crate::server::rest::people::People;
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{created, done, json, object, ok};

/// The longest wait in one request.
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// The most instances in one answer.
const MOST_LISTED: usize = 500;
/// How many unless the request says otherwise.
const LISTED: usize = 50;

/// What a list is narrowed to.
struct Wanted {
    workspace: WorkspaceId,
    states: Vec<InstanceState>,
    owner: Option<UserId>,
    size: Option<String>,
    part: String,
    after: Option<String>,
}

impl Wanted {
    fn fits(&self, world: &World, instance: &Instance) -> bool {
        instance.workspace == self.workspace
            && (self.states.is_empty() || self.states.contains(&world.instance_state(instance)))
            && self.owner.as_ref().is_none_or(|owner| instance.owner == *owner)
            && self.size.as_ref().is_none_or(|size| instance.size.as_str() == size.as_str())
            && instance.name.as_str().contains(self.part.as_str())
            && self.after.as_ref().is_none_or(|after| instance.name.as_str() > after.as_str())
    }
}

/// `GET /instances`, by name.
pub async fn list(asked: Asked, mut parameters: Parameters) -> Answered {
    let caller = &asked.caller;
    caller.authorise(Action::InstanceRead).await?;
    let given = parameters.clone();
    let states = parameters.read("state", parse_states, "one or more states, with commas")?.unwrap_or_default();
    let owner = match parameters.take("owner")? {
        Some(text) => Some(owner_of(caller, &text).await?),
        None => None,
    };
    let size = parameters.take("size")?;
    let part = parameters.take("name")?.map(|name| search_text(&name).to_lowercase()).unwrap_or_default();
    let count = |text: &str| text.parse().ok().filter(|limit| (1..=MOST_LISTED).contains(limit));
    let limit = parameters.read("limit", count, "a number from 1 to 500")?.unwrap_or(LISTED);
    let after = parameters.take("after")?;
    parameters.none_left(&["state", "owner", "size", "name", "limit", "after"])?;
    let wanted = Wanted { workspace: caller.actor()?.workspace.id.clone(), states, owner, size, part, after };
    let as_of = AsOf::now(caller)?;
    let (views, has_more) = ask(caller, move |world| {
        let mut fitting: Vec<&Instance> = world.instances().filter(|one| wanted.fits(world, one)).collect();
        fitting.sort_by(|a, b| a.name.cmp(&b.name));
        let has_more = fitting.len() > limit;
        fitting.truncate(limit);
        let views = fitting.into_iter().map(|instance| read::InstanceView::of(world, instance, &as_of));
        (views.collect::<Vec<_>>(), has_more)
    })
    .await?;
    let next = views.last().filter(|_| has_more).map(|last| given.going_on("/api/v1/instances", &last.name));
    let people = People::of(caller, views.iter().flat_map(people_in)).await?;
    let instances = views.iter().map(|one| view::instance(one, &people)).collect::<Vec<_>>();
    ok(&object! { instances: instances, next: next })
}

fn parse_states(text: &str) -> Option<Vec<InstanceState>> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(InstanceState::from_key).collect()
}

/// `POST /instances`.
pub async fn create(asked: Asked, Json(request): Json<InstanceRequest>) -> Answered {
    let id = asked.id_for(Verb::CreateInstance.key(), &request);
    let done = atelier_studio::instances::create::create(&asked.caller, id.clone(), &request).await;
    let made = asked.or_known(&id, done, |answer| match answer {
        Answer::Instance(id) => Some(id),
        _ => None,
    });
    let view = view_of(&asked.caller, made.await?).await?;
    Ok(created(&path(&request.name.to_lowercase()), &view))
}

/// `GET /instances/{name}?wait=30s`.
pub async fn show(asked: Asked, Path(name): Path<String>, mut parameters: Parameters) -> Answered {
    let caller = &asked.caller;
    let parse = |text: &str| span(text).filter(|wait| *wait <= LONGEST_WAIT);
    let wait = parameters.read("wait", parse, "a time up to 300s, such as 30s or 500ms")?.unwrap_or_default();
    parameters.none_left(&["wait"])?;
    let subject = find(caller, &name).await?;
    if !wait.is_zero() {
        settled(caller, subject.id, wait).await?;
    }
    ok(&view_of(caller, subject.id).await?)
}

/// Waits until nothing goes on that leads to another state by itself, or the instance is gone, or the time is
/// over.
async fn settled(caller: &Caller, id: InstanceId, wait: Duration) -> Answered<()> {
    let actor = caller.actor()?;
    let until = clock::instant() + wait;
    let _place = wait_place(caller)?;
    let (mut revisions, mut cuts) = (caller.studio.live().watch(), caller.studio.live().cuts());
    loop {
        // First what is new is marked as seen, then the look: what happens in between is not missed.
        revisions.borrow_and_update();
        if ask(caller, move |world| world.instance(id).is_none_or(is_settled)).await? {
            return Ok(());
        }
        tokio::select! {
            changed = revisions.changed() => if changed.is_err() { return Ok(()) },
            () = tokio::time::sleep_until(until.into()) => return Ok(()),
            _ = crate::jobs::rest::log::cut(&mut cuts, actor) => return Ok(()),
        }
    }
}

/// What may be changed; what is left out stays as it is.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Change {
    idle_minutes: Option<u32>,
    idle_counts: Option<BTreeSet<Source>>,
    keeps_quota: Option<bool>,
    tags: Option<Tags>,
    why: String,
}

/// `PATCH /instances/{name}`.
pub async fn change(asked: Asked, Path(name): Path<String>, Json(change): Json<Change>) -> Answered {
    let caller = &asked.caller;
    let subject = find_for(caller, &name, Verb::ConfigureInstance).await?;
    let id = asked.id_for("change", &(&name, &change));
    let why = parse_why(&change.why)?;
    let configures = change.idle_minutes.is_some() || change.idle_counts.is_some() || change.keeps_quota.is_some();
    if !configures && change.tags.is_none() {
        return Err(Refusal::field("body", "Say what to change: idle_minutes, idle_counts, keeps_quota or tags."));
    }
    // Judged before anything is done, so that both happen or neither does.
    if let Some(tags) = &change.tags {
        tags.check()?;
    }
    let id_of_tags = id.beside("tags");
    let Change { idle_minutes, idle_counts, keeps_quota, tags, .. } = change;
    if configures {
        let settings = Settings { idle_minutes, idle_counts, keeps_quota };
        configure(caller, id, &subject, settings, why.clone()).await?;
    }
    if let Some(tags) = tags {
        let order = Order::TagInstance { instance: subject.id, tags };
        carry_out(caller, id_of_tags, &subject, order, why).await?;
    }
    shown(caller, Verb::ConfigureInstance, subject.id).await
}

/// `DELETE /instances/{name}?why=`: on its way when this is answered, or gone.
pub async fn delete(asked: Asked, Path(name): Path<String>, mut parameters: Parameters) -> Answered {
    let caller = &asked.caller;
    let why = parse_why(&parameters.take("why")?.unwrap_or_default())?;
    parameters.none_left(&["why"])?;
    let id = asked.id_for(Verb::DeleteInstance.key(), &name);
    let subject = asked.or_known(&id, find(caller, &name).await.map(Some), |_| Some(None)).await?;
    let state = match subject {
        Some(subject) => {
            let instance = subject.id;
            carry_out(caller, id, &subject, Order::DeleteInstance(instance), why).await?;
            let is_there = ask(caller, move |world| world.instance(instance).is_some()).await?;
            if is_there { "deleting" } else { "deleted" }
        }
        // It was deleted when this was asked before.
        None => "deleted",
    };
    Ok(json(done(Verb::DeleteInstance), &json!({ "name": name.to_lowercase(), "state": state })))
}

pub async fn view_of(caller: &Caller, id: InstanceId) -> Answered<impl Serialize> {
    let as_of = AsOf::now(caller)?;
    let found = ask(caller, move |world| Some(read::InstanceView::of(world, world.instance(id)?, &as_of))).await?;
    let view = found.ok_or_else(|| Refusal::not_found("instance"))?;
    let people = People::of(caller, people_in(&view)).await?;
    Ok(view::instance(&view, &people))
}

/// The people in it, whose present names the engine does not know.
fn people_in(view: &read::InstanceView) -> [UserId; 2] {
    [view.instance.owner.clone(), view.instance.creator().clone()]
}
