//! Clusters: made, scaled, tagged, paused, deleted.

pub mod minimums;
pub mod nodes;
pub mod view;

use atelier_domain::compute::ClusterId;
use atelier_domain::compute::verb::Verb;
use atelier_domain::text::parse_why;
use atelier_domain::world::Answer;
use atelier_studio::caller::Caller;
use atelier_studio::clusters::commands as cluster;
use atelier_studio::clusters::commands::{ChangeRequest, ClusterRequest, RunningJobs};
use atelier_studio::clusters::list::{all_clusters, one_cluster};
use atelier_studio::orders::ask;
use axum::extract::Path;
use serde::Serialize;
use serde_json::json;

use crate::clusters::rest::view::path;
use crate::server::rest::asked::{Asked, Json, NoParameters, OptionalJson, Parameters, Why};
use crate::server::rest::people::People;
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{created, done, json, listed, ok};

/// `GET /clusters`, by name.
pub async fn list(asked: Asked, _: NoParameters) -> Answered {
    let caller = &asked.caller;
    let found = all_clusters(caller).await?;
    let people = People::of(caller, found.iter().map(|row| row.cluster.owner.clone())).await?;
    listed("clusters", found.into_iter().map(|row| view::cluster(row, &people)))
}

/// `POST /clusters`.
pub async fn create(asked: Asked, Json(request): Json<ClusterRequest>) -> Answered {
    let id = asked.id_for("create", &request);
    let made = cluster::create(&asked.caller, id.clone(), &request).await;
    let made = asked.or_known(&id, made, |answer| match answer {
        Answer::Cluster(id) => Some(id),
        _ => None,
    });
    let view = view_of(&asked.caller, made.await?).await?;
    Ok(created(&path(&request.name.to_lowercase()), &view))
}

/// `GET /clusters/{name}`.
pub async fn show(asked: Asked, Path(name): Path<String>, _: NoParameters) -> Answered {
    let id = cluster::find(&asked.caller, &name).await?;
    ok(&view_of(&asked.caller, id).await?)
}

/// `PATCH /clusters/{name}`: all of it, or nothing.
pub async fn change(asked: Asked, Path(name): Path<String>, Json(change): Json<ChangeRequest>) -> Answered {
    let caller = &asked.caller;
    let cluster = cluster::find(caller, &name).await?;
    caller.authorise(Verb::ScaleCluster.right()).await?;
    let id = asked.id_for("change", &(&name, &change));
    if change == (ChangeRequest { why: change.why.clone(), ..ChangeRequest::default() }) {
        return Err(Refusal::field("body", "Say what to change: min, max, idle_seconds, warm, queue or tags."));
    }
    cluster::change(caller, id, cluster, change).await?;
    shown(caller, Verb::ScaleCluster, cluster).await
}

/// `POST /clusters/{name}/pause`.
pub async fn pause(asked: Asked, Path(name): Path<String>, OptionalJson(why): OptionalJson<Why>) -> Answered {
    set_paused(&asked, &name, Verb::PauseCluster, &why).await
}

/// `POST /clusters/{name}/resume`.
pub async fn resume(asked: Asked, Path(name): Path<String>, OptionalJson(why): OptionalJson<Why>) -> Answered {
    set_paused(&asked, &name, Verb::ResumeCluster, &why).await
}

async fn set_paused(asked: &Asked, name: &str, verb: Verb, why: &Why) -> Answered {
    let caller = &asked.caller;
    let cluster = cluster::find(caller, name).await?;
    let id = asked.id_for(verb.key(), &cluster);
    cluster::set_paused(caller, id, cluster, verb == Verb::PauseCluster, why.read()?).await?;
    shown(caller, verb, cluster).await
}

async fn shown(caller: &Caller, verb: Verb, cluster: ClusterId) -> Answered {
    Ok(json(done(verb), &view_of(caller, cluster).await?))
}

/// `DELETE /clusters/{name}?jobs=wait|end`: on its way when this is answered, or gone.
pub async fn delete(asked: Asked, Path(name): Path<String>, mut parameters: Parameters) -> Answered {
    let caller = &asked.caller;
    let jobs = match parameters.take("jobs")? {
        Some(text) => RunningJobs::parse(&text)?,
        None => RunningJobs::Wait,
    };
    let why = parse_why(&parameters.take("why")?.unwrap_or_default())?;
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
    Ok(json(done(Verb::DeleteCluster), &json!({ "name": name.to_lowercase(), "state": state })))
}

async fn view_of(caller: &Caller, id: ClusterId) -> Answered<impl Serialize> {
    let row = one_cluster(caller, id).await?.ok_or_else(|| Refusal::not_found("cluster"))?;
    let people = People::of(caller, [row.cluster.owner.clone()]).await?;
    Ok(view::cluster(row, &people))
}
