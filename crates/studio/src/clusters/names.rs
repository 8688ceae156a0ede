//! What the page of a cluster shows beside the World: names of people and jobs, and what was decided.

use atelier_domain::WorkspaceId;
use atelier_domain::compute::JobId;
use atelier_domain::error::AppError;
use atelier_domain::world::About;
use atelier_engine::store::DecisionFilter;

use crate::caller::Caller;
use crate::clusters::detail::ClusterDetail;
use crate::history::{cut, read_cursor};
use crate::people::names::Names;

const DECISIONS_SHOWN: i64 = 20;

/// Names of people and of jobs are in the store.
pub async fn add_names(caller: &Caller, detail: &mut ClusterDetail) -> Result<(), AppError> {
    let owners = detail.queue.iter().map(|row| &row.owner_id).chain([&detail.row.cluster.owner]);
    let people = Names::of(caller, owners.cloned()).await?;
    let on_nodes = detail.nodes.iter().flat_map(|node| node.jobs.iter().map(|job| job.id));
    let ids: Vec<JobId> = detail.queue.iter().map(|row| row.job).chain(on_nodes).collect();
    let jobs = caller.checked(caller.store().job_names(&ids).await)?;
    let name_of = |id: &JobId| jobs.get(id).filter(|name| !name.is_empty()).cloned().unwrap_or_else(|| id.to_string());
    detail.owner = people.name(&detail.row.cluster.owner);
    for row in &mut detail.queue {
        row.owner = people.name(&row.owner_id);
        row.name = name_of(&row.job);
    }
    for job in detail.nodes.iter_mut().flat_map(|node| &mut node.jobs) {
        job.name = name_of(&job.id);
    }
    Ok(())
}

/// What was decided about the cluster and the nodes that it has.
pub async fn add_decisions(
    caller: &Caller,
    workspace: &WorkspaceId,
    detail: &mut ClusterDetail,
    before: &str,
) -> Result<(), AppError> {
    let nodes = detail.map.iter().map(|node| About::Node(node.id)).take(200);
    let about = std::iter::once(About::Cluster(detail.row.cluster.id)).chain(nodes).collect();
    let filter = DecisionFilter { about, before: read_cursor(before), limit: DECISIONS_SHOWN + 1 };
    detail.decisions = caller.checked(caller.store().decisions(workspace, &filter).await)?;
    detail.older = cut(&mut detail.decisions, DECISIONS_SHOWN, |entry| (entry.revision, entry.ordinal));
    Ok(())
}
