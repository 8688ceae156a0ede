//! Everything that is done to clusters.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};
#[cfg(feature = "ssr")]
use {
    crate::error::AppError,
    crate::server::caller::here,
    atelier_domain::compute::ScheduleId,
    atelier_domain::compute::size::SizeName,
    atelier_domain::compute::tags::Tags,
    atelier_domain::compute::verb::{Noun, Verb},
    atelier_domain::paths,
    atelier_domain::text::{Problem, counted, lowered, parse_why},
    atelier_domain::world::Answer,
    atelier_studio::clusters::commands::{self, ChangeRequest, ClusterRequest, RunningJobs, find, name_of, tier_of},
    atelier_studio::clusters::minimum,
    atelier_studio::clusters::typed::{TypedScale, TypedWindow},
    atelier_studio::orders::{self, ask},
    atelier_studio::typed::Problems,
};

use crate::done::Done;
use crate::error::FnError;

/// A cluster as the form that makes one, and the one that scales it, say it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClusterForm {
    #[serde(default)]
    pub command_id: String,
    /// Of one to be made.
    #[serde(default)]
    pub name: String,
    /// Of one that exists.
    #[serde(default)]
    pub cluster: String,
    #[serde(default)]
    pub size: String,
    pub min: String,
    pub max: String,
    pub idle: String,
    #[serde(default)]
    pub warm: String,
    #[serde(default)]
    pub tier: String,
    #[serde(default)]
    pub tags: String,
    #[serde(default)]
    pub why: String,
}

#[cfg(feature = "ssr")]
impl ClusterForm {
    fn scale(&self) -> TypedScale<'_> {
        TypedScale { min: &self.min, max: &self.max, idle: Some(&self.idle), warm: &self.warm }
    }
}

/// Makes a cluster. Needs `cluster.create`.
#[server(prefix = "/fn", endpoint = "create_cluster")]
pub async fn create_cluster(#[server(flatten)] form: ClusterForm) -> Result<Done, FnError> {
    let caller = here()?;
    let actor = caller.authorise(Verb::CreateCluster.right()).await?;
    let mut problems = Problems::default();
    let name = problems.take(name_of(&form.name));
    let size = problems.take(if form.size.trim().is_empty() {
        Err(Problem::new("size", "Choose what the nodes are."))
    } else {
        SizeName::parse(&form.size)
    });
    let scale = form.scale().read(&mut problems, 0);
    let tier = problems.take(tier_of(&form.tier));
    let tags = problems.take(Tags::parse(&form.tags));
    let (Some(name), Some(size), Some(scale), Some(tier), Some(tags)) = (name, size, scale, tier, tags) else {
        return Err(problems.into_error().into());
    };
    let first = match scale.min.max(scale.warm) {
        0 => "It makes its first node when a job waits.".to_owned(),
        1 => "It makes its first node now.".to_owned(),
        min => format!("It makes its first {min} nodes now."),
    };
    let request = ClusterRequest::of(&name, &size, scale, tier, tags);
    commands::create(&caller, orders::command_id(&form.command_id)?, &request)
        .await
        .map_err(|error| error.beside(&FIELDS))?;
    Ok(Done::go(paths::cluster(&actor.workspace.slug, name.as_str()), format!("{name} was created. {first}")))
}

/// Changes how a cluster scales. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "scale_cluster")]
pub async fn scale_cluster(#[server(flatten)] form: ClusterForm) -> Result<Done, FnError> {
    let caller = here()?;
    let actor = caller.authorise(Verb::ScaleCluster.right()).await?;
    let cluster = find(&caller, &form.cluster).await?;
    let warm = ask(&caller, move |world| world.cluster(cluster).map_or(0, |cluster| cluster.scale.warm)).await?;
    let mut problems = Problems::default();
    let scale = form.scale().read(&mut problems, warm);
    let why = problems.take(parse_why(&form.why));
    let (Some(scale), Some(_)) = (scale, why) else { return Err(problems.into_error().into()) };
    let request = ChangeRequest { why: form.why.clone(), ..ChangeRequest::scaling(scale) };
    let id = orders::command_id(&form.command_id)?;
    commands::change(&caller, id, cluster, request).await.map_err(|error| error.beside(&FIELDS))?;
    // Not back to an address that asks for the price of other numbers.
    let (name, next) = (&form.cluster, paths::cluster(&actor.workspace.slug, &form.cluster));
    let warm = match scale.warm {
        0 => String::new(),
        warm => format!(" {} ready beyond what is needed.", counted(u64::from(warm), "node is kept", "nodes are kept")),
    };
    let said = format!("{name} keeps {} to {} nodes, idle ones for {}.{warm}", scale.min, scale.max, scale.idle);
    Ok(Done::go(next, said))
}

/// Refusals that one field is to blame for.
#[cfg(feature = "ssr")]
const FIELDS: [(&str, &str); 5] = [
    ("name-taken", "name"),
    ("unknown-size", "size"),
    ("quota-none", "size"),
    ("capacity-too-small", "size"),
    ("quota-too-small", "min"),
];

/// A number of nodes at certain hours, as the form says it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MinimumForm {
    #[serde(default)]
    pub command_id: String,
    pub cluster: String,
    #[serde(default)]
    pub nodes: String,
    #[serde(default)]
    pub days: String,
    #[serde(default)]
    pub from: String,
    #[serde(default)]
    pub to: String,
    #[serde(default)]
    pub otherwise: String,
    #[serde(default)]
    pub time_zone: String,
}

/// Keeps more nodes, or fewer, at certain hours: two schedules that set the minimum. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "add_minimum")]
pub async fn add_minimum(#[server(flatten)] form: MinimumForm) -> Result<Done, FnError> {
    let caller = here()?;
    caller.authorise(Verb::AddSchedule.right_on(Noun::Cluster)).await?;
    let cluster = find(&caller, &form.cluster).await?;
    let MinimumForm { nodes, days, from, to, otherwise, time_zone, .. } = &form;
    let window = TypedWindow { nodes, days, from, to, otherwise, time_zone }.read()?;
    let (name, hours) = (&form.cluster, lowered(&window.begin.sentence()));
    let said = format!("{name} keeps {} nodes {hours} and {} at other times.", window.nodes, window.otherwise);
    minimum::add_window(&caller, &orders::command_id(&form.command_id)?, cluster, window).await?;
    Ok(Done::stay(said))
}

/// Switches a schedule of a cluster on (`enabled=on`) or off. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "switch_minimum")]
pub async fn switch_minimum(
    #[server(default)] command_id: String,
    cluster: String,
    schedule: String,
    #[server(default)] enabled: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    caller.authorise(Verb::EnableSchedule.right_on(Noun::Cluster)).await?;
    let is_enabled = !enabled.is_empty();
    let (cluster, schedule) = (find(&caller, &cluster).await?, schedule_of(&schedule)?);
    let answer = minimum::enable(&caller, orders::command_id(&command_id)?, cluster, schedule, is_enabled).await?;
    let word = if is_enabled { "enabled" } else { "disabled" };
    Ok(Done::stay(match answer {
        Answer::Already => format!("The schedule was {word} already."),
        _ => format!("The schedule is {word}."),
    }))
}

/// Takes a schedule of a cluster away. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "remove_minimum")]
pub async fn remove_minimum(
    #[server(default)] command_id: String,
    cluster: String,
    schedule: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    caller.authorise(Verb::RemoveSchedule.right_on(Noun::Cluster)).await?;
    let (id, schedule) = (find(&caller, &cluster).await?, schedule_of(&schedule)?);
    minimum::remove(&caller, orders::command_id(&command_id)?, id, schedule).await?;
    Ok(Done::stay(format!("The schedule was removed from {cluster}.")))
}

#[cfg(feature = "ssr")]
fn schedule_of(text: &str) -> Result<ScheduleId, AppError> {
    ScheduleId::parse(text).ok_or_else(|| AppError::not_found("schedule"))
}

/// Replaces the tags of a cluster. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "tag_cluster")]
pub async fn tag_cluster(
    #[server(default)] command_id: String,
    cluster: String,
    #[server(default)] tags: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    caller.authorise(Verb::TagCluster.right()).await?;
    let id = find(&caller, &cluster).await?;
    let request = ChangeRequest { tags: Some(Tags::parse(&tags)?), ..ChangeRequest::default() };
    commands::change(&caller, orders::command_id(&command_id)?, id, request).await?;
    Ok(Done::stay(format!("The tags of {cluster} were saved.")))
}

/// Starts nothing more on a cluster; what runs goes on. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "pause_cluster")]
pub async fn pause_cluster(
    #[server(default)] command_id: String,
    cluster: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    caller.authorise(Verb::PauseCluster.right()).await?;
    let id = find(&caller, &cluster).await?;
    let answer = commands::set_paused(&caller, orders::command_id(&command_id)?, id, true, parse_why(&why)?).await?;
    Ok(Done::stay(match answer {
        Answer::Already => format!("{cluster} was paused already."),
        _ => format!("{cluster} is paused: it starts no more jobs and adds no nodes. What runs goes on."),
    }))
}

/// Lets a paused cluster go on. Needs `cluster.scale`.
#[server(prefix = "/fn", endpoint = "resume_cluster")]
pub async fn resume_cluster(
    #[server(default)] command_id: String,
    cluster: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    caller.authorise(Verb::ResumeCluster.right()).await?;
    let id = find(&caller, &cluster).await?;
    let answer = commands::set_paused(&caller, orders::command_id(&command_id)?, id, false, parse_why(&why)?).await?;
    Ok(Done::stay(match answer {
        Answer::Already => format!("{cluster} was not paused."),
        _ => format!("{cluster} goes on with its queue."),
    }))
}

/// Takes a cluster away: `jobs` is `wait` or `end`, for those that run. Needs `cluster.delete`.
#[server(prefix = "/fn", endpoint = "delete_cluster")]
pub async fn delete_cluster(
    #[server(default)] command_id: String,
    cluster: String,
    #[server(default)] jobs: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    let actor = caller.authorise(Verb::DeleteCluster.right()).await?;
    let id = find(&caller, &cluster).await?;
    let jobs = RunningJobs::parse(&jobs)?;
    commands::delete(&caller, orders::command_id(&command_id)?, id, jobs, parse_why(&why)?).await?;
    let said = match jobs {
        RunningJobs::End => format!("{cluster} is being deleted and its jobs are being ended."),
        RunningJobs::Wait => format!("{cluster} is being deleted. It goes when its running jobs have ended."),
    };
    Ok(Done::go(paths::compute(&actor.workspace.slug, "clusters"), said))
}
