//! What is done to clusters: judged here field by field, then by the engine as a whole.

use atelier_domain::access::Action;
use atelier_domain::compute::cluster::ScaleSettings;
use atelier_domain::compute::size::SizeName;
use atelier_domain::compute::tags::Tags;
use atelier_domain::paths;
use atelier_domain::text::{Problem, counted, parse_why};
use atelier_domain::time::Span;
use atelier_domain::world::Answer;
use atelier_studio::clusters::commands::{ClusterRequest, RunningJobs, ScaleRequest, find, name_of, tier_of};
use atelier_studio::orders::{ask, command_id};
use atelier_studio::typed::{Problems, whole};

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

pub async fn create(
    id: &str,
    name: &str,
    size: &str,
    scale: [&str; 4],
    tier: &str,
    tags: &str,
) -> Result<Done, AppError> {
    let caller = here()?;
    let actor = caller.authorise(Action::ClusterCreate).await?;
    let mut problems = Problems::new();
    let name = problems.take(name_of(name));
    let size = problems.take(if size.trim().is_empty() {
        Err(Problem::new("size", "Choose what the nodes are."))
    } else {
        SizeName::parse(size)
    });
    let scale = parse_scale(&mut problems, scale, 0);
    let tier = problems.take(tier_of(tier));
    let tags = problems.take(Tags::parse(tags));
    let (Some(name), Some(size), Some(scale), Some(tier), Some(tags)) = (name, size, scale, tier, tags) else {
        return Err(problems.into_error());
    };
    let next = paths::cluster(&actor.workspace.slug, name.as_str());
    let said = format!("{name} was created. {}", first_words(scale));
    let request = ClusterRequest {
        name: name.to_string(),
        size: size.to_string(),
        min: scale.min,
        max: scale.max,
        idle_seconds: Some(seconds(scale.idle)),
        warm: scale.warm,
        tier: tier.key().to_owned(),
        tags,
    };
    atelier_studio::clusters::commands::create(&caller, command_id(id)?, &request).await.map_err(beside_its_field)?;
    Ok(Done::go(next, said))
}

fn first_words(scale: ScaleSettings) -> String {
    match scale.min.max(scale.warm) {
        0 => "It makes its first node when a job waits.".to_owned(),
        1 => "It makes its first node now.".to_owned(),
        min => format!("It makes its first {min} nodes now."),
    }
}

pub async fn scale(id: &str, name: &str, scale: [&str; 4], why: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let actor = caller.authorise(Action::ClusterScale).await?;
    let cluster = find(&caller, name).await?;
    let present = ask(&caller, move |world| world.cluster(cluster).map_or(0, |cluster| cluster.scale.warm)).await?;
    let mut problems = Problems::new();
    let scale = parse_scale(&mut problems, scale, present);
    let why = problems.take(parse_why(why));
    let (Some(scale), Some(why)) = (scale, why) else { return Err(problems.into_error()) };
    let request = ScaleRequest {
        min: Some(scale.min),
        max: Some(scale.max),
        idle_seconds: Some(seconds(scale.idle)),
        warm: Some(scale.warm),
    };
    atelier_studio::clusters::commands::scale(&caller, command_id(id)?, cluster, request, why)
        .await
        .map_err(beside_its_field)?;
    // Not back to an address that asks for the price of other numbers.
    let next = paths::cluster(&actor.workspace.slug, name);
    let warm = match scale.warm {
        0 => String::new(),
        warm => format!(" {} ready beyond what is needed.", counted(u64::from(warm), "node is kept", "nodes are kept")),
    };
    let said = format!("{name} keeps {} to {} nodes, idle ones for {}.{warm}", scale.min, scale.max, scale.idle);
    Ok(Done::go(next, said))
}

pub async fn tag(id: &str, name: &str, tags: &str) -> Result<Done, AppError> {
    let caller = here()?;
    caller.authorise(Action::ClusterScale).await?;
    let cluster = find(&caller, name).await?;
    atelier_studio::clusters::commands::tag(&caller, command_id(id)?, cluster, Tags::parse(tags)?).await?;
    Ok(Done::stay(format!("The tags of {name} were saved.")))
}

pub async fn pause(id: &str, name: &str, why: &str) -> Result<Done, AppError> {
    let caller = here()?;
    caller.authorise(Action::ClusterScale).await?;
    let cluster = find(&caller, name).await?;
    let answer = atelier_studio::clusters::commands::pause(&caller, command_id(id)?, cluster, parse_why(why)?).await?;
    Ok(Done::stay(match answer {
        Answer::Already => format!("{name} was paused already."),
        _ => format!("{name} is paused: it starts no more jobs and adds no nodes. What runs goes on."),
    }))
}

pub async fn resume(id: &str, name: &str, why: &str) -> Result<Done, AppError> {
    let caller = here()?;
    caller.authorise(Action::ClusterScale).await?;
    let cluster = find(&caller, name).await?;
    let answer = atelier_studio::clusters::commands::resume(&caller, command_id(id)?, cluster, parse_why(why)?).await?;
    Ok(Done::stay(match answer {
        Answer::Already => format!("{name} was not paused."),
        _ => format!("{name} goes on with its queue."),
    }))
}

pub async fn delete(id: &str, name: &str, jobs: &str, why: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let actor = caller.authorise(Action::ClusterDelete).await?;
    let cluster = find(&caller, name).await?;
    let jobs = RunningJobs::parse(jobs)?;
    atelier_studio::clusters::commands::delete(&caller, command_id(id)?, cluster, jobs, parse_why(why)?).await?;
    let said = match jobs {
        RunningJobs::End => format!("{name} is being deleted and its jobs are being ended."),
        RunningJobs::Wait => format!("{name} is being deleted. It goes when its running jobs have ended."),
    };
    Ok(Done::go(paths::compute(&actor.workspace.slug, "clusters"), said))
}

fn seconds(span: Span) -> u64 {
    u64::try_from(span.as_millis() / 1_000).unwrap_or_default()
}

/// Minimum, maximum, idle seconds and nodes kept ready, each judged by itself and then together. Who says nothing about the
/// last leaves it as it is.
fn parse_scale(problems: &mut Problems, [min, max, idle, warm]: [&str; 4], present: u32) -> Option<ScaleSettings> {
    let min = problems.take(whole("min", "The minimum", min));
    let max = problems.take(whole("max", "The maximum", max));
    let idle = problems.take(whole("idle", "The idle time in seconds", idle));
    let warm = match warm.trim() {
        "" => Some(present),
        typed => problems.take(whole("warm", "The number of nodes kept ready", typed)),
    };
    let scale = ScaleSettings { min: min?, max: max?, idle: Span::seconds(idle?), warm: warm? };
    problems.take(scale.check())
}

/// Refusals that one field is to blame for.
fn beside_its_field(error: AppError) -> AppError {
    let AppError::Refused { code, message } = &error else { return error };
    let field = match code.as_str() {
        "name-taken" => "name",
        "unknown-size" | "quota-none" | "capacity-too-small" => "size",
        "quota-too-small" => "min",
        _ => return error,
    };
    Problem::new(field, message.clone()).into()
}
