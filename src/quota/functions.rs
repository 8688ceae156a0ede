//! Limits, fair shares and queues as they are set by forms.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};
#[cfg(feature = "ssr")]
use {
    crate::error::AppError,
    crate::server::caller::here,
    atelier_domain::access::Action,
    atelier_domain::compute::fair_share::QueuePolicy,
    atelier_domain::compute::quota::{Resource, Scope},
    atelier_domain::paths,
    atelier_domain::text::{Problem, parse_why, shortened},
    atelier_domain::world::Answer,
    atelier_studio::caller::Caller,
    atelier_studio::clusters::commands as cluster,
    atelier_studio::typed::{Problems, decimal, whole},
    atelier_studio::{fair_shares, orders, quota},
};

use crate::done::Done;
use crate::error::FnError;

/// A limit as it is typed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LimitForm {
    pub whose: String,
    pub person: String,
    pub what: String,
    pub limit: String,
    pub why: String,
}

/// Sets a limit. Needs `quota.write`.
#[server(prefix = "/fn", endpoint = "set_limit")]
pub async fn set_limit(
    #[server(default)] command_id: String,
    #[server(flatten)] form: LimitForm,
) -> Result<Done, FnError> {
    let caller = here()?;
    let actor = caller.authorise(Action::QuotaWrite).await?;
    let mut problems = Problems::default();
    let scope = problems.keep(scope_of(&caller, &form.whose, &form.person).await)?;
    let resource = problems.keep(resource_of(&caller, &form.what).await)?;
    let limit = problems.take(match &resource {
        Some(resource) if resource.is_in_cores() => decimal("limit", "The number of cores", &form.limit, 3),
        _ => whole("limit", "The limit", &form.limit).map(u64::from),
    });
    let why = problems.take(parse_why(&form.why));
    let (Some((scope, name)), Some(resource), Some(limit), Some(why)) = (scope, resource, limit, why) else {
        return Err(problems.into_error().into());
    };
    let said = resource.amount(limit);
    let id = orders::command_id(&command_id)?;
    quota::set(&caller, id, scope, resource, Some(limit), why).await.map_err(|error| error.beside(&FIELDS))?;
    Ok(Done::go(paths::quota(&actor.workspace.slug), format!("{name} may hold {said}.")))
}

/// Takes a limit away. Needs `quota.write`.
#[server(prefix = "/fn", endpoint = "lift_limit")]
pub async fn lift_limit(
    #[server(default)] command_id: String,
    #[server(default)] whose: String,
    #[server(default)] person: String,
    #[server(default)] what: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    let actor = caller.authorise(Action::QuotaWrite).await?;
    let (scope, name) = scope_of(&caller, &whose, &person).await?;
    let resource = resource_of(&caller, &what).await?;
    let said = format!("The limit on {} was lifted: {name}.", resource.said());
    quota::set(&caller, orders::command_id(&command_id)?, scope, resource, None, None).await?;
    Ok(Done::go(paths::quota(&actor.workspace.slug), said))
}

/// Sets a person's weight. Needs `quota.write`.
#[server(prefix = "/fn", endpoint = "set_share")]
pub async fn set_share(
    #[server(default)] command_id: String,
    #[server(default)] person: String,
    #[server(default)] weight: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    let actor = caller.authorise(Action::QuotaWrite).await?;
    let mut problems = Problems::default();
    let person = problems.keep(quota::person_of(&caller, &person).await)?;
    let weight = problems.take(fair_shares::weight_of(&weight));
    let why = problems.take(parse_why(&why));
    let (Some(person), Some(weight), Some(why)) = (person, weight, why) else {
        return Err(problems.into_error().into());
    };
    let id = orders::command_id(&command_id)?;
    let answer = fair_shares::set_weight(&caller, id, person.id, weight, why).await?;
    let when = if answer == Answer::Already { "already" } else { "now" };
    let said = format!("{} has the weight {weight} {when}.", person.name);
    Ok(Done::go(paths::shares(&actor.workspace.slug), said))
}

/// Says after how long use counts half. Needs `quota.write`.
#[server(prefix = "/fn", endpoint = "set_half_life")]
pub async fn set_half_life(
    #[server(default)] command_id: String,
    #[server(default)] half_life: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    let actor = caller.authorise(Action::QuotaWrite).await?;
    let half_life = fair_shares::half_life_of(&half_life)?;
    fair_shares::set_half_life(&caller, orders::command_id(&command_id)?, half_life, None).await?;
    Ok(Done::go(paths::shares(&actor.workspace.slug), format!("What was used {half_life} ago counts half.")))
}

/// Says how a queue is served: of a cluster, or without one of serverless jobs. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "set_queue_policy")]
pub async fn set_queue_policy(
    #[server(default)] command_id: String,
    #[server(default)] cluster: String,
    #[server(default)] order: String,
    #[server(default)] backfill: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    caller.authorise(Action::ClusterScale).await?;
    let id = if cluster.is_empty() { None } else { Some(cluster::find(&caller, &cluster).await?) };
    let mut problems = Problems::default();
    let order = problems.take(fair_shares::order_of(&order));
    let why = problems.take(parse_why(&why));
    let (Some(order), Some(why)) = (order, why) else { return Err(problems.into_error().into()) };
    let policy = QueuePolicy { order, backfill: !backfill.is_empty() };
    fair_shares::set_policy(&caller, orders::command_id(&command_id)?, id, policy, why).await?;
    let whose = if id.is_none() { "Serverless jobs are".to_owned() } else { format!("The queue of {cluster} is") };
    let passing = if policy.backfill { "small jobs may pass" } else { "nobody passes" };
    Ok(Done::stay(format!("{whose} served {}; {passing}.", fair_shares::said_order(order))))
}

/// Whose limit it is, with the name that begins a sentence.
#[cfg(feature = "ssr")]
async fn scope_of(caller: &Caller, whose: &str, person: &str) -> Result<(Scope, String), AppError> {
    match whose {
        "workspace" => Ok((Scope::Workspace, "The workspace".to_owned())),
        "everybody" => Ok((Scope::Everybody, "Everybody without a limit of their own".to_owned())),
        "person" => {
            let person = quota::person_of(caller, person).await?;
            Ok((Scope::Person(person.id), person.name))
        }
        _ => Err(Problem::new("whose", "Choose whose limit it is.").into()),
    }
}

#[cfg(feature = "ssr")]
async fn resource_of(caller: &Caller, what: &str) -> Result<Resource, AppError> {
    let wrong = |message: String| AppError::invalid(Problem::new("what", message));
    if what.is_empty() {
        return Err(wrong("Choose what is limited.".into()));
    }
    let Some(family) = what.strip_prefix("cores/") else {
        let found = Resource::UNDIVIDED.into_iter().find(|resource| resource.key() == what);
        return found.ok_or_else(|| wrong(format!("There is no limit on “{}”.", shortened(what))));
    };
    match quota::family_of(caller, family).await {
        Err(AppError::Invalid { problems }) => {
            Err(wrong(problems.into_iter().map(|problem| problem.message).collect()))
        }
        family => family.map(Resource::Cores),
    }
}

/// A limit that is too low is the number's fault; what the engine calls a scope is asked for as “whose” here.
#[cfg(feature = "ssr")]
const FIELDS: [(&str, &str); 2] = [("limit-below-use", "limit"), ("scope", "whose")];
