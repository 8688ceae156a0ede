//! What is done to one instance: judged here field by field, then by the engine as a whole.

use std::collections::BTreeSet;

use atelier_domain::access::Action;
use atelier_domain::compute::idle::Source;
use atelier_domain::compute::size::SizeName;
use atelier_domain::compute::tags::Tags;
use atelier_domain::text::{Problem, parse_why, shortened};
use atelier_domain::time::Span;
use atelier_domain::world::Answer;
use atelier_domain::{Timestamp, paths};
use atelier_studio::caller::Caller;
use atelier_studio::clock;
use atelier_studio::instances::commands::{Deed, Subject, authorise, carry_out, find};
use atelier_studio::instances::create::idle_of;
use atelier_studio::orders::{ask, command_id};
use atelier_studio::typed::{Problems, whole};

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

/// Starts an instance.
pub async fn start(id: &str, name: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let subject = find(&caller, name).await?;
    let answer = carry_out(&caller, command_id(id)?, &subject, Deed::Start, None).await?;
    Ok(Done::stay(match answer {
        Answer::Already => format!("{} was on its way already.", subject.name),
        Answer::Later => format!("{} starts as soon as it has stopped.", subject.name),
        _ => format!("{} is starting.", subject.name),
    }))
}

/// Starts an instance because its owner opens an application, and goes back to the page that waits for it.
pub async fn wake(id: &str, name: &str, app: &str, next: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let subject = find(&caller, name).await?;
    // Who could not open it starts it without pretending to.
    authorise(&caller, &subject, Action::InstanceConnect).await?;
    carry_out(&caller, command_id(id)?, &subject, Deed::Wake, None).await?;
    let slug = &caller.actor()?.workspace.slug;
    let next = crate::server::local_path::parse(next).unwrap_or_else(|| "/".into());
    Ok(Done::go(paths::open_app(slug, subject.name.as_str(), app, &next), ""))
}

/// Keeps an instance running for some hours, whatever its activity.
pub async fn extend(id: &str, name: &str, hours: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let subject = find(&caller, name).await?;
    authorise(&caller, &subject, Action::InstanceOperate).await?;
    let hours = whole("hours", "The number of hours", hours)?;
    let by = Span::hours(hours);
    let until = later_stop(&caller, &subject, by).await?;
    let deed = until.map_or(Deed::Extend(by), Deed::Postpone);
    carry_out(&caller, command_id(id)?, &subject, deed, None).await?;
    Ok(Done::stay(match until {
        Some(until) => format!("{} stops {} instead.", subject.name, said(&caller, until)?),
        None => format!("{} is kept running for {by}.", subject.name),
    }))
}

/// When the stop that is ahead would come if it were put off by so much; none where no schedule or person plans one.
async fn later_stop(caller: &Caller, subject: &Subject, by: Span) -> Result<Option<Timestamp>, AppError> {
    let id = subject.id;
    let ahead = ask(caller, move |world| world.instance(id).and_then(|instance| world.stop_ahead(instance)));
    let now = atelier_engine::clock::now();
    Ok(ahead.await?.map(|stop| stop.at.max(now).plus(by)))
}

fn said(caller: &Caller, at: Timestamp) -> Result<String, AppError> {
    let zone = &caller.actor()?.person.time_zone;
    Ok(clock::relative(at, atelier_engine::clock::now(), zone))
}

/// Keeps an instance running until a time of day, over scheduled stops.
pub async fn keep(id: &str, name: &str, until: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let subject = find(&caller, name).await?;
    authorise(&caller, &subject, Action::InstanceOperate).await?;
    let until = clock::parse_local(until, &caller.actor()?.person.time_zone).ok_or_else(|| {
        let start = shortened(until.trim());
        let message = match start.as_str() {
            "" => "Choose a day and a time.".to_owned(),
            _ => format!("A day and a time look like 2026-03-19T19:30; this is “{start}”."),
        };
        Problem::new("until", message)
    })?;
    carry_out(&caller, command_id(id)?, &subject, Deed::Postpone(until), None).await?;
    Ok(Done::stay(format!("{} is kept running until {}.", subject.name, said(&caller, until)?)))
}

/// Leaves the next scheduled stop out.
pub async fn skip(id: &str, name: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let subject = find(&caller, name).await?;
    carry_out(&caller, command_id(id)?, &subject, Deed::SkipStop, None).await?;
    Ok(Done::stay(format!("The next stop of {} is left out.", subject.name)))
}

/// Gives an instance another size.
pub async fn resize(id: &str, name: &str, size: &str, why: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let subject = find(&caller, name).await?;
    authorise(&caller, &subject, Action::InstanceConfigure).await?;
    let mut problems = Problems::new();
    let size = problems.take(match size.trim() {
        "" => Err(Problem::new("size", "Choose the new size.")),
        size => SizeName::parse(size),
    });
    let why = problems.take(parse_why(why));
    let (Some(size), Some(why)) = (size, why) else { return Err(problems.into_error()) };
    let answer = carry_out(&caller, command_id(id)?, &subject, Deed::Resize(size.clone()), why).await;
    let answer = answer.map_err(beside_its_field)?;
    Ok(Done::stay(match answer {
        Answer::Already => format!("{} is of the size {size} already.", subject.name),
        _ => format!("{} moves to the size {size}.", subject.name),
    }))
}

/// How an instance stops and what it keeps, as it is typed.
pub async fn configure(
    id: &str,
    name: &str,
    idle: &str,
    counts: &[String],
    keeps_quota: bool,
) -> Result<Done, AppError> {
    let caller = here()?;
    let subject = find(&caller, name).await?;
    authorise(&caller, &subject, Action::InstanceConfigure).await?;
    let mut problems = Problems::new();
    let minutes = problems.take(match idle.trim() {
        "" => Ok(0),
        typed => whole("idle", "The idle time in minutes", typed),
    });
    let counts = problems.take(sources(counts));
    let (Some(minutes), Some(counts)) = (minutes, counts) else { return Err(problems.into_error()) };
    let workspace = caller.actor()?.workspace.id.clone();
    let rules = ask(&caller, move |world| world.idle_rules(&workspace)).await?;
    let idle = idle_of(&rules, Some(minutes), Some(&counts));
    let said = match &idle {
        Some(idle) => format!("stops after {} without activity", idle.window),
        None => "is not stopped for want of activity".to_owned(),
    };
    let quota = if keeps_quota { "keeps" } else { "gives back" };
    carry_out(&caller, command_id(id)?, &subject, Deed::Configure { idle, keeps_quota }, None).await?;
    Ok(Done::stay(format!("{} {said}, and {quota} its quota while it is stopped.", subject.name)))
}

fn sources(keys: &[String]) -> Result<BTreeSet<Source>, Problem> {
    let read = |key: &String| {
        let known = Source::ALL.into_iter().find(|source| source_key(*source) == key.as_str());
        known.ok_or_else(|| Problem::new("counts", format!("“{}” is no kind of activity.", shortened(key))))
    };
    keys.iter().filter(|key| !key.is_empty()).map(read).collect()
}

/// The name of a kind of activity in forms and in the API.
pub const fn source_key(source: Source) -> &'static str {
    match source {
        Source::Kernel => "kernel",
        Source::Terminal => "terminal",
        Source::Editor => "editor",
        Source::Ssh => "ssh",
        Source::Job => "job",
        Source::App => "app",
        Source::Processor => "processor",
        Source::Gpu => "gpu",
        Source::Extension => "extension",
    }
}

/// Replaces the tags.
pub async fn tag(id: &str, name: &str, tags: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let subject = find(&caller, name).await?;
    authorise(&caller, &subject, Action::InstanceConfigure).await?;
    carry_out(&caller, command_id(id)?, &subject, Deed::Tag(Tags::parse(tags)?), None).await?;
    Ok(Done::stay(format!("The tags of {} were saved.", subject.name)))
}

/// The owner accepts the scripts that somebody else made.
pub async fn accept(id: &str, name: &str, revision: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let subject = find(&caller, name).await?;
    authorise(&caller, &subject, Action::InstanceConnect).await?;
    let revision = whole("revision", "The number of the change", revision)?;
    let instance = subject.id;
    let was_given = ask(&caller, move |world| world.instance(instance).is_some_and(|one| one.given.is_some())).await?;
    carry_out(&caller, command_id(id)?, &subject, Deed::AcceptScripts(revision), None).await?;
    Ok(Done::stay(match was_given {
        true => format!("{} can be started now, with all that is in it.", subject.name),
        false => format!("The scripts of {} get your home from its next start on.", subject.name),
    }))
}

/// Refusals that one field is to blame for.
fn beside_its_field(error: AppError) -> AppError {
    match error {
        AppError::Refused { code, message }
            if matches!(code.as_str(), "unknown-size" | "quota-none" | "quota-too-small" | "capacity-too-small") =>
        {
            Problem::new("size", message).into()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_activity_read_what_they_write() {
        let keys: Vec<String> = Source::ALL.into_iter().map(|source| source_key(source).to_owned()).collect();
        assert_eq!(sources(&keys).map(|all| all.len()), Ok(Source::ALL.len()));
        for source in Source::ALL {
            assert_eq!(serde_json::to_value(source).ok(), Some(source_key(source).into()));
        }
        assert!(sources(&["coffee".to_owned()]).is_err_and(|problem| problem.message.contains("“coffee”")));
        assert_eq!(sources(&[String::new()]), Ok(BTreeSet::new()));
    }
}
