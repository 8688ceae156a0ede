//! Clusters: made, scaled, tagged, paused and deleted by pages and by the API alike.

use atelier_domain::access::Action;
use atelier_domain::compute::ClusterId;
use atelier_domain::compute::cluster::{DEFAULT_IDLE, ScaleSettings};
use atelier_domain::compute::fair_share::QueuePolicy;
use atelier_domain::compute::size::{ComputeName, SizeName, Tier};
use atelier_domain::compute::tags::Tags;
use atelier_domain::compute::verb::{ClusterVerb, Verb};
use atelier_domain::error::AppError;
use atelier_domain::text::{Problem, parse_why};
use atelier_domain::time::Span;
use atelier_domain::world::{Answer, ClusterChange, ComputeRef, Order};
use atelier_engine::run::CommandId;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::fair_shares::PolicyRequest;
use crate::orders::{ask, order};
use crate::typed::{Problems, free_name};

/// A cluster as people ask for it. Its name, its size and its maximum have no default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterRequest {
    pub name: String,
    pub size: String,
    pub min: u32,
    pub max: u32,
    /// How long a node stays without a job; two minutes if left out.
    pub idle_seconds: Option<u64>,
    /// Idle nodes that are kept ready beyond what is needed.
    pub warm: u32,
    /// `dedicated`, or `preemptible` if dedicated work may take its nodes back.
    pub tier: String,
    pub tags: Tags,
}

impl ClusterRequest {
    /// The same of what was typed and found good.
    pub fn of(name: &ComputeName, size: &SizeName, scale: ScaleSettings, tier: Tier, tags: Tags) -> Self {
        Self {
            name: name.to_string(),
            size: size.to_string(),
            min: scale.min,
            max: scale.max,
            idle_seconds: Some(seconds_of(scale.idle)),
            warm: scale.warm,
            tier: tier.key().to_owned(),
            tags,
        }
    }
}

/// What is to change about a cluster, as people say it; what is left out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChangeRequest {
    pub min: Option<u32>,
    pub max: Option<u32>,
    /// How long a node stays without a job.
    pub idle_seconds: Option<u64>,
    /// Idle nodes that are kept ready beyond what is needed.
    pub warm: Option<u32>,
    pub queue: Option<PolicyRequest>,
    /// Notes: all of them.
    pub tags: Option<Tags>,
    pub why: String,
}

impl ChangeRequest {
    /// How it scales from then on.
    pub fn scaling(scale: ScaleSettings) -> Self {
        Self {
            min: Some(scale.min),
            max: Some(scale.max),
            idle_seconds: Some(seconds_of(scale.idle)),
            warm: Some(scale.warm),
            ..Self::default()
        }
    }

    /// What comes of it on a cluster that has these settings.
    fn over(self, scale: ScaleSettings, queue: QueuePolicy) -> Result<ClusterChange, Vec<Problem>> {
        let mut problems = Problems::default();
        let wanted = ScaleSettings {
            min: self.min.unwrap_or(scale.min),
            max: self.max.unwrap_or(scale.max),
            idle: self.idle_seconds.map_or(scale.idle, span_of),
            warm: self.warm.unwrap_or(scale.warm),
        };
        let scales = self.min.is_some() || self.max.is_some() || self.idle_seconds.is_some() || self.warm.is_some();
        let change = ClusterChange {
            scale: if scales { problems.take(wanted.check()) } else { None },
            queue: self.queue.and_then(|asked| problems.take(asked.over(queue))),
            tags: self.tags.and_then(|tags| problems.take(tags.check().map(|()| tags))),
        };
        if problems.0.is_empty() { Ok(change) } else { Err(problems.0) }
    }
}

/// What becomes of jobs that run when their cluster is deleted. Waiting ones are canceled in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunningJobs {
    /// They run to their end, and then the cluster goes.
    Wait,
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
    caller.authorise(Verb::CreateCluster.right()).await?;
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
            "Its nodes go, with notice, when dedicated work lacks room; jobs on them go back to the queue and start \
             again. For work that keeps checkpoints."
        }
    }
}

/// The name of a cluster to be made.
pub fn name_of(typed: &str) -> Result<ComputeName, Problem> {
    ComputeName::parse(typed).and_then(|name| free_name("name", name, "clusters"))
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

/// Changes settings of a cluster: all that is asked for, or nothing.
pub async fn change(
    caller: &Caller,
    id: CommandId,
    cluster: ClusterId,
    request: ChangeRequest,
) -> Result<Answer, AppError> {
    caller.authorise(ClusterVerb::Scale.verb().right()).await?;
    let why = parse_why(&request.why)?;
    let present = ask(caller, move |world| world.cluster(cluster).map(|it| (it.scale, it.queue))).await?;
    let (scale, queue) = present.ok_or_else(|| AppError::not_found("cluster"))?;
    let change = request.over(scale, queue).map_err(|problems| AppError::Invalid { problems })?;
    order(caller, id, Order::ChangeCluster { cluster, change: Box::new(change) }, None, why).await
}

/// Lets a cluster start nothing more, while what runs goes on; or lets it go on.
pub async fn set_paused(
    caller: &Caller,
    id: CommandId,
    cluster: ClusterId,
    is_paused: bool,
    why: Option<String>,
) -> Result<Answer, AppError> {
    let wanted = if is_paused { Order::PauseCluster(cluster) } else { Order::ResumeCluster(cluster) };
    caller.authorise(wanted.verb().right()).await?;
    order(caller, id, wanted, None, why).await
}

/// Takes a cluster away.
pub async fn delete(
    caller: &Caller,
    id: CommandId,
    cluster: ClusterId,
    jobs: RunningJobs,
    why: Option<String>,
) -> Result<Answer, AppError> {
    caller.authorise(ClusterVerb::Delete.verb().right()).await?;
    let ends_jobs = jobs == RunningJobs::End;
    order(caller, id, Order::DeleteCluster { cluster, ends_jobs }, None, why).await
}

/// A span as people say it.
fn seconds_of(span: Span) -> u64 {
    u64::try_from(span.as_millis() / 1_000).unwrap_or_default()
}

/// Seconds as people say them; far too many stay far too many and are refused by the rules.
fn span_of(seconds: u64) -> Span {
    Span::seconds(u32::try_from(seconds).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE: ScaleSettings = ScaleSettings { min: 1, max: 4, idle: DEFAULT_IDLE, warm: 0 };

    #[test]
    fn every_field_of_a_change_is_judged_and_what_is_left_out_stays() {
        let request = ChangeRequest {
            min: Some(9),
            queue: Some(PolicyRequest { order: Some("by-name".into()), backfill: None }),
            ..ChangeRequest::default()
        };
        let problems = request.over(SCALE, QueuePolicy::plain()).expect_err("two of them");
        let fields: Vec<&str> = problems.iter().map(|problem| problem.field.as_ref()).collect();
        assert_eq!(fields, ["min", "order"]);
        let change = ChangeRequest { max: Some(6), ..ChangeRequest::default() }.over(SCALE, QueuePolicy::plain());
        let wanted = ClusterChange { scale: Some(ScaleSettings { max: 6, ..SCALE }), queue: None, tags: None };
        assert_eq!(change, Ok(wanted));
        assert_eq!(ChangeRequest::default().over(SCALE, QueuePolicy::plain()), Ok(ClusterChange::default()));
    }
}
