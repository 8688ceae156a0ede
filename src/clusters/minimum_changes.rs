//! The minimum of a cluster at certain hours, as it is typed.

use atelier_domain::access::Action as Right;
use atelier_domain::compute::ScheduleId;
use atelier_domain::schedule::{Clock, Cron, Timetable, Trigger, Zone};
use atelier_domain::text::{Problem, shortened};
use atelier_domain::world::Answer;
use atelier_studio::clusters::commands::find;
use atelier_studio::clusters::minimum;
use atelier_studio::orders::command_id;
use atelier_studio::schedules::commands::beside;
use atelier_studio::typed::{Problems, whole};

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

/// What the form says.
pub struct TypedMinimum {
    pub nodes: String,
    pub days: String,
    pub from: String,
    pub to: String,
    pub otherwise: String,
    pub time_zone: String,
}

pub async fn add(id: &str, name: &str, typed: &TypedMinimum) -> Result<Done, AppError> {
    let caller = here()?;
    caller.authorise(Right::ClusterScale).await?;
    let cluster = find(&caller, name).await?;
    let mut problems = Problems::new();
    let nodes = problems.take(whole("nodes", "The number of nodes", &typed.nodes));
    let otherwise = problems.take(whole("otherwise", "The number of nodes at other times", &typed.otherwise));
    let days = problems.take(days_of(&typed.days));
    let from = problems.take(clock("from", &typed.from));
    let to = problems.take(clock("to", &typed.to));
    let zone = problems.take(Zone::parse(&typed.time_zone));
    if from.is_some() && from == to {
        problems.0.push(Problem::new("to", "It ends when it begins. Give two different times."));
    }
    let (Some(nodes), Some(otherwise), Some(days), Some(from), Some(to), Some(zone)) =
        (nodes, otherwise, days, from, to, zone)
    else {
        return Err(problems.into_error());
    };
    if !problems.0.is_empty() {
        return Err(problems.into_error());
    }
    // A window over midnight ends on the days after.
    let after = if to < from { shifted(days) } else { days };
    let (begin, end) = (timetable(from, days, &zone)?, timetable(to, after, &zone)?);
    let said = format!("{name} keeps {nodes} nodes {} and {otherwise} at other times.", lowered(&begin.sentence()));
    let id = command_id(id)?;
    let field = |field: &'static str| {
        move |error: AppError| match error {
            AppError::Invalid { problems } => {
                let renamed = |problem: Problem| match problem.field.as_str() {
                    "min" => Problem::new(field, problem.message),
                    _ => problem,
                };
                AppError::Invalid { problems: problems.into_iter().map(renamed).collect() }
            }
            other => other,
        }
    };
    let first = minimum::add(&caller, beside(&id, "begin"), cluster, nodes, begin).await.map_err(field("nodes"))?;
    if let Err(error) = minimum::add(&caller, beside(&id, "end"), cluster, otherwise, end).await {
        // Half a window would keep the nodes for good.
        minimum::remove(&caller, beside(&id, "undo"), cluster, first).await?;
        return Err(field("otherwise")(error));
    }
    Ok(Done::stay(said))
}

fn lowered(sentence: &str) -> String {
    let mut rest = sentence.chars();
    rest.next().map(|first| first.to_lowercase().chain(rest).collect()).unwrap_or_default()
}

fn days_of(text: &str) -> Result<&'static str, Problem> {
    match text {
        "every" => Ok("*"),
        "workdays" => Ok("MON-FRI"),
        "weekends" => Ok("SAT,SUN"),
        other => {
            let message = format!("Choose every day, workdays or weekends, not “{}”.", shortened(other));
            Err(Problem::new("days", message))
        }
    }
}

fn shifted(days: &'static str) -> &'static str {
    match days {
        "MON-FRI" => "TUE-SAT",
        "SAT,SUN" => "SUN,MON",
        other => other,
    }
}

fn clock(field: &'static str, text: &str) -> Result<Clock, Problem> {
    Clock::parse(text).map_err(|message| Problem::new(field, message))
}

fn timetable(at: Clock, days: &str, zone: &Zone) -> Result<Timetable, AppError> {
    let cron = Cron::parse(&format!("{} {} * * {days}", at.minutes() % 60, at.minutes() / 60))?;
    Ok(Timetable::new(Trigger::Cron(cron), zone.clone(), None)?)
}

fn schedule_of(text: &str) -> Result<ScheduleId, AppError> {
    ScheduleId::parse(text).ok_or_else(|| AppError::not_found("schedule"))
}

pub async fn switch(id: &str, name: &str, schedule: &str, is_enabled: bool) -> Result<Done, AppError> {
    let caller = here()?;
    caller.authorise(Right::ClusterScale).await?;
    let (cluster, schedule) = (find(&caller, name).await?, schedule_of(schedule)?);
    let answer = minimum::enable(&caller, command_id(id)?, cluster, schedule, is_enabled).await?;
    let word = if is_enabled { "enabled" } else { "disabled" };
    Ok(Done::stay(match answer {
        Answer::Already => format!("The schedule was {word} already."),
        _ => format!("The schedule is {word}."),
    }))
}

pub async fn remove(id: &str, name: &str, schedule: &str) -> Result<Done, AppError> {
    let caller = here()?;
    caller.authorise(Right::ClusterScale).await?;
    let (cluster, schedule) = (find(&caller, name).await?, schedule_of(schedule)?);
    minimum::remove(&caller, command_id(id)?, cluster, schedule).await?;
    Ok(Done::stay(format!("The schedule was removed from {name}.")))
}
