//! When instances start and stop by themselves: the hours of one, the rules beside them, and what
//! administrators demand of idle shutdown.

use atelier_domain::fields::Fields;
use leptos::prelude::*;
#[cfg(feature = "ssr")]
use {
    crate::error::AppError,
    crate::server::caller::here,
    atelier_domain::access::Action as Right,
    atelier_domain::compute::ScheduleId,
    atelier_domain::compute::idle::{IdlePolicy, IdleRules},
    atelier_domain::fields::DAYS,
    atelier_domain::paths,
    atelier_domain::text::{Problem, counted},
    atelier_domain::time::Span,
    atelier_domain::world::Answer,
    atelier_domain::world::Order,
    atelier_studio::caller::Caller,
    atelier_studio::instances::commands::{Subject, authorise, carry_out, find},
    atelier_studio::orders::{self, ask},
    atelier_studio::schedules::commands,
    atelier_studio::schedules::idle,
    atelier_studio::schedules::typed::{idle_of, rule_of, week_of},
    atelier_studio::schedules::week::say_week,
    atelier_studio::typed::{Problems, whole},
};

use crate::done::Done;
use crate::error::FnError;

/// Gives an instance another week, and sets its idle shutdown. Needs `instance.configure`.
#[server(prefix = "/fn", endpoint = "save_week")]
pub async fn save_week(
    #[server(default)] command_id: String,
    instance: String,
    #[server(flatten)] fields: Fields,
) -> Result<Done, FnError> {
    let caller = here()?;
    let subject = subject(&caller, &instance).await?;
    let id = orders::command_id(&command_id)?;
    let is_planned = DAYS.iter().any(|day| fields.is_on(day));
    let mut problems = Vec::new();
    let week = is_planned.then(|| week_of(&fields).map_err(|more| problems.extend(more)).ok()).flatten();
    let (found, workspace) = (subject.id, caller.actor()?.workspace.id.clone());
    let present = ask(&caller, move |world| {
        let instance = world.instance(found)?;
        Some((world.idle_rules(&workspace), instance.idle.clone(), instance.keeps_quota))
    });
    let (rules, before, keeps_quota) = present.await?.ok_or_else(|| AppError::not_found("instance"))?;
    let idle = idle_of(&fields).map(|minutes| {
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
        return Err(AppError::Invalid { problems }.into());
    }
    let wanted = week.as_ref().map(|week| week.schedules()).unwrap_or_default();
    let changed = commands::replace_week(&caller, &id, &subject, &wanted).await?;
    if idle != before {
        let order = Order::ConfigureInstance { instance: subject.id, idle, keeps_quota };
        carry_out(&caller, id.beside("idle"), &subject, order, None).await?;
    }
    let name = &subject.name;
    let said = match week {
        Some(week) => format!("{name} is awake {}, {}.", lowered(&say_week(&week.grid)), week.zone.as_str()),
        None if changed > 0 => format!("{name} has no weekly hours any more."),
        None => format!("The settings of {name} were saved."),
    };
    back(&caller, &subject, said)
}

/// Adds a rule beside the week. Needs `instance.configure`.
#[server(prefix = "/fn", endpoint = "add_rule")]
pub async fn add_rule(
    #[server(default)] command_id: String,
    instance: String,
    #[server(flatten)] fields: Fields,
) -> Result<Done, FnError> {
    let caller = here()?;
    let subject = subject(&caller, &instance).await?;
    let rule = rule_of(&fields).map_err(|problems| AppError::Invalid { problems })?;
    let id = orders::command_id(&command_id)?;
    commands::add(&caller, id, &subject, &rule).await.map_err(|error| error.beside(&[("schedules", "cron")]))?;
    back(&caller, &subject, format!("Added: {}.", rule.sentence()))
}

/// Changes a rule. Needs `instance.configure`.
#[server(prefix = "/fn", endpoint = "change_rule")]
pub async fn change_rule(
    #[server(default)] command_id: String,
    instance: String,
    schedule: String,
    #[server(flatten)] fields: Fields,
) -> Result<Done, FnError> {
    let caller = here()?;
    let (subject, schedule) = schedule_of(&caller, &instance, &schedule).await?;
    let rule = rule_of(&fields).map_err(|problems| AppError::Invalid { problems })?;
    let order = commands::edit_order(schedule, &rule);
    carry_out(&caller, orders::command_id(&command_id)?, &subject, order, None).await?;
    back(&caller, &subject, format!("Changed: {}.", rule.sentence()))
}

/// Switches a schedule on (`enabled=on`) or off. Needs `instance.configure`.
#[server(prefix = "/fn", endpoint = "switch_schedule")]
pub async fn switch_schedule(
    #[server(default)] command_id: String,
    instance: String,
    schedule: String,
    #[server(default)] enabled: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    let (subject, schedule) = schedule_of(&caller, &instance, &schedule).await?;
    let is_enabled = !enabled.is_empty();
    let id = orders::command_id(&command_id)?;
    let answer = carry_out(&caller, id, &subject, Order::EnableSchedule { schedule, is_enabled }, None).await?;
    let word = if is_enabled { "enabled" } else { "disabled" };
    Ok(Done::stay(match answer {
        Answer::Already => format!("The schedule was {word} already."),
        _ => format!("The schedule is {word}."),
    }))
}

/// Leaves the next time of a schedule out (`skip=on`), or takes that back. Needs `instance.configure`.
#[server(prefix = "/fn", endpoint = "skip_schedule")]
pub async fn skip_schedule(
    #[server(default)] command_id: String,
    instance: String,
    schedule: String,
    #[server(default)] skip: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    let (subject, schedule) = schedule_of(&caller, &instance, &schedule).await?;
    let skips = !skip.is_empty();
    let order = Order::SkipSchedule { schedule, skips };
    carry_out(&caller, orders::command_id(&command_id)?, &subject, order, None).await?;
    Ok(Done::stay(if skips {
        "The next time is left out. The one after it counts again."
    } else {
        "The next time counts again."
    }))
}

/// Takes a schedule away. Needs `instance.configure`.
#[server(prefix = "/fn", endpoint = "remove_schedule")]
pub async fn remove_schedule(
    #[server(default)] command_id: String,
    instance: String,
    schedule: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    let (subject, schedule) = schedule_of(&caller, &instance, &schedule).await?;
    carry_out(&caller, orders::command_id(&command_id)?, &subject, Order::RemoveSchedule(schedule), None).await?;
    back(&caller, &subject, "The schedule was deleted.".to_owned())
}

/// Switches all schedules of an instance off (`paused=on`) or on. Needs `instance.configure`.
#[server(prefix = "/fn", endpoint = "pause_schedules")]
pub async fn pause_schedules(
    #[server(default)] command_id: String,
    instance: String,
    #[server(default)] paused: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    let subject = subject(&caller, &instance).await?;
    let is_paused = !paused.is_empty();
    let count = commands::enable_all(&caller, &orders::command_id(&command_id)?, &subject, !is_paused).await?;
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

/// Sets what is allowed and demanded of idle shutdown in the workspace; minutes each. Needs
/// `workspace.write`.
#[server(prefix = "/fn", endpoint = "set_idle_rules")]
pub async fn set_idle_rules(
    #[server(default)] command_id: String,
    #[server(default)] default: String,
    min: String,
    max: String,
    #[server(default)] required: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    caller.authorise(Right::WorkspaceWrite).await?;
    let mut problems = Problems::default();
    let default = problems.take(match default.trim() {
        "" => Ok(None),
        typed => whole("default", "The default in minutes", typed).map(Some),
    });
    let min = problems.take(whole("min", "The shortest time in minutes", &min));
    let max = problems.take(whole("max", "The longest time in minutes", &max));
    let (Some(default), Some(min), Some(max)) = (default, min, max) else {
        return Err(problems.into_error().into());
    };
    let rules = IdleRules {
        default: default.map(Span::minutes),
        min: Span::minutes(min),
        max: Span::minutes(max),
        is_required: !required.is_empty(),
    };
    Ok(Done::stay(match idle::set(&caller, orders::command_id(&command_id)?, rules).await? {
        (Answer::Already, _) => "The rules were so already.".to_owned(),
        (_, 0) => "The rules of idle shutdown were saved. All instances follow them already.".to_owned(),
        (_, count) => {
            let changed = counted(count as u64, "instance was", "instances were");
            format!("The rules of idle shutdown were saved. {changed} changed to follow them.")
        }
    }))
}

/// The instance, if the caller may change its schedules.
#[cfg(feature = "ssr")]
async fn subject(caller: &Caller, name: &str) -> Result<Subject, AppError> {
    let subject = find(caller, name).await?;
    authorise(caller, &subject, Right::InstanceConfigure).await?;
    Ok(subject)
}

/// The same with one of its schedules, by the text of its id.
#[cfg(feature = "ssr")]
async fn schedule_of(caller: &Caller, name: &str, text: &str) -> Result<(Subject, ScheduleId), AppError> {
    let subject = subject(caller, name).await?;
    let id = ScheduleId::parse(text).ok_or_else(|| AppError::not_found("schedule"))?;
    commands::find(caller, subject.target(), id).await?;
    Ok((subject, id))
}

/// Where the form came from may be an address with other hours in it.
#[cfg(feature = "ssr")]
fn back(caller: &Caller, subject: &Subject, said: String) -> Result<Done, FnError> {
    Ok(Done::go(paths::instance_schedules(&caller.actor()?.workspace.slug, subject.name.as_str()), said))
}

/// In the middle of a sentence. Names of days keep their capital.
#[cfg(feature = "ssr")]
fn lowered(words: &str) -> String {
    ["Workdays", "Every day", "Weekends"]
        .iter()
        .fold(words.to_owned(), |said, word| said.replace(word, &word.to_lowercase()))
}
