//! What is done to jobs that exist: canceled, held, released, moved, and evicted; and nodes taken back.

use atelier_domain::access::Action;
use atelier_domain::compute::job::JobState;
use atelier_domain::compute::verb::{JobVerb, Verb};
use atelier_domain::compute::{JobId, NodeId};
use atelier_engine::store::JobRow;
use atelier_studio::jobs::actions;
use atelier_studio::jobs::turn::{self, Among, Step};
use axum::extract::Path;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::AppError;
use crate::jobs::rest::{described, found, job_id};
use crate::server::rest::asked::{Asked, Json, OptionalJson, Why};
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{done, json, ok};

/// Nothing needs to be said.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// The job that is asked for, if it is here.
async fn known(asked: &Asked, id: &str) -> Answered<JobRow> {
    asked.caller.authorise(Action::JobRead).await?;
    found(&asked.caller, job_id(id)?).await
}

async fn shown(asked: &Asked, id: JobId) -> Answered {
    let row = found(&asked.caller, id).await?;
    ok(&described(&asked.caller, row, None).await?)
}

/// Carries a verb out that needs no more than a reason.
async fn act(asked: &Asked, id: &str, verb: JobVerb, why: &Why) -> Answered {
    let row = known(asked, id).await?;
    let job = row.job.id;
    if verb == JobVerb::Cancel && row.state == JobState::Canceled {
        return shown(asked, job).await;
    }
    let reason = why.read()?;
    let command = match verb {
        JobVerb::Cancel | JobVerb::Release => asked.id_for(verb.key(), &job),
        _ => asked.id_for(verb.key(), &(job, why)),
    };
    match actions::act(&asked.caller, command, verb, job, reason).await {
        // Another request has just canceled it, which is what was asked for.
        Err(error) if verb == JobVerb::Cancel && actions::is_over(&error, job) => {
            let row = found(&asked.caller, job).await?;
            if row.state != JobState::Canceled {
                return Err(error.into());
            }
        }
        done => {
            done?;
        }
    }
    shown(asked, job).await
}

/// `POST /jobs/{id}/cancel`.
pub async fn cancel(asked: Asked, Path(id): Path<String>, _: OptionalJson<Nothing>) -> Answered {
    act(&asked, &id, JobVerb::Cancel, &Why::default()).await
}

/// `POST /jobs/{id}/hold`: keeps a waiting job from starting.
pub async fn hold(asked: Asked, Path(id): Path<String>, OptionalJson(why): OptionalJson<Why>) -> Answered {
    act(&asked, &id, JobVerb::Hold, &why).await
}

/// `POST /jobs/{id}/release`: lets it start again.
pub async fn release(asked: Asked, Path(id): Path<String>, _: OptionalJson<Nothing>) -> Answered {
    act(&asked, &id, JobVerb::Release, &Why::default()).await
}

/// `POST /jobs/{id}/evict`: ends a running job as if its node were taken back.
pub async fn evict(asked: Asked, Path(id): Path<String>, OptionalJson(why): OptionalJson<Why>) -> Answered {
    act(&asked, &id, JobVerb::Evict, &why).await
}

/// Carries a verb out on all jobs of an array that it fits. Any job of the array names it.
async fn act_on_array(asked: &Asked, id: &str, verb: JobVerb, why: &Why) -> Answered {
    let row = known(asked, id).await?;
    let place = row.job.array.ok_or_else(|| Refusal::not_found("array"))?;
    let reason = why.read()?;
    let command = match verb {
        JobVerb::Hold => asked.id_for("hold-array", &(place.first, why)),
        _ => asked.id_for(&format!("{}-array", verb.key()), &place.first),
    };
    let all = [actions::Chosen::Array(place.first).to_string()];
    let count = match actions::act_on_all(&asked.caller, &command, verb, &all, reason.as_deref()).await {
        Ok(outcome) => outcome.count,
        // All of it is over, which is what was asked for.
        Err(AppError::Refused { .. }) if verb == JobVerb::Cancel => 0,
        Err(error) => return Err(error.into()),
    };
    // Those that it wasn't done to have moved on.
    ok(&json!({ "array": place.first.to_string(), "count": count }))
}

/// `POST /arrays/{id}/cancel`: ends every job of an array that isn't over.
pub async fn cancel_array(asked: Asked, Path(id): Path<String>, _: OptionalJson<Nothing>) -> Answered {
    act_on_array(&asked, &id, JobVerb::Cancel, &Why::default()).await
}

/// `POST /arrays/{id}/hold`: keeps the waiting jobs of an array from starting.
pub async fn hold_array(asked: Asked, Path(id): Path<String>, OptionalJson(why): OptionalJson<Why>) -> Answered {
    act_on_array(&asked, &id, JobVerb::Hold, &why).await
}

/// `POST /arrays/{id}/release`: lets them start again.
pub async fn release_array(asked: Asked, Path(id): Path<String>, _: OptionalJson<Nothing>) -> Answered {
    act_on_array(&asked, &id, JobVerb::Release, &Why::default()).await
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Move {
    to: String,
    #[serde(default)]
    before: String,
    #[serde(default)]
    among: String,
}

/// `POST /jobs/{id}/move`: changes a job's place in its queue.
pub async fn shift(asked: Asked, Path(id): Path<String>, Json(wanted): Json<Move>) -> Answered {
    let job = known(&asked, &id).await?.job.id;
    let step = Step::parse(&wanted.to, &wanted.before)?;
    let among = Among::parse(&wanted.among)?;
    turn::shift(&asked.caller, asked.id_for("move", &(job, &wanted)), job, step, among).await?;
    shown(&asked, job).await
}

/// `POST /nodes/{id}/evict`: takes a node back, with notice to what runs there.
pub async fn evict_node(asked: Asked, Path(id): Path<String>, OptionalJson(why): OptionalJson<Why>) -> Answered {
    asked.caller.authorise(Action::ClusterRead).await?;
    let node = NodeId::parse(&id).ok_or_else(|| Refusal::not_found("node"))?;
    let reason = why.read()?;
    actions::evict_node(&asked.caller, asked.id_for("evict-node", &(node, &why)), node, reason).await?;
    Ok(json(done(Verb::EvictNode), &json!({ "id": node.to_string(), "state": "leaving" })))
}
