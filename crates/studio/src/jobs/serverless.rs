//! Serverless jobs: what runs now on nodes of its own, and what waits for them.

use atelier_domain::access::Action;
use atelier_domain::compute::JobId;
use atelier_domain::compute::job::{Job, JobState};
use atelier_domain::compute::node::Holder;
use atelier_domain::compute::size::Tier;
use atelier_domain::error::AppError;
use atelier_domain::time::{Span, Timestamp};
use atelier_domain::world::{PoolKey, World};
use atelier_domain::{Money, UserId, WorkspaceId};

use crate::caller::Caller;
use crate::cost::live::charged;
use crate::orders::{ask, said, since_last_step};
use crate::people::names::Names;

const SHOWN: usize = 100;

/// What runs and waits.
#[derive(Clone, Debug)]
pub struct ServerlessPage {
    /// The first of them: those on nodes before those that wait.
    pub jobs: Vec<ServerlessJob>,
    pub all: u64,
    pub currency: String,
}

/// A serverless job that is not over.
#[derive(Clone, Debug)]
pub struct ServerlessJob {
    pub id: JobId,
    pub name: String,
    pub owner: String,
    pub state: JobState,
    /// Why it waits; empty while it runs.
    pub why: String,
    pub size: String,
    pub tier: Tier,
    /// On how many at once.
    pub nodes: u32,
    pub submitted: Timestamp,
    /// When it ran on all of its nodes.
    pub started: Option<Timestamp>,
    /// What its nodes have cost; nothing where that is not for the caller to know.
    pub cost: Option<Money>,
    owner_id: UserId,
    unsettled: Money,
}

/// Serverless jobs that are not over. Needs `job.read`.
pub async fn serverless(caller: &Caller) -> Result<ServerlessPage, AppError> {
    let actor = caller.authorise(Action::JobRead).await?;
    let (workspace, later) = (actor.workspace.id.clone(), since_last_step(caller));
    let mut page = ask(caller, move |world| look(world, &workspace, later)).await?;
    let ids: Vec<JobId> = page.jobs.iter().map(|job| job.id).collect();
    let names = caller.checked(caller.store().job_names(&ids).await)?;
    let people = Names::of(caller, page.jobs.iter().map(|job| job.owner_id.clone())).await?;
    let since = page.jobs.iter().map(|job| job.submitted.0.div_euclid(3_600_000)).min().unwrap_or_default();
    let charged = charged(caller, ids.iter().copied().map(Holder::Job).collect(), since).await?;
    page.currency.clone_from(&caller.studio.settings().currency);
    for (job, settled) in page.jobs.iter_mut().zip(charged) {
        job.name = names.get(&job.id).filter(|name| !name.is_empty()).cloned().unwrap_or_else(|| job.id.to_string());
        job.owner = people.name(&job.owner_id);
        job.cost = actor.sees_cost_of(&job.owner_id).then(|| settled.plus(job.unsettled));
    }
    Ok(page)
}

fn look(world: &World, workspace: &WorkspaceId, later: Span) -> ServerlessPage {
    let (mut on_nodes, mut waiting, mut all) = (Vec::new(), Vec::new(), 0);
    for (size, tier) in world.sizes().flat_map(|size| Tier::ALL.map(|tier| (size, tier))) {
        let Some(pool) = world.pool(&PoolKey::Serverless(workspace.clone(), size.name.clone(), tier)) else { continue };
        all += pool.all_jobs();
        // What has nodes came first in its queue; so a look at the oldest finds it, however many wait behind.
        for job in pool.jobs.iter().take(10 * SHOWN).filter_map(|id| world.job(*id)) {
            let list = if job.own_nodes.is_empty() { &mut waiting } else { &mut on_nodes };
            if list.len() < SHOWN {
                list.push(row(world, job, size.name.to_string(), later));
            }
        }
    }
    on_nodes.sort_by_key(|job: &ServerlessJob| job.id);
    waiting.sort_by_key(|job: &ServerlessJob| job.id);
    on_nodes.extend(waiting);
    on_nodes.truncate(SHOWN);
    ServerlessPage { jobs: on_nodes, all, currency: String::new() }
}

fn row(world: &World, job: &Job, size: String, later: Span) -> ServerlessJob {
    let nodes = job.own_nodes.iter().filter_map(|node| world.node(*node));
    ServerlessJob {
        id: job.id,
        name: String::new(),
        owner: String::new(),
        state: job.state(),
        why: world.explain_job(job.id).map(|reason| said(&reason)).unwrap_or_default(),
        size,
        tier: job.spec.tier,
        nodes: job.spec.nodes,
        submitted: job.submitted,
        started: job.when.started,
        cost: None,
        owner_id: job.owner.clone(),
        unsettled: nodes.fold(Money::ZERO, |sum, node| sum.plus(Money(world.unsettled(node, later)))),
    }
}
