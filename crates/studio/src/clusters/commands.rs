//! Clusters: made, scaled, tagged, paused and deleted by pages and by the API alike.

use atelier_domain::access::Action;
use atelier_domain::compute::ClusterId;
use atelier_domain::compute::cluster::{DEFAULT_IDLE, ScaleSettings};
use atelier_domain::compute::size::{ComputeName, SizeName, Tier};
use atelier_domain::compute::tags::Tags;
use atelier_domain::error::AppError;
use atelier_domain::text::Problem;
use atelier_domain::time::Span;
use atelier_domain::world::{Answer, ComputeRef, Order};
use atelier_engine::run::CommandId;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::orders::{ask, order};

/// The address of the form; a cluster of that name would have no page.
const RESERVED: &str = "new";

/// A cluster as people ask for it. Its name, its size and its maximum have no default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterRequest {
    /// What it is to be called.
    pub name: String,
    /// The size of its nodes.
    pub size: String,
    /// The fewest nodes.
    pub min: u32,
    /// The most nodes.
    pub max: u32,
    /// How long a node stays without a job; two minutes if left out.
    pub idle_seconds: Option<u64>,
    /// Idle nodes that are kept ready beyond what is needed.
    pub warm: u32,
    /// `dedicated`, or `preemptible` if dedicated work may take its nodes back.
    pub tier: String,
    /// Notes.
    pub tags: Tags,
}

/// How a cluster is to scale, as people say it; what is left out stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScaleRequest {
    /// The fewest nodes.
    pub min: Option<u32>,
    /// The most nodes.
    pub max: Option<u32>,
    /// How long a node stays without a job.
    pub idle_seconds: Option<u64>,
    /// Idle nodes that are kept ready beyond what is needed.
    pub warm: Option<u32>,
}

/// What becomes of jobs that run when their cluster is deleted. Waiting ones are cancelled in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunningJobs {
    /// They run to their end, and then the cluster goes.
    Wait,
    /// They are ended.
    End,
}

impl RunningJobs {
    /// Reads the field `jobs`.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        match text {
            "wait" => Ok(Self::Wait),
            "end" => Ok(Self::End),
            other => {
                let start = atelier_domain::text::shortened(other);
                Err(Problem::new("jobs", format!("Running jobs “wait” or “end”, not “{start}”.")))
            }
        }
    }
}

/// Makes a cluster.
pub async fn create(caller: &Caller, id: CommandId, request: &ClusterRequest) -> Result<ClusterId, AppError> {
    caller.authorise(Action::ClusterCreate).await?;
    let mut problems = Vec::new();
    let name = name_of(&request.name).map_err(|problem| problems.push(problem)).ok();
    let size = SizeName::parse(&request.size).map_err(|problem| problems.push(problem)).ok();
    let scale = ScaleSettings {
        min: request.min,
        max: request.max,
        idle: request.idle_seconds.map_or(DEFAULT_IDLE, span_of),
        warm: request.warm,
    };
    let tier = tier_of(&request.tier).map_err(|problem| problems.push(problem)).unwrap_or_default();
    problems.extend(scale.check().err());
    problems.extend(request.tags.check().err());
    let (Some(name), Some(size), true) = (name, size, problems.is_empty()) else {
        return Err(AppError::Invalid { problems });
    };
    let wanted = Order::CreateCluster { name, size, scale, tier, tags: request.tags.clone() };
    match order(caller, id, wanted, None, None).await? {
        Answer::Cluster(cluster) => Ok(cluster),
        other => caller.checked(Err(format!("a new cluster was answered with {other:?}"))),
    }
}

/// Reads the field `tier`; dedicated if it is empty.
pub fn tier_of(text: &str) -> Result<Tier, Problem> {
    if text.is_empty() {
        return Ok(Tier::default());
    }
    Tier::ALL.into_iter().find(|tier| tier.key() == text).ok_or_else(|| {
        let start = atelier_domain::text::shortened(text);
        Problem::new("tier", format!("A tier is “dedicated” or “preemptible”, not “{start}”."))
    })
}

/// What a tier means, for who chooses.
pub const fn said_tier(tier: Tier) -> &'static str {
    match tier {
        Tier::Dedicated => "Nobody takes its nodes back. Where room is short, it takes that of preemptible nodes.",
        Tier::Preemptible => {
            "Its nodes go, with notice, when dedicated work lacks room; jobs on them go back to the queue and start again. For work that keeps checkpoints."
        }
    }
}

/// The name of a cluster to be made.
pub fn name_of(typed: &str) -> Result<ComputeName, Problem> {
    let name = ComputeName::parse(typed)?;
    if name.as_str() == RESERVED {
        return Err(Problem::new("name", "“new” is the address of the form for clusters. Choose another name."));
    }
    Ok(name)
}

/// The cluster of that name, if the caller may see it.
pub async fn find(caller: &Caller, name: &str) -> Result<ClusterId, AppError> {
    caller.authorise(Action::ClusterRead).await?;
    let nobody = || AppError::not_found("cluster");
    let name = ComputeName::parse(name).map_err(|_| nobody())?;
    let workspace = caller.actor()?.workspace.id.clone();
    let found = ask(caller, move |world| world.compute(&workspace, &name)).await?;
    match found {
        Some(ComputeRef::Cluster(id)) => Ok(id),
        Some(ComputeRef::Instance(_)) | None => Err(nobody()),
    }
}

/// Changes how a cluster scales.
pub async fn scale(
    caller: &Caller,
    id: CommandId,
    cluster: ClusterId,
    request: ScaleRequest,
    why: Option<String>,
) -> Result<Answer, AppError> {
    caller.authorise(Action::ClusterScale).await?;
    let present = ask(caller, move |world| world.cluster(cluster).map(|cluster| cluster.scale)).await?;
    let present = present.ok_or_else(|| AppError::not_found("cluster"))?;
    let scale = ScaleSettings {
        min: request.min.unwrap_or(present.min),
        max: request.max.unwrap_or(present.max),
        idle: request.idle_seconds.map_or(present.idle, span_of),
        warm: request.warm.unwrap_or(present.warm),
    };
    let scale = scale.check()?;
    order(caller, id, Order::ScaleCluster { cluster, scale }, None, why).await
}

/// Changes what people note about a cluster: all of it.
pub async fn tag(caller: &Caller, id: CommandId, cluster: ClusterId, tags: Tags) -> Result<Answer, AppError> {
    caller.authorise(Action::ClusterScale).await?;
    tags.check()?;
    order(caller, id, Order::TagCluster { cluster, tags }, None, None).await
}

/// Lets a cluster start nothing more; what runs goes on.
pub async fn pause(
    caller: &Caller,
    id: CommandId,
    cluster: ClusterId,
    why: Option<String>,
) -> Result<Answer, AppError> {
    caller.authorise(Action::ClusterScale).await?;
    order(caller, id, Order::PauseCluster(cluster), None, why).await
}

/// Lets a cluster go on.
pub async fn resume(
    caller: &Caller,
    id: CommandId,
    cluster: ClusterId,
    why: Option<String>,
) -> Result<Answer, AppError> {
    caller.authorise(Action::ClusterScale).await?;
    order(caller, id, Order::ResumeCluster(cluster), None, why).await
}

/// Takes a cluster away.
pub async fn delete(
    caller: &Caller,
    id: CommandId,
    cluster: ClusterId,
    jobs: RunningJobs,
    why: Option<String>,
) -> Result<Answer, AppError> {
    caller.authorise(Action::ClusterDelete).await?;
    let ends_jobs = jobs == RunningJobs::End;
    order(caller, id, Order::DeleteCluster { cluster, ends_jobs }, None, why).await
}

/// Seconds as people say them; far too many stay far too many and are refused by the rules.
fn span_of(seconds: u64) -> Span {
    Span::seconds(u32::try_from(seconds).unwrap_or(u32::MAX))
}
