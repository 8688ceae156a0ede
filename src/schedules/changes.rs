//! What is done to the schedules of an instance.

use atelier_domain::access::Action as Right;
use atelier_domain::compute::ScheduleId;
use atelier_domain::compute::idle::IdlePolicy;
use atelier_domain::fields::{DAYS, Fields};
use atelier_domain::paths;
use atelier_domain::text::{Problem, counted};
use atelier_domain::time::Span;
use atelier_domain::world::{Answer, Order};
use atelier_studio::caller::Caller;
use atelier_studio::instances::commands::{Subject, authorise, carry_out, find};
use atelier_studio::orders::{ask, command_id};
use atelier_studio::schedules::commands as schedule;
use atelier_studio::schedules::commands::beside;
use atelier_studio::schedules::typed::{idle_of, rule_of, week_of};
use atelier_studio::schedules::week::say_week;

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

/// The instance, if the caller may change its schedules.
async fn subject(caller: &Caller, name: &str) -> Result<Subject, AppError> {
    let subject = find(caller, name).await?;
    authorise(caller, &subject, Right::InstanceConfigure).await?;
    Ok(subject)
}

/// One of its schedules, by the text of its id.
async fn schedule_of(caller: &Caller, subject: &Subject, text: &str) -> Result<ScheduleId, AppError> {
    let nobody = || AppError::not_found("schedule");
    let id = ScheduleId::parse(text).ok_or_else(nobody)?;
    schedule::find(caller, subject, id).await.map(|_| id)
}

fn page_of(caller: &Caller, subject: &Subject) -> Result<String, AppError> {
    Ok(paths::instance_schedules(&caller.actor()?.workspace.slug, subject.name.as_str()))
}

/// Where the form came from may be an address with other hours in it.
fn back(caller: &Caller, subject: &Subject, said: String) -> Result<Done, AppError> {
    Ok(Done::go(page_of(caller, subject)?, said))
}

pub async fn save_week(id: &str, name: &str, fields: &Fields) -> Result<Done, AppError> {
    let caller = here()?;
    let subject = subject(&caller, name).await?;
    let id = command_id(id)?;
    let is_planned = DAYS.iter().any(|day| fields.is_on(day));
    let mut problems = Vec::new();
    let week = is_planned.then(|| week_of(fields).map_err(|more| problems.extend(more)).ok()).flatten();
    let (instance, actor) = (subject.id, caller.actor()?);
    let workspace = actor.workspace.id.clone();
    let present = ask(&caller, move |world| {
        let instance = world.instance(instance)?;
        Some((world.idle_rules(&workspace), instance.idle.clone(), instance.keeps_quota))
    });
    let (rules, before, keeps_quota) = present.await?.ok_or_else(|| AppError::not_found("instance"))?;
    let idle = idle_of(fields).map(|minutes| {
        let counts = before.as_ref().map(|before| before.counts.clone());
        let policy = |window| match counts {
            Some(counts) => IdlePolicy { window, counts },
            None => IdlePolicy::after(window),
        };
        (minutes > 0).then(|| policy(Span::minutes(minutes)))
    });
    let judged = idle.and_then(|idle| match rules.judge(idle.as_ref()) {
        Ok(()) => Ok(idle),
        Err(problem) => Err(Problem::new("idle_minutes", problem.message)),
    });
    let idle = judged.map_err(|problem| problems.push(problem)).unwrap_or_default();
    if !problems.is_empty() {
        return Err(AppError::Invalid { problems });
    }
    let wanted = week.as_ref().map(|week| week.schedules()).unwrap_or_default();
    let changed = schedule::replace_week(&caller, &id, &subject, &wanted).await?;
    if idle != before {
        let order = Order::ConfigureInstance { instance: subject.id, idle, keeps_quota };
        carry_out(&caller, beside(&id, "idle"), &subject, order, None).await?;
    }
    let name = &subject.name;
    let said = match week {
        Some(week) => format!("{name} is awake {}, {}.", lowered(&say_week(&week.grid)), week.zone.as_str()),
        None if changed > 0 => format!("{name} has no weekly hours any more."),
        None => format!("The settings of {name} were saved."),
    };
    back(&caller, &subject, said)
}

/// In the middle of a sentence. Names of days keep their capital.
fn lowered(words: &str) -> String {
    ["Workdays", "Every day", "Weekends"]
        .iter()
        .fold(words.to_owned(), |said, word| said.replace(word, &word.to_lowercase()))
}

pub async fn add_rule(id: &str, name: &str, fields: &Fields) -> Result<Done, AppError> {
    let caller = here()?;
    let subject = subject(&caller, name).await?;
    let rule = rule_of(fields).map_err(|problems| AppError::Invalid { problems })?;
    schedule::add(&caller, command_id(id)?, &subject, &rule).await.map_err(beside_its_field)?;
    let said = format!("Added: {}.", rule.sentence());
    back(&caller, &subject, said)
}

pub async fn change_rule(id: &str, name: &str, schedule: &str, fields: &Fields) -> Result<Done, AppError> {
    let caller = here()?;
    let subject = subject(&caller, name).await?;
    let schedule = schedule_of(&caller, &subject, schedule).await?;
    let rule = rule_of(fields).map_err(|problems| AppError::Invalid { problems })?;
    schedule::edit(&caller, command_id(id)?, &subject, schedule, &rule).await?;
    let said = format!("Changed: {}.", rule.sentence());
    back(&caller, &subject, said)
}

pub async fn switch(id: &str, name: &str, schedule: &str, is_enabled: bool) -> Result<Done, AppError> {
    let caller = here()?;
    let subject = subject(&caller, name).await?;
    let schedule = schedule_of(&caller, &subject, schedule).await?;
    let answer = schedule::enable(&caller, command_id(id)?, &subject, schedule, is_enabled).await?;
    let word = if is_enabled { "enabled" } else { "disabled" };
    Ok(Done::stay(match answer {
        Answer::Already => format!("The schedule was {word} already."),
        _ => format!("The schedule is {word}."),
    }))
}

pub async fn skip(id: &str, name: &str, schedule: &str, skips: bool) -> Result<Done, AppError> {
    let caller = here()?;
    let subject = subject(&caller, name).await?;
    let id_of = schedule_of(&caller, &subject, schedule).await?;
    schedule::skip(&caller, command_id(id)?, &subject, id_of, skips).await?;
    Ok(Done::stay(if skips {
        "The next time is left out. The one after it counts again."
    } else {
        "The next time counts again."
    }))
}

pub async fn remove(id: &str, name: &str, schedule: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let subject = subject(&caller, name).await?;
    let schedule = schedule_of(&caller, &subject, schedule).await?;
    schedule::remove(&caller, command_id(id)?, &subject, schedule).await?;
    back(&caller, &subject, "The schedule was deleted.".to_owned())
}

pub async fn pause(id: &str, name: &str, is_paused: bool) -> Result<Done, AppError> {
    let caller = here()?;
    let subject = subject(&caller, name).await?;
    let count = schedule::enable_all(&caller, &command_id(id)?, &subject, !is_paused).await?;
    let schedules = counted(count as u64, "schedule", "schedules");
    Ok(Done::stay(match (count, is_paused) {
        (0, true) => "All schedules were disabled already.".to_owned(),
        (0, false) => "All schedules were enabled already.".to_owned(),
        (_, true) => {
            format!("{schedules} disabled: nothing starts or stops {} by itself but idle shutdown.", subject.name)
        }
        (_, false) => format!("{schedules} enabled. What passed meanwhile is not made up."),
    }))
}

/// Refusals that one field is to blame for.
fn beside_its_field(error: AppError) -> AppError {
    match error {
        AppError::Invalid { mut problems } => {
            for problem in problems.iter_mut().filter(|problem| problem.field == "schedules") {
                problem.field = "cron".into();
            }
            AppError::Invalid { problems }
        }
        other => other,
    }
}
