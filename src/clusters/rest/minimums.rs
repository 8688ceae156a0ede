//! Schedules of clusters: the minimum at certain times.

use atelier_domain::compute::{ClusterId, ScheduleId};
use atelier_domain::schedule::recurrence::Parts;
use atelier_domain::schedule::{Action, Schedule};
use atelier_domain::world::{Answer, ScheduleTarget};
use atelier_studio::clusters::{commands as cluster, minimum};
use atelier_studio::schedules::commands as schedule;
use atelier_studio::schedules::request::timetable_of;
use atelier_studio::schedules::week::as_cron;
use axum::extract::Path;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::server::rest::asked::{Asked, Json, NoParameters};
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{When, created, listed, object, ok};

/// The times that a schedule is shown with.
const SHOWN: usize = 5;

fn view(cluster: &str, id: ScheduleId, schedule: &Schedule) -> impl Serialize + use<> {
    let times = schedule.timetable.preview(SHOWN, atelier_engine::clock::now().max(schedule.since));
    object! {
        id: id.to_string(),
        cluster: cluster.to_lowercase(),
        // The fewest nodes from then on.
        nodes: match schedule.action {
            Action::MinNodes(nodes) => nodes,
            Action::Start | Action::Stop => 0,
        },
        sentence: schedule.sentence(),
        cron: as_cron(&schedule.timetable),
        time_zone: schedule.timetable.zone().as_str().to_owned(),
        enabled: schedule.is_enabled,
        next: times.iter().filter(|_| schedule.is_enabled).map(|firing| When(firing.at)).collect::<Vec<_>>(),
    }
}

/// `GET /clusters/{name}/schedules`, in the order in which they were made.
pub async fn list(asked: Asked, Path(name): Path<String>, _: NoParameters) -> Answered {
    let cluster = cluster::find(&asked.caller, &name).await?;
    let all = schedule::of(&asked.caller, ScheduleTarget::Cluster(cluster)).await?;
    listed("schedules", all.iter().map(|(id, schedule)| view(&name, *id, schedule)))
}

/// A minimum, and when it begins to count.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    nodes: u32,
    #[serde(default)]
    cron: Option<String>,
    #[serde(default)]
    recurrence: Option<Parts>,
    #[serde(default)]
    time_zone: Option<String>,
    #[serde(default)]
    start: Option<String>,
}

/// `POST /clusters/{name}/schedules`.
pub async fn add(asked: Asked, Path(name): Path<String>, Json(wanted): Json<Wanted>) -> Answered {
    let cluster = cluster::find(&asked.caller, &name).await?;
    let Wanted { cron, recurrence, time_zone, start, .. } = &wanted;
    let timetable = timetable_of(cron.as_deref(), recurrence.as_ref(), time_zone.as_deref(), start.as_deref());
    let timetable = timetable.map_err(Refusal::invalid)?;
    let id = asked.id_for("add-minimum", &(&name, &wanted));
    let done = minimum::add(&asked.caller, id.clone(), cluster, wanted.nodes, timetable).await;
    let made = asked.or_known(&id, done, |answer| match answer {
        Answer::Schedule(id) => Some(id),
        _ => None,
    });
    let made = made.await?;
    let path = format!("/api/v1/clusters/{}/schedules/{made}", name.to_lowercase());
    Ok(created(&path, &view_of(&asked, &name, cluster, made).await?))
}

/// `GET /clusters/{name}/schedules/{id}`.
pub async fn show(asked: Asked, Path((name, id)): Path<(String, String)>, _: NoParameters) -> Answered {
    let cluster = cluster::find(&asked.caller, &name).await?;
    ok(&view_of(&asked, &name, cluster, parsed(&id)?).await?)
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    enabled: bool,
}

/// `PATCH /clusters/{name}/schedules/{id}`: switches it on or off.
pub async fn change(asked: Asked, Path((name, id)): Path<(String, String)>, Json(switch): Json<Switch>) -> Answered {
    let cluster = cluster::find(&asked.caller, &name).await?;
    let which = parsed(&id)?;
    let command = asked.id_for("switch-minimum", &(&name, &id, &switch));
    minimum::enable(&asked.caller, command.beside("enabled"), cluster, which, switch.enabled).await?;
    ok(&view_of(&asked, &name, cluster, which).await?)
}

/// `DELETE /clusters/{name}/schedules/{id}`.
pub async fn delete(asked: Asked, Path((name, id)): Path<(String, String)>, _: NoParameters) -> Answered {
    let cluster = cluster::find(&asked.caller, &name).await?;
    let which = parsed(&id)?;
    let command = asked.id_for("delete-minimum", &(&name, &id));
    let found = schedule::find(&asked.caller, ScheduleTarget::Cluster(cluster), which).await.map(Some);
    if asked.or_known(&command, found, |_| Some(None)).await?.is_some() {
        minimum::remove(&asked.caller, command, cluster, which).await?;
    }
    ok(&json!({ "id": id, "state": "deleted" }))
}

fn parsed(id: &str) -> Answered<ScheduleId> {
    ScheduleId::parse(id).ok_or_else(|| Refusal::not_found("schedule"))
}

async fn view_of(asked: &Asked, name: &str, cluster: ClusterId, id: ScheduleId) -> Answered<impl Serialize> {
    let schedule = schedule::find(&asked.caller, ScheduleTarget::Cluster(cluster), id).await?;
    Ok(view(name, id, &schedule))
}
