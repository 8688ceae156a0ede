//! What is done to instances over the API, and their applications and scripts.

use atelier_domain::access::Whose;
use atelier_domain::compute::InstanceId;
use atelier_domain::compute::script::Script;
use atelier_domain::compute::size::SizeName;
use atelier_domain::compute::verb::Verb;
use atelier_domain::text::{Problem, parse_why, shortened};
use atelier_domain::time::Span;
use atelier_domain::world::Order;
use atelier_domain::{Timestamp, paths};
use atelier_studio::caller::Caller;
use atelier_studio::instances::apps::AppView;
use atelier_studio::instances::commands::{accept_scripts, authorise, carry_out, find, find_for};
use atelier_studio::instances::detail::{InstanceDetail, instance};
use atelier_studio::instances::scripts::{ScriptsRequest, keep as keep_scripts, text_of as script_text};
use axum::extract::Path;
use serde::{Deserialize, Serialize};

use crate::instances::rest::{view, view_of};
use crate::server::rest::asked::{Asked, Json, NoParameters, OptionalJson, Why};
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{done, json, object, ok};

/// Does it, and shows the instance. What takes a while is on its way when this is answered.
async fn act(asked: &Asked, name: &str, order: impl FnOnce(InstanceId) -> Order, why: &str) -> Answered {
    let caller = &asked.caller;
    let subject = find(caller, name).await?;
    let why = parse_why(why)?;
    let order = order(subject.id);
    let verb = order.verb();
    carry_out(caller, asked.id_for(verb.key(), &order), &subject, order, why).await?;
    shown(caller, verb, subject.id).await
}

/// The instance, with the status that the table of verbs has for what was done to it.
pub async fn shown(caller: &Caller, verb: Verb, id: InstanceId) -> Answered {
    Ok(json(done(verb), &view_of(caller, id).await?))
}

/// An instant as RFC 3339, for the field `until`.
pub fn time(text: &str) -> Result<Timestamp, Problem> {
    text.parse::<jiff::Timestamp>().map(|at| Timestamp(at.as_millisecond())).map_err(|_| {
        Problem::new("until", format!("A time is written as 2026-03-19T18:30:00Z, not “{}”.", shortened(text)))
    })
}

/// `POST /instances/{name}/start`.
pub async fn start(asked: Asked, Path(name): Path<String>, OptionalJson(body): OptionalJson<Why>) -> Answered {
    act(&asked, &name, Order::StartInstance, &body.why).await
}

/// `POST /instances/{name}/stop`.
pub async fn stop(asked: Asked, Path(name): Path<String>, OptionalJson(body): OptionalJson<Why>) -> Answered {
    act(&asked, &name, Order::StopInstance, &body.why).await
}

/// `POST /instances/{name}/restart`.
pub async fn restart(asked: Asked, Path(name): Path<String>, OptionalJson(body): OptionalJson<Why>) -> Answered {
    act(&asked, &name, Order::RestartInstance, &body.why).await
}

/// `POST /instances/{name}/rebuild`.
pub async fn rebuild(asked: Asked, Path(name): Path<String>, OptionalJson(body): OptionalJson<Why>) -> Answered {
    act(&asked, &name, Order::RebuildInstance, &body.why).await
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Resize {
    size: String,
    why: String,
}

/// `POST /instances/{name}/resize`.
pub async fn resize(asked: Asked, Path(name): Path<String>, Json(body): Json<Resize>) -> Answered {
    let size = SizeName::parse(&body.size)?;
    act(&asked, &name, |instance| Order::ResizeInstance { instance, size }, &body.why).await
}

/// For how long it is kept running.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Extend {
    minutes: u32,
    why: String,
}

/// `POST /instances/{name}/extend`.
pub async fn extend(asked: Asked, Path(name): Path<String>, Json(body): Json<Extend>) -> Answered {
    let by = Span::minutes(body.minutes);
    act(&asked, &name, |instance| Order::ExtendInstance { instance, by }, &body.why).await
}

/// Until when it is kept running.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Postpone {
    until: String,
    why: String,
}

/// `POST /instances/{name}/postpone`.
pub async fn postpone(asked: Asked, Path(name): Path<String>, Json(body): Json<Postpone>) -> Answered {
    let until = time(&body.until)?;
    act(&asked, &name, |instance| Order::PostponeStop { instance, until }, &body.why).await
}

/// `POST /instances/{name}/skip-stop`.
pub async fn skip_stop(asked: Asked, Path(name): Path<String>, OptionalJson(body): OptionalJson<Why>) -> Answered {
    act(&asked, &name, |instance| Order::SkipStop { instance }, &body.why).await
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Accept {
    revision: u32,
}

/// `POST /instances/{name}/accept-scripts`.
pub async fn accept(asked: Asked, Path(name): Path<String>, Json(body): Json<Accept>) -> Answered {
    let (caller, verb) = (&asked.caller, Verb::AcceptScripts);
    let subject = find(caller, &name).await?;
    accept_scripts(caller, asked.id_for(verb.key(), &(subject.id, &body)), &subject, body.revision).await?;
    shown(caller, verb, subject.id).await
}

/// `GET /instances/{name}/scripts`: with their texts. For its owner, and who may change them.
pub async fn scripts(asked: Asked, Path(name): Path<String>, _: NoParameters) -> Answered {
    let caller = &asked.caller;
    let subject = find(caller, &name).await?;
    if subject.whose(caller)? != Whose::Own {
        authorise(caller, &subject, Verb::SetScripts.right()).await?;
    }
    let id = subject.id;
    let found = atelier_studio::orders::ask(caller, move |world| {
        let instance = world.instance(id)?;
        Some((instance.scripts.clone(), instance.scripts_revision, instance.scripts_accepted))
    });
    let (scripts, revision, is_accepted) = found.await?.ok_or_else(|| Refusal::not_found("instance"))?;
    let read = |script: Option<Script>| async move {
        let script = script?;
        // The text is null if it is gone.
        Some(object! {
            text: script_text(caller, &script).await,
            #[serde(flatten)]
            script: view::script(&script),
        })
    };
    ok(&view::scripts(read(scripts.creation).await, read(scripts.startup).await, revision, is_accepted))
}

/// `PUT /instances/{name}/scripts`: both of them; what is left out is none.
pub async fn set_scripts(asked: Asked, Path(name): Path<String>, Json(body): Json<ScriptsRequest>) -> Answered {
    let caller = &asked.caller;
    find_for(caller, &name, Verb::SetScripts).await?;
    let scripts = keep_scripts(caller, &body).await?;
    act(&asked, &name, |instance| Order::SetScripts { instance, scripts }, "").await
}

/// `GET /instances/{name}/apps`.
pub async fn apps(asked: Asked, Path(name): Path<String>, _: NoParameters) -> Answered {
    let caller = &asked.caller;
    let detail = instance(caller, &name).await?;
    let actor = caller.actor()?;
    let may_open = actor.person.rights().check(Verb::OpenInstance.right(), detail.view.whose).is_ok();
    let (address, slug) = (caller.studio.settings().address.clone(), &actor.workspace.slug);
    let (trouble, caution) = (detail.apps_trouble.clone(), detail.apps_caution.clone());
    let is_open = may_open && trouble.is_none();
    let apps = detail.apps.iter().map(|app| one(&detail, app, is_open.then_some((&*address, slug))));
    ok(&object! {
        apps: apps.collect::<Vec<_>>(),
        // Why none of them can be opened at all.
        trouble: trouble,
        // How they are kept apart less well than they could be.
        caution: caution,
    })
}

fn one(detail: &InstanceDetail, app: &AppView, portal: Option<(&str, &String)>) -> impl Serialize + use<> {
    let (next, name) = (&app.page, &detail.view.name);
    let own = detail.own_apps.iter().find(|own| own.name.as_str() == app.name);
    object! {
        name: app.name.clone(),
        label: app.label.clone(),
        state: app.look,
        detail: app.said.clone(),
        // What it printed last, when it failed; for who may operate the instance.
        last_lines: if detail.sees_inside { app.last_lines.clone() } else { Vec::new() },
        is_custom: app.is_custom,
        // Whether other people of its machine can reach its port.
        is_exposed: app.is_exposed,
        // What it runs; for its owner alone, and null for what is part of Atelier.
        app: own.map(|own| own.draft.clone()),
        // For a browser in which its owner is signed in; null for everybody else. The first waits for the
        // application, and starts the instance if it is asked to.
        links: portal.map(|(address, slug)| object! {
            open: format!("{address}{}", paths::open_app(slug, name, &app.name, next)),
            enter: format!("{address}{}", paths::enter_app(slug, name, &app.name, next)),
        }),
    }
}
