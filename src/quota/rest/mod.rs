//! Quotas: read by everybody, set by those who may.

pub mod fair_shares;

use atelier_domain::compute::quota::{QuotaHolder, Resource, Scope};
use atelier_domain::text::{Problem, parse_why};
use atelier_studio::quota;
use atelier_studio::quota::QuotaLine;
use serde::{Deserialize, Serialize};

use crate::server::rest::asked::{Asked, Json, NoParameters, Parameters};
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{object, ok};

/// A number larger than this is a mistake.
const MOST: f64 = 1e9;

fn view(line: QuotaLine) -> impl Serialize + use<> {
    let unit = if line.resource.is_in_cores() { 1e3 } else { 1.0 };
    let number = |amount: u64| amount as f64 / unit;
    let holder = |holding: &quota::Holding| {
        object! {
            kind: match holding.holder {
                QuotaHolder::Instance(_) => "instance",
                QuotaHolder::Cluster(_) => "cluster",
                QuotaHolder::Serverless => "serverless",
            },
            name: holding.name.clone(),
            amount: number(holding.amount),
        }
    };
    object! {
        scope: line.scope.key(),
        person: match &line.scope {
            Scope::Person(id) => Some(object! { id: id.to_string(), name: line.person.clone() }),
            Scope::Workspace | Scope::Everybody => None,
        },
        resource: line.resource.key(),
        family: match &line.resource {
            Resource::Cores(family) => Some(family.to_string()),
            _ => None,
        },
        limit: line.limit.map(number),
        is_own: line.is_own,
        held: number(line.held),
        left: line.limit.map(|limit| number(limit.saturating_sub(line.held))),
        held_by: line.by.iter().map(holder).collect::<Vec<_>>(),
    }
}

/// `GET /quota?person=`: limits and what is held, of the workspace, of everybody and of people.
pub async fn list(asked: Asked, mut parameters: Parameters) -> Answered {
    let person = parameters.take("person")?.unwrap_or_default();
    parameters.none_left(&["person"])?;
    let quotas = quota::read(&asked.caller, &person).await?;
    let all = quotas.workspace.into_iter().chain(quotas.everybody).chain(quotas.people);
    // Rows of people that were left out are counted.
    ok(&object! { quotas: all.map(view).collect::<Vec<_>>(), left_out: quotas.more })
}

/// A limit as a whole; `limit` must be there, and null lifts it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    scope: String,
    #[serde(default)]
    person: String,
    resource: String,
    #[serde(default)]
    family: String,
    #[serde(deserialize_with = "Option::deserialize")]
    limit: Option<f64>,
    #[serde(default)]
    why: String,
}

/// `PUT /quota`: sets a limit, or lifts it.
pub async fn put(asked: Asked, _: NoParameters, Json(wanted): Json<Wanted>) -> Answered {
    let caller = &asked.caller;
    let id = asked.id_for("set-limit", &wanted);
    caller.authorise(atelier_domain::access::Action::QuotaWrite).await?;
    let scope = match (wanted.scope.as_str(), wanted.person.as_str()) {
        ("workspace", "") => Scope::Workspace,
        ("everybody", "") => Scope::Everybody,
        ("person", typed) => Scope::Person(quota::person_of(caller, typed).await?.id),
        ("workspace" | "everybody", _) => {
            return Err(Refusal::field("person", "Name a person only where “scope” is person."));
        }
        _ => return Err(Refusal::field("scope", "“scope” is workspace, everybody or person.")),
    };
    let undivided = Resource::UNDIVIDED.into_iter().find(|resource| resource.key() == wanted.resource);
    let resource = match (undivided, wanted.resource.as_str()) {
        (None, "cores") => Resource::Cores(quota::family_of(caller, &wanted.family).await?),
        (Some(resource), _) if wanted.family.is_empty() => resource,
        (Some(_), _) => return Err(Refusal::field("family", "Only “cores” are limited by their family.")),
        (None, _) => {
            let allowed = "“resource” is cores, gpus, computes, running-jobs, running-cores or running-gpus.";
            return Err(Refusal::field("resource", allowed));
        }
    };
    let limit = wanted.limit.map(|limit| amount(&resource, limit)).transpose()?;
    let why = parse_why(&wanted.why)?;
    quota::set(caller, id, scope.clone(), resource.clone(), limit, why).await?;
    let quotas = quota::read(caller, "").await?;
    let mut all = quotas.workspace.into_iter().chain(quotas.everybody).chain(quotas.people);
    let found = all.find(|line| line.scope == scope && line.resource == resource);
    // What was lifted and is not held has no row.
    ok(&view(found.unwrap_or_else(|| QuotaLine {
        scope,
        email: String::new(),
        person: String::new(),
        resource,
        limit: None,
        is_own: false,
        held: 0,
        by: Vec::new(),
    })))
}

fn amount(resource: &Resource, limit: f64) -> Result<u64, Problem> {
    let wrong = |what: &str| Problem::new("limit", format!("{what}; this is {limit}."));
    if !(0.0..=MOST).contains(&limit) {
        return Err(wrong("A limit is a number from 0 to 1,000,000,000, or null for none"));
    }
    if resource.is_in_cores() {
        Ok((limit * 1e3).round() as u64)
    } else if limit.fract() == 0.0 {
        Ok(limit as u64)
    } else {
        Err(wrong("All but cores is limited by a whole number"))
    }
}
