//! What the page of an instance's schedules shows.

use atelier_domain::Timestamp;
use atelier_domain::access::Action as Right;
use atelier_domain::compute::idle::IdleRules;
use atelier_domain::compute::instance::{Instance, InstanceState};
use atelier_domain::compute::size::Price;
use atelier_domain::compute::{InstanceId, ScheduleId};
use atelier_domain::error::AppError;
use atelier_domain::fields::{DAYS, Fields};
use atelier_domain::schedule::{Action, Schedule, Zone};
use atelier_domain::world::World;

use crate::caller::Caller;
use crate::instances::commands::{Subject, authorise, find};
use crate::orders::ask;
use crate::schedules::commands::{NewSchedule, of};
use crate::schedules::next::{AwakeCost, NextTime, Source, awake_cost, next_times};
use crate::schedules::typed::{fields_of, set_jobs, week_of, workdays};
use crate::schedules::week::{as_cron, find_week};

/// All about when one instance is awake.
#[derive(Clone, Debug)]
pub struct SchedulePage {
    pub subject: Subject,
    /// Why the viewer may change nothing, if so.
    pub fixed_because: Option<String>,
    /// What stands in the form: typed, or as it is saved.
    pub fields: Fields,
    pub has_week: bool,
    /// Every schedule, those that make the week included.
    pub rows: Vec<RuleRow>,
    /// What the workspace allows and demands of idle shutdown.
    pub rules: IdleRules,
    /// Whether an administrator's rule made its idle shutdown so.
    pub is_by_policy: bool,
    /// Until when somebody keeps it running over its stops.
    pub kept_until: Option<Timestamp>,
    pub outlook: Outlook,
}

/// One schedule.
#[derive(Clone, Debug)]
pub struct RuleRow {
    pub id: ScheduleId,
    /// In words: `Start Mon–Fri at 08:30, Europe/Berlin`.
    pub sentence: String,
    pub action: Action,
    pub is_enabled: bool,
    /// Whether it is part of the week above.
    pub is_week: bool,
    pub next: Option<Timestamp>,
    pub skipped: Option<Timestamp>,
    /// The form that changes it; none where it cannot be written as cron.
    pub fields: Option<Fields>,
}

/// What schedules are going to do and cost.
#[derive(Clone, Debug)]
pub struct Outlook {
    pub times: Vec<NextTime>,
    /// What that costs; none where the size is not in the catalogue.
    pub cost: Option<AwakeCost>,
    /// What is wrong with the hours as they are typed: nothing is known then.
    pub unclear: Vec<String>,
    pub here: String,
}

struct Present {
    idle: Option<u32>,
    is_by_policy: bool,
    rules: IdleRules,
    kept: Option<(Timestamp, String)>,
    price: Option<Price>,
    state: InstanceState,
}

fn present(world: &World, instance: &Instance) -> Present {
    let minutes = |span: atelier_domain::time::Span| u32::try_from(span.as_millis() / 60_000).unwrap_or(u32::MAX);
    Present {
        idle: instance.idle.as_ref().map(|idle| minutes(idle.window)),
        is_by_policy: instance.idle_by_policy,
        rules: world.idle_rules(&instance.workspace),
        kept: instance.postponed.as_ref().map(|postponed| (postponed.until, postponed.by.to_string())),
        price: world.sizes().find(|size| size.name == instance.size).map(|size| size.price),
        state: world.instance_state(instance),
    }
}

async fn look(caller: &Caller, id: InstanceId) -> Result<Present, AppError> {
    let found = ask(caller, move |world| world.instance(id).map(|instance| present(world, instance)));
    found.await?.ok_or_else(|| AppError::not_found("instance"))
}

/// The page: with what was `typed` in place of what is saved, if anything was. Needs `instance.read`.
pub async fn instance_schedules(caller: &Caller, name: &str, typed: Option<Fields>) -> Result<SchedulePage, AppError> {
    let subject = find(caller, name).await?;
    let fixed_because = match authorise(caller, &subject, Right::InstanceConfigure).await {
        Ok(()) if subject.state == InstanceState::Deleting => Some("It is being deleted.".to_owned()),
        Ok(()) => None,
        Err(AppError::Forbidden { denied, helpers }) => Some(AppError::Forbidden { denied, helpers }.to_string()),
        Err(error) => return Err(error),
    };
    let known = look(caller, subject.id).await?;
    let saved = of(caller, subject.target()).await?;
    let week = find_week(&saved);
    let zone = &caller.actor()?.person.time_zone;
    let now = atelier_engine::clock::now();
    let in_week = week.as_ref().map(|(_, ids)| ids.clone()).unwrap_or_default();
    let rows = saved.iter().map(|(id, schedule)| row(*id, schedule, in_week.contains(id), now)).collect();
    let mut fields = match &week {
        Some((week, _)) => fields_of(week),
        None => unplanned(zone),
    };
    let proposed = known.rules.default.unwrap_or(known.rules.min);
    fields.set("idle", if known.idle.is_some() { "on" } else { "" });
    fields.set(
        "idle_minutes",
        known.idle.map_or_else(|| (proposed.as_millis() / 60_000).to_string(), |idle| idle.to_string()),
    );
    let fields = typed.unwrap_or(fields);
    let outlook = outlook_of(caller, &fields, &saved, &known, now)?;
    Ok(SchedulePage {
        subject,
        fixed_because: fixed_because.or_else(|| failed(known.state)),
        fields,
        has_week: week.is_some(),
        rows,
        rules: known.rules,
        is_by_policy: known.is_by_policy,
        kept_until: known.kept.map(|(until, _)| until),
        outlook,
    })
}

fn failed(state: InstanceState) -> Option<String> {
    (state == InstanceState::CreateFailed).then(|| "It never had a node. Delete it and create it again.".to_owned())
}

/// A form in which nothing is ticked yet.
fn unplanned(zone: &str) -> Fields {
    let mut fields = workdays(zone);
    for day in DAYS {
        fields.set(day, "");
    }
    fields
}

fn row(id: ScheduleId, schedule: &Schedule, is_week: bool, now: Timestamp) -> RuleRow {
    let fields = as_cron(&schedule.timetable).map(|cron| {
        let mut fields: Fields = [("action", schedule.action.key()), ("cron", &cron)].into_iter().collect();
        fields.set("time_zone", schedule.timetable.zone().as_str());
        set_jobs(&mut fields, schedule.jobs);
        fields
    });
    RuleRow {
        id,
        sentence: schedule.sentence(),
        action: schedule.action,
        is_enabled: schedule.is_enabled,
        is_week,
        next: schedule.next_acting_after(now).map(|firing| firing.at),
        skipped: schedule.dismissed.filter(|at| *at > now),
        fields,
    }
}

/// What the hours in the form come to, with the rules beside them. Needs `instance.read`.
pub async fn outlook(caller: &Caller, name: &str, fields: &Fields) -> Result<Outlook, AppError> {
    let subject = find(caller, name).await?;
    let known = look(caller, subject.id).await?;
    let saved = of(caller, subject.target()).await?;
    outlook_of(caller, fields, &saved, &known, atelier_engine::clock::now())
}

fn outlook_of(
    caller: &Caller,
    fields: &Fields,
    saved: &[(ScheduleId, Schedule)],
    known: &Present,
    now: Timestamp,
) -> Result<Outlook, AppError> {
    let zone = &caller.actor()?.person.time_zone;
    let here = Zone::parse(zone).or_else(|_| Zone::parse("UTC"))?;
    let in_week = find_week(saved);
    let ids = in_week.as_ref().map(|(_, ids)| ids.as_slice()).unwrap_or_default();
    let is_planned = DAYS.iter().any(|day| fields.is_on(day));
    let (wanted, unclear) = match is_planned.then(|| week_of(fields)) {
        None => (Vec::new(), Vec::new()),
        Some(Ok(week)) => (week.schedules(), Vec::new()),
        Some(Err(problems)) => (Vec::new(), problems.into_iter().map(|problem| problem.message).collect()),
    };
    let is_paused = !saved.is_empty() && saved.iter().all(|(_, schedule)| !schedule.is_enabled);
    // What is saved knows what is skipped; what is only typed does not.
    let of_week = |new: &NewSchedule| {
        let is = |schedule: &Schedule| {
            (schedule.action, &schedule.timetable) == (new.action, &new.timetable) && schedule.is_enabled
        };
        let known = saved.iter().find(|(id, schedule)| ids.contains(id) && is(schedule));
        known.and_then(|(_, schedule)| Source::saved(schedule)).unwrap_or_else(|| Source::typed(new.clone()))
    };
    let mut sources: Vec<Source> = Vec::new();
    if !is_paused {
        sources.extend(wanted.iter().map(of_week));
    }
    sources
        .extend(saved.iter().filter(|(id, _)| !ids.contains(id)).filter_map(|(_, schedule)| Source::saved(schedule)));
    let kept = known.kept.as_ref().map(|(until, by)| (*until, by.as_str()));
    let currency = &caller.studio.settings().currency;
    Ok(Outlook {
        times: next_times(&sources, kept, &here, now),
        cost: known.price.map(|price| awake_cost(&sources, price, currency, now)),
        unclear,
        here: here.as_str().to_owned(),
    })
}
