//! What is done to jobs beside cancelling them: held, released, moved, and evicted; and nodes taken back.

use atelier_domain::access::Action;
use atelier_domain::compute::{JobId, NodeId};
use atelier_domain::text::parse_why;
use atelier_studio::jobs::turn;
use atelier_studio::jobs::turn::{Among, Step};
use axum::extract::Path;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::error::AppError;
use crate::jobs::rest::{Nothing, described, found, job_id};
use crate::server::rest::asked::{Asked, Json, OptionalJson};
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::json;

/// Why, for the history.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Why {
    why: String,
}

/// The job that is asked for, if it is here.
async fn known(asked: &Asked, id: &str) -> Answered<JobId> {
    asked.caller.authorise(Action::JobRead).await?;
    let id = job_id(id)?;
    found(&asked.caller, id).await.map(|row| row.job.id)
}

async fn shown(asked: &Asked, id: JobId) -> Answered {
    let row = found(&asked.caller, id).await?;
    Ok(json(StatusCode::OK, &described(&asked.caller, row).await?))
}

/// `POST /jobs/{id}/hold`: keeps a waiting job from starting.
pub async fn hold(asked: Asked, Path(id): Path<String>, OptionalJson(why): OptionalJson<Why>) -> Answered {
    let job = known(&asked, &id).await?;
    let reason = parse_why(&why.why).map_err(AppError::from)?;
    turn::hold(&asked.caller, asked.id_for("hold", &(job, &why)), job, reason).await?;
    shown(&asked, job).await
}

/// `POST /jobs/{id}/release`: lets it start again.
pub async fn release(asked: Asked, Path(id): Path<String>, _: OptionalJson<Nothing>) -> Answered {
    let job = known(&asked, &id).await?;
    turn::release(&asked.caller, asked.id_for("release", &job), job).await?;
    shown(&asked, job).await
}

/// `POST /jobs/{id}/evict`: ends a running job as if its node were taken back.
pub async fn evict(asked: Asked, Path(id): Path<String>, OptionalJson(why): OptionalJson<Why>) -> Answered {
    let job = known(&asked, &id).await?;
    let reason = parse_why(&why.why).map_err(AppError::from)?;
    turn::evict(&asked.caller, asked.id_for("evict", &(job, &why)), job, reason).await?;
    shown(&asked, job).await
}

/// Where to.
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
    let job = known(&asked, &id).await?;
    let step = Step::parse(&wanted.to, &wanted.before).map_err(AppError::from)?;
    let among = Among::parse(&wanted.among).map_err(AppError::from)?;
    turn::shift(&asked.caller, asked.id_for("move", &(job, &wanted)), job, step, among).await?;
    shown(&asked, job).await
}

#[derive(Debug, Serialize)]
struct NodeView {
    id: String,
    state: &'static str,
}

/// `POST /nodes/{id}/evict`: takes a node back, with notice to what runs there.
pub async fn evict_node(asked: Asked, Path(id): Path<String>, OptionalJson(why): OptionalJson<Why>) -> Answered {
    asked.caller.authorise(Action::ClusterRead).await?;
    let node = NodeId::parse(&id).ok_or_else(|| Refusal::not_found("node"))?;
    let reason = parse_why(&why.why).map_err(AppError::from)?;
    turn::evict_node(&asked.caller, asked.id_for("evict-node", &(node, &why)), node, reason).await?;
    Ok(json(StatusCode::ACCEPTED, &NodeView { id: node.to_string(), state: "leaving" }))
}
