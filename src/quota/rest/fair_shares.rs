//! Shares: read by everybody, set by those who may.

use atelier_domain::access::Action;
use atelier_domain::compute::fair_share::{QueuePolicy, check_half_life, check_weight};
use atelier_domain::text::{Problem, parse_why};
use atelier_domain::time::Span;
use atelier_studio::caller::Caller;
use atelier_studio::fair_shares::{PolicyRequest, ShareLine};
use atelier_studio::orders::ask;
use atelier_studio::{fair_shares as share, quota};
use serde::{Deserialize, Serialize};

use crate::server::rest::asked::{Asked, Json, NoParameters, Parameters};
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{ResourcesView, object, ok};

/// How a queue is served.
#[derive(Debug, Serialize)]
pub struct PolicyView {
    order: &'static str,
    backfill: bool,
}

impl From<QueuePolicy> for PolicyView {
    fn from(policy: QueuePolicy) -> Self {
        Self { order: policy.order.key(), backfill: policy.backfill }
    }
}

fn view(line: ShareLine) -> impl Serialize + use<> {
    let percent = |thousandths: u64| thousandths as f64 / 10.0;
    object! {
        person: object! { id: line.person.to_string(), name: line.name, email: line.email },
        weight: line.weight,
        // What they have used lately, faded, with what runs.
        used_core_hours: line.used as f64 / 10.0,
        // Share of all use; null if there was no use.
        used_percent: line.part.map(percent),
        // How much of it they are meant to have; null for who has neither jobs nor a weight.
        meant_percent: line.meant.map(percent),
        running: object! {
            jobs: line.running.jobs,
            #[serde(flatten)]
            resources: ResourcesView::from(line.running.shape),
        },
    }
}

/// `GET /shares?person=`: everybody's weight and use.
pub async fn list(asked: Asked, mut parameters: Parameters) -> Answered {
    let person = parameters.take("person")?.unwrap_or_default();
    parameters.none_left(&["person"])?;
    view_of(&asked.caller, &person).await
}

async fn view_of(caller: &Caller, part: &str) -> Answered {
    let shares = share::read(caller, part).await?;
    ok(&object! {
        half_life_hours: shares.half_life.as_millis() / 3_600_000,
        serverless: PolicyView::from(shares.serverless),
        people: shares.people.into_iter().map(view).collect::<Vec<_>>(),
        // People that were left out.
        left_out: shares.more,
    })
}

/// What may be set; what is left out stays as it is.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wanted {
    person: Option<String>,
    weight: Option<i64>,
    half_life_hours: Option<i64>,
    serverless: Option<PolicyRequest>,
    why: String,
}

/// `PUT /shares`: a person's weight, the half-life, or how serverless jobs are served.
pub async fn put(asked: Asked, _: NoParameters, Json(wanted): Json<Wanted>) -> Answered {
    let caller = &asked.caller;
    let id = asked.id_for("set-share", &wanted);
    let has_share = wanted.person.is_some() || wanted.weight.is_some();
    if !has_share && wanted.half_life_hours.is_none() && wanted.serverless.is_none() {
        let message = "Say what to set: person and weight, half_life_hours, or serverless.";
        return Err(Refusal::field("body", message));
    }
    if has_share || wanted.half_life_hours.is_some() {
        caller.authorise(Action::QuotaWrite).await?;
    }
    if wanted.serverless.is_some() {
        caller.authorise(Action::ClusterScale).await?;
    }
    // All is judged before anything is set, so that all of it happens or nothing does.
    let why = parse_why(&wanted.why)?;
    let person = match (&wanted.person, wanted.weight) {
        (Some(person), Some(weight)) => {
            check_weight(weight)?;
            Some((quota::person_of(caller, person).await?.id, weight))
        }
        (Some(_), None) => return Err(Refusal::field("weight", "Say how much: a weight between 1 and 1000.")),
        (None, Some(_)) => return Err(Refusal::field("person", "Say whose weight it is: an e-mail address or an id.")),
        (None, None) => None,
    };
    let half_life = wanted.half_life_hours.map(half_life).transpose()?;
    let workspace = caller.actor()?.workspace.id.clone();
    let present = ask(caller, move |world| world.fair_share_rules(&workspace).serverless).await?;
    let serverless = wanted.serverless.as_ref().map(|wanted| wanted.over(present)).transpose();
    let serverless = serverless?;
    if let Some((person, weight)) = person {
        share::set_weight(caller, id.clone(), person, weight, why.clone()).await?;
    }
    if let Some(half_life) = half_life {
        share::set_half_life(caller, id.beside("half-life"), half_life, why.clone()).await?;
    }
    if let Some(policy) = serverless {
        share::set_policy(caller, id.beside("serverless"), None, policy, why).await?;
    }
    view_of(caller, "").await
}

fn half_life(hours: i64) -> Result<Span, Problem> {
    let span = u32::try_from(hours).map_or(Span::ZERO, |hours| Span::hours(hours.min(1_000_000)));
    let named = |problem: Problem| Problem::new("half_life_hours", problem.message);
    check_half_life(span).map_err(named)
}
