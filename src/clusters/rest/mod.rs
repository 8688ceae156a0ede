//! Clusters: made, scaled, tagged, paused, deleted.

pub mod minimums;
pub mod nodes;
pub mod view;

use atelier_domain::access::Action;
use atelier_domain::compute::ClusterId;
use atelier_domain::compute::cluster::Cluster;
use atelier_domain::compute::tags::Tags;
use atelier_domain::text::parse_why;
use atelier_domain::world::Answer;
use atelier_studio::caller::Caller;
use atelier_studio::clusters::commands as cluster;
use atelier_studio::clusters::commands::{ClusterRequest, RunningJobs, ScaleRequest};
use atelier_studio::fair_shares as share;
use atelier_studio::fair_shares::PolicyRequest;
use atelier_studio::orders::ask;
use axum::extract::Path;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::clusters::rest::view::{ClusterView, path};
use crate::error::AppError;
use crate::server::rest::asked::{Asked, Json, OptionalJson, Parameters, beside};
use crate::server::rest::people::People;
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{created, json};

#[derive(Debug, Serialize)]
struct ClustersView {
    clusters: Vec<ClusterView>,
}

/// `GET /clusters`, by name.
pub async fn list(asked: Asked, parameters: Parameters) -> Answered {
    parameters.none_left(&[])?;
    let caller = &asked.caller;
    caller.authorise(Action::ClusterRead).await?;
    let workspace = caller.actor()?.workspace.id.clone();
    let found = ask(caller, move |world| {
        let mut clusters: Vec<_> = world.clusters().filter(|cluster| cluster.workspace == workspace).collect();
        clusters.sort_by(|a, b| a.name.cmp(&b.name));
        let view = |cluster: &Cluster| (cluster.owner.clone(), ClusterView::of(world, cluster));
        clusters.into_iter().map(view).collect::<Vec<_>>()
    });
    let found = found.await?;
    let people = People::of(caller, found.iter().map(|(owner, _)| owner.clone())).await?;
    let clusters = found.into_iter().map(|(owner, view)| view.of_person(&owner, &people)).collect();
    Ok(json(StatusCode::OK, &ClustersView { clusters }))
}

/// `POST /clusters`.
pub async fn create(asked: Asked, Json(request): Json<ClusterRequest>) -> Answered {
    let id = asked.id_for("create", &request);
    let done = cluster::create(&asked.caller, id.clone(), &request).await;
    let made = asked.or_known(&id, done, |answer| match answer {
        Answer::Cluster(id) => Some(id),
        _ => None,
    });
    let view = view_of(&asked.caller, made.await?).await?;
    Ok(created(&path(&request.name.to_lowercase()), &view))
}

/// `GET /clusters/{name}`.
pub async fn show(asked: Asked, Path(name): Path<String>, parameters: Parameters) -> Answered {
    parameters.none_left(&[])?;
    let id = cluster::find(&asked.caller, &name).await?;
    Ok(json(StatusCode::OK, &view_of(&asked.caller, id).await?))
}

/// What may be changed; what is left out stays as it is.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Change {
    min: Option<u32>,
    max: Option<u32>,
    idle_seconds: Option<u64>,
    warm: Option<u32>,
    queue: Option<PolicyRequest>,
    tags: Option<Tags>,
    why: String,
}

/// `PATCH /clusters/{name}`.
pub async fn change(asked: Asked, Path(name): Path<String>, Json(change): Json<Change>) -> Answered {
    let caller = &asked.caller;
    let cluster = cluster::find(caller, &name).await?;
    caller.authorise(Action::ClusterScale).await?;
    let id = asked.id_for("change", &(&name, &change));
    let why = parse_why(&change.why).map_err(AppError::from)?;
    let scale = ScaleRequest { min: change.min, max: change.max, idle_seconds: change.idle_seconds, warm: change.warm };
    let scales = scale != ScaleRequest::default();
    if !scales && change.tags.is_none() && change.queue.is_none() {
        return Err(Refusal::field("body", "Say what to change: min, max, idle_seconds, warm, queue or tags."));
    }
    // Judged before anything is done, so that all of it happens or nothing does.
    let present = ask(caller, move |world| world.cluster(cluster).map(|cluster| cluster.queue)).await?;
    let policy = change.queue.as_ref().map(|queue| queue.over(present.unwrap_or_default())).transpose();
    let policy = policy.map_err(AppError::from)?;
    if let Some(tags) = &change.tags {
        tags.check().map_err(AppError::from)?;
    }
    let (id_of_tags, id_of_queue) = (beside(&id, "tags"), beside(&id, "queue"));
    if scales {
        cluster::scale(caller, id, cluster, scale, why.clone()).await?;
    }
    if let Some(policy) = policy {
        share::set_policy(caller, id_of_queue, Some(cluster), policy, why).await?;
    }
    if let Some(tags) = change.tags {
        cluster::tag(caller, id_of_tags, cluster, tags).await?;
    }
    Ok(json(StatusCode::OK, &view_of(caller, cluster).await?))
}

/// Why, for the history.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Why {
    why: String,
}

/// `POST /clusters/{name}/pause`.
pub async fn pause(asked: Asked, Path(name): Path<String>, OptionalJson(why): OptionalJson<Why>) -> Answered {
    let caller = &asked.caller;
    let cluster = cluster::find(caller, &name).await?;
    let why = parse_why(&why.why).map_err(AppError::from)?;
    cluster::pause(caller, asked.id_for("pause", &cluster), cluster, why).await?;
    Ok(json(StatusCode::OK, &view_of(caller, cluster).await?))
}

/// `POST /clusters/{name}/resume`.
pub async fn resume(asked: Asked, Path(name): Path<String>, OptionalJson(why): OptionalJson<Why>) -> Answered {
    let caller = &asked.caller;
    let cluster = cluster::find(caller, &name).await?;
    let why = parse_why(&why.why).map_err(AppError::from)?;
    cluster::resume(caller, asked.id_for("resume", &cluster), cluster, why).await?;
    Ok(json(StatusCode::OK, &view_of(caller, cluster).await?))
}

#[derive(Debug, Serialize)]
struct GoneView {
    name: String,
    state: &'static str,
}

/// `DELETE /clusters/{name}?jobs=wait|end`: on its way when this is answered, or gone.
pub async fn delete(asked: Asked, Path(name): Path<String>, mut parameters: Parameters) -> Answered {
    let caller = &asked.caller;
    let jobs = match parameters.take("jobs")? {
        Some(text) => RunningJobs::parse(&text).map_err(AppError::from)?,
        None => RunningJobs::Wait,
    };
    let why = parse_why(&parameters.take("why")?.unwrap_or_default()).map_err(AppError::from)?;
    parameters.none_left(&["jobs", "why"])?;
    let id = asked.id_for("delete", &(&name, jobs == RunningJobs::End));
    let cluster = asked.or_known(&id, cluster::find(caller, &name).await.map(Some), |_| Some(None)).await?;
    let state = match cluster {
        Some(cluster) => {
            cluster::delete(caller, id, cluster, jobs, why).await?;
            let is_there = ask(caller, move |world| world.cluster(cluster).is_some()).await?;
            if is_there { "deleting" } else { "deleted" }
        }
        // It was deleted when this was asked before.
        None => "deleted",
    };
    Ok(json(StatusCode::ACCEPTED, &GoneView { name: name.to_lowercase(), state }))
}

async fn view_of(caller: &Caller, id: ClusterId) -> Answered<ClusterView> {
    let found = ask(caller, move |world| ClusterView::by_id(world, id)).await?;
    let (owner, view) = found.ok_or_else(|| Refusal::not_found("cluster"))?;
    let people = People::of(caller, [owner.clone()]).await?;
    Ok(view.of_person(&owner, &people))
}
