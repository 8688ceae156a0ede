//! Schedules of instances: listed, added, changed, skipped, deleted; and what times would be before anything
//! is saved.

use atelier_domain::Timestamp;
use atelier_domain::compute::ScheduleId;
use atelier_domain::schedule::recurrence::Parts;
use atelier_domain::schedule::{Schedule, StopJobs, Timetable, Trigger, Zone};
use atelier_domain::world::{Answer, Order};
use atelier_studio::instances::commands as instance;
use atelier_studio::instances::commands::Subject;
use atelier_studio::schedules::commands as schedule;
use atelier_studio::schedules::request::{ScheduleRequest, timetable_of};
use atelier_studio::schedules::week::as_cron;
use axum::extract::Path;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::server::rest::asked::{Asked, Json, NoParameters, OptionalJson};
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{When, created, listed, object, ok};

/// The times that a schedule is shown with.
const SHOWN: usize = 5;
/// The most times of one preview.
const MOST_PREVIEWED: usize = 100;

/// One time at which it fires.
#[derive(Debug, Serialize)]
struct TimeView {
    at: When,
    local: String,
    utc_offset: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    there: Option<String>,
    note: Option<String>,
}

fn view(instance: &str, id: ScheduleId, schedule: &Schedule) -> impl Serialize + use<> {
    let (timetable, now) = (&schedule.timetable, atelier_engine::clock::now());
    object! {
        id: id.to_string(),
        instance: instance.to_owned(),
        action: schedule.action.key(),
        sentence: schedule.sentence(),
        cron: as_cron(timetable),
        recurrence: match timetable.trigger() {
            Trigger::Recurrence(recurrence) => Some(Parts::from(recurrence.clone())),
            Trigger::Cron(_) => None,
        },
        time_zone: timetable.zone().as_str().to_owned(),
        start: timetable.start().map(String::from),
        jobs: schedule.jobs.key(),
        drain_minutes: match schedule.jobs {
            StopJobs::Drain(span) => Some(span.as_millis() / 60_000),
            StopJobs::Now | StopJobs::Skip => None,
        },
        enabled: schedule.is_enabled,
        skipped: schedule.dismissed.filter(|at| *at > now).map(When),
        next: if schedule.is_enabled { times(timetable, SHOWN, now.max(schedule.since), None) } else { Vec::new() },
    }
}

fn times(timetable: &Timetable, count: usize, from: Timestamp, elsewhere: Option<&Zone>) -> Vec<TimeView> {
    let zone = elsewhere.unwrap_or_else(|| timetable.zone());
    let view = |previewed: atelier_domain::schedule::Previewed| TimeView {
        at: When(previewed.firing.at),
        local: String::from(previewed.firing.local),
        utc_offset: previewed.firing.utc_offset.to_string(),
        there: elsewhere.map(|_| String::from(previewed.there)),
        note: previewed.explanation,
    };
    timetable.preview_with(count, from, zone).into_iter().map(view).collect()
}

/// `GET /instances/{name}/schedules`, in the order in which they were made.
pub async fn list(asked: Asked, Path(name): Path<String>, _: NoParameters) -> Answered {
    let subject = instance::find(&asked.caller, &name).await?;
    let all = schedule::of(&asked.caller, subject.target()).await?;
    listed("schedules", all.iter().map(|(id, one)| view(subject.name.as_str(), *id, one)))
}

/// `GET /instances/{name}/schedules/{id}`.
pub async fn show(asked: Asked, Path((name, id)): Path<(String, String)>, _: NoParameters) -> Answered {
    let subject = instance::find(&asked.caller, &name).await?;
    ok(&view_of(&asked, &subject, parsed(&id)?).await?)
}

/// `POST /instances/{name}/schedules`.
pub async fn add(asked: Asked, Path(name): Path<String>, Json(request): Json<ScheduleRequest>) -> Answered {
    let subject = instance::find(&asked.caller, &name).await?;
    let new = request.schedule().map_err(Refusal::invalid)?;
    let id = asked.id_for("add-schedule", &(&name, &request));
    let done = schedule::add(&asked.caller, id.clone(), &subject, &new).await;
    let made = asked.or_known(&id, done, |answer| match answer {
        Answer::Schedule(id) => Some(id),
        _ => None,
    });
    let made = made.await?;
    if request.enabled == Some(false) {
        let off = Order::EnableSchedule { schedule: made, is_enabled: false };
        instance::carry_out(&asked.caller, id.beside("enabled"), &subject, off, None).await?;
    }
    let path = format!("/api/v1/instances/{}/schedules/{made}", subject.name);
    Ok(created(&path, &view_of(&asked, &subject, made).await?))
}

/// `PATCH /instances/{name}/schedules/{id}`: what is left out stays as it is.
pub async fn change(
    asked: Asked,
    Path((name, id)): Path<(String, String)>,
    Json(request): Json<ScheduleRequest>,
) -> Answered {
    let subject = instance::find(&asked.caller, &name).await?;
    let which = parsed(&id)?;
    let known = schedule::find(&asked.caller, subject.target(), which).await?;
    if request == ScheduleRequest::default() {
        let fields = "action, cron, recurrence, time_zone, start, jobs, drain_minutes or enabled";
        return Err(Refusal::field("body", format!("Say what to change: {fields}.")));
    }
    let id = asked.id_for("change-schedule", &(&name, &id, &request));
    // Judged before anything is done, so that both happen or neither does.
    let new = request.is_more_than_a_switch().then(|| request.over(&known)).transpose().map_err(Refusal::invalid)?;
    if let Some(new) = new {
        instance::carry_out(&asked.caller, id.beside("edit"), &subject, schedule::edit_order(which, &new), None)
            .await?;
    }
    if let Some(is_enabled) = request.enabled {
        let switch = Order::EnableSchedule { schedule: which, is_enabled };
        instance::carry_out(&asked.caller, id.beside("enabled"), &subject, switch, None).await?;
    }
    ok(&view_of(&asked, &subject, which).await?)
}

/// Whether the next time is left out, or counts again.
#[derive(Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Skip {
    skip: bool,
}

impl Default for Skip {
    fn default() -> Self {
        Self { skip: true }
    }
}

/// `POST /instances/{name}/schedules/{id}/skip`: leaves the next time out; `{"skip": false}` takes that back.
pub async fn skip(
    asked: Asked,
    Path((name, id)): Path<(String, String)>,
    OptionalJson(skip): OptionalJson<Skip>,
) -> Answered {
    let subject = instance::find(&asked.caller, &name).await?;
    let which = parsed(&id)?;
    schedule::find(&asked.caller, subject.target(), which).await?;
    let id = asked.id_for("skip-schedule", &(&name, &id, skip.skip));
    let wanted = Order::SkipSchedule { schedule: which, skips: skip.skip };
    instance::carry_out(&asked.caller, id, &subject, wanted, None).await?;
    ok(&view_of(&asked, &subject, which).await?)
}

/// `DELETE /instances/{name}/schedules/{id}`.
pub async fn delete(asked: Asked, Path((name, id)): Path<(String, String)>, _: NoParameters) -> Answered {
    let subject = instance::find(&asked.caller, &name).await?;
    let which = parsed(&id)?;
    let command = asked.id_for("delete-schedule", &(&name, &id));
    let found = schedule::find(&asked.caller, subject.target(), which).await.map(Some);
    if asked.or_known(&command, found, |_| Some(None)).await?.is_some() {
        instance::carry_out(&asked.caller, command, &subject, Order::RemoveSchedule(which), None).await?;
    }
    ok(&json!({ "id": id, "state": "deleted" }))
}

/// What is to be previewed.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Preview {
    cron: Option<String>,
    recurrence: Option<Parts>,
    time_zone: Option<String>,
    start: Option<String>,
    count: Option<usize>,
    elsewhere: Option<String>,
}

/// `POST /schedules/preview`: when that would fire, without saving anything.
pub async fn preview(asked: Asked, Json(wanted): Json<Preview>) -> Answered {
    asked.caller.authorise(atelier_domain::access::Action::InstanceRead).await?;
    let Preview { cron, recurrence, time_zone, start, count, elsewhere } = wanted;
    let timetable = timetable_of(cron.as_deref(), recurrence.as_ref(), time_zone.as_deref(), start.as_deref());
    let timetable = timetable.map_err(Refusal::invalid)?;
    let count = count.unwrap_or(SHOWN);
    if count == 0 || count > MOST_PREVIEWED {
        return Err(Refusal::field("count", format!("A preview has 1 to {MOST_PREVIEWED} times; this is {count}.")));
    }
    let elsewhere = elsewhere.as_deref().map(Zone::parse).transpose();
    let elsewhere = elsewhere.map_err(|problem| Refusal::field("elsewhere", problem.message))?;
    ok(&object! {
        sentence: timetable.sentence(),
        time_zone: timetable.zone().as_str(),
        elsewhere: elsewhere.as_ref().map(Zone::as_str),
        times: times(&timetable, count, atelier_engine::clock::now(), elsewhere.as_ref()),
    })
}

fn parsed(id: &str) -> Answered<ScheduleId> {
    ScheduleId::parse(id).ok_or_else(|| Refusal::not_found("schedule"))
}

async fn view_of(asked: &Asked, subject: &Subject, id: ScheduleId) -> Answered<impl Serialize> {
    let schedule = schedule::find(&asked.caller, subject.target(), id).await?;
    Ok(view(subject.name.as_str(), id, &schedule))
}
