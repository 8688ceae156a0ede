//! The catalogue of sizes, with what is left of quotas and room.

use atelier_domain::access::Action;
use atelier_domain::compute::Resources;
use atelier_domain::compute::quota::{Resource, UseKey};
use atelier_domain::compute::resources::Cores;
use atelier_domain::compute::size::Size;
use atelier_domain::error::AppError;
use atelier_domain::world::World;
use atelier_domain::{UserId, WorkspaceId};

use crate::caller::Caller;
use crate::orders::ask;
use crate::sizes::row::{QuotaLeft, SizeRow};

/// The catalogue, the cheapest first, with what is left of the quotas. Needs `cluster.read`.
pub async fn sizes(caller: &Caller) -> Result<Vec<SizeRow>, AppError> {
    let person = caller.actor()?.person.id.clone();
    sizes_for(caller, person).await
}

/// The same with what is left of that person's quotas.
pub async fn sizes_for(caller: &Caller, person: UserId) -> Result<Vec<SizeRow>, AppError> {
    let actor = caller.authorise(Action::ClusterRead).await?;
    let workspace = actor.workspace.id.clone();
    let currency = caller.studio.settings().currency.clone();
    ask(caller, move |world| {
        let mut sizes: Vec<&Size> = world.sizes().collect();
        sizes.sort_by(|a, b| (a.price, a.shape, &a.name).cmp(&(b.price, b.shape, &b.name)));
        sizes.into_iter().map(|size| row(world, size, &workspace, &person, &currency)).collect()
    })
    .await
}

/// The names of the places where nodes are made. Needs `cluster.read`.
pub async fn site_names(caller: &Caller) -> Result<Vec<String>, AppError> {
    caller.authorise(Action::ClusterRead).await?;
    ask(caller, |world| world.sites().map(|site| site.name.to_string()).collect()).await
}

fn row(world: &World, size: &Size, workspace: &WorkspaceId, person: &UserId, currency: &str) -> SizeRow {
    let free = world.free_capacity(&size.site);
    SizeRow {
        name: size.name.to_string(),
        family: size.family.to_string(),
        site: size.site.to_string(),
        shape: size.shape,
        price: size.price,
        price_said: size.price.said(currency),
        quota: left(world, size, workspace, None),
        own_quota: left(world, size, workspace, Some(person)),
        fitting: if free == Resources::NONE { 0 } else { free.holds(size.shape) },
    }
}

/// The tighter of the limits on cores and on GPUs, measured in nodes of that size.
fn left(world: &World, size: &Size, workspace: &WorkspaceId, person: Option<&UserId>) -> Option<QuotaLeft> {
    let of = |resource: Resource, per_node: u64| {
        let key = UseKey { workspace: workspace.clone(), person: person.cloned(), resource };
        let (limit, used) = (world.limit(&key)?, world.used(&key));
        let said = match &key.resource {
            Resource::Gpus => format!("{used} of {limit} GPUs"),
            _ => format!("{} of {}", plain(used), Cores(limit)),
        };
        Some((limit.saturating_sub(used) / per_node.max(1), QuotaLeft { used, limit, said }))
    };
    let cores = of(Resource::Cores(size.family.clone()), size.shape.cores);
    let gpus = (size.shape.gpus > 0).then(|| of(Resource::Gpus, size.shape.gpus)).flatten();
    cores.into_iter().chain(gpus).min_by_key(|(nodes, _)| *nodes).map(|(_, quota)| quota)
}

fn plain(cores: u64) -> String {
    Cores(cores).to_string().split(' ').next().unwrap_or_default().to_owned()
}
