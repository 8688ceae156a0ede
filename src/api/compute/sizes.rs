//! The catalogue of sizes: what there is, and what operators change in it.

#![allow(
    missing_docs,
    clippy::too_many_arguments,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

use leptos::prelude::*;

use crate::api::Done;
use crate::error::AppError;

#[cfg(feature = "ssr")]
pub use reads::*;

/// Adds a size, or changes the one of that name. Needs `size.write`.
#[server(prefix = "/fn", endpoint = "put_size")]
pub async fn put_size(
    #[server(default)] command_id: String,
    name: String,
    family: String,
    site: String,
    cores: String,
    memory: String,
    #[server(default)] gpus: String,
    price: String,
) -> Result<Done, AppError> {
    let typed = changes::TypedSize { name, family, site, cores, memory, gpus, price };
    changes::put_size(&command_id, &typed).await
}

/// Takes a size out of the catalogue, if nothing is made of it. Needs `size.write`.
#[server(prefix = "/fn", endpoint = "remove_size")]
pub async fn remove_size(
    #[server(default)] command_id: String,
    name: String,
    #[server(default)] why: String,
) -> Result<Done, AppError> {
    changes::remove_size(&command_id, &name, &why).await
}

#[cfg(feature = "ssr")]
mod reads {
    use atelier_domain::access::Action;
    use atelier_domain::compute::Resources;
    use atelier_domain::compute::quota::{Resource, UseKey};
    use atelier_domain::compute::resources::Cores;
    use atelier_domain::compute::size::Size;
    use atelier_domain::world::World;
    use atelier_domain::{UserId, WorkspaceId};

    use crate::api::caller::Caller;
    use crate::components::{QuotaLeft, SizeRow, money};
    use crate::error::AppError;
    use crate::studio::ask;

    /// The catalogue, the cheapest first, with what is left of the quotas. Needs `cluster.read`.
    pub async fn sizes(caller: &Caller) -> Result<Vec<SizeRow>, AppError> {
        let person = caller.actor()?.person.id.clone();
        sizes_for(caller, person).await
    }

    /// The same with what is left of that person's quotas.
    pub async fn sizes_for(caller: &Caller, person: UserId) -> Result<Vec<SizeRow>, AppError> {
        let actor = caller.authorise(Action::ClusterRead).await?;
        let workspace = actor.workspace.id.clone();
        let currency = caller.state.config().currency.clone();
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
            price_said: money::price(size.price, currency),
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
}

#[cfg(feature = "ssr")]
mod changes {
    use atelier_domain::access::Action;
    use atelier_domain::compute::size::{Family, SiteName, SizeName};
    use atelier_domain::text::{Problem, parse_why};

    use crate::api::Done;
    use crate::api::caller::Caller;
    use crate::api::compute::typed::{Problems, decimal, memory, whole};
    use crate::error::AppError;
    use crate::paths;
    use crate::studio::size::{SizeRequest, name_of};
    use crate::studio::{self, command_id};

    /// A size as it is typed.
    pub struct TypedSize {
        pub name: String,
        pub family: String,
        pub site: String,
        pub cores: String,
        pub memory: String,
        pub gpus: String,
        pub price: String,
    }

    impl TypedSize {
        fn parse(&self) -> Result<SizeRequest, AppError> {
            let mut problems = Problems::new();
            // The name is the field `name` here; elsewhere a size is chosen in a field `size`.
            let name = name_of(&self.name).map_err(|problem| Problem::new("name", problem.message));
            let name = problems.take(name);
            let family = problems.take(Family::parse(&self.family));
            let site = problems.take(SiteName::parse(&self.site));
            let cores = problems.take(decimal("cores", "The number of cores", &self.cores, 3));
            let mebibytes = problems.take(memory("memory", "The memory in GiB", &self.memory));
            let gpus = if self.gpus.trim().is_empty() { "0" } else { &self.gpus };
            let gpus = problems.take(whole("gpus", "The number of GPUs", gpus));
            let price = problems.take(decimal("price", "The price", &self.price, 6));
            let (Some(name), Some(family), Some(site), Some(cores), Some(mebibytes), Some(gpus), Some(price)) =
                (name, family, site, cores, mebibytes, gpus, price)
            else {
                return Err(problems.into_error());
            };
            Ok(SizeRequest {
                name: name.to_string(),
                family: family.to_string(),
                site: site.to_string(),
                cores: cores as f64 / 1e3,
                memory_mib: mebibytes,
                gpus: u64::from(gpus),
                price_per_hour: price as f64 / 1e6,
            })
        }
    }

    pub async fn put_size(id: &str, typed: &TypedSize) -> Result<Done, AppError> {
        let caller = Caller::here()?;
        let actor = caller.authorise(Action::SizeWrite).await?;
        let request = typed.parse()?;
        studio::size::put(&caller, command_id(id)?, &request).await.map_err(beside)?;
        Ok(Done::go(paths::sizes(&actor.workspace.slug), format!("The size {} is in the catalogue.", request.name)))
    }

    pub async fn remove_size(id: &str, name: &str, why: &str) -> Result<Done, AppError> {
        let caller = Caller::here()?;
        let actor = caller.authorise(Action::SizeWrite).await?;
        let name = SizeName::parse(name).map_err(|_| AppError::not_found("size"))?;
        studio::size::remove(&caller, command_id(id)?, &name, parse_why(why)?).await?;
        Ok(Done::go(paths::sizes(&actor.workspace.slug), format!("The size {name} was removed from the catalogue.")))
    }

    /// Refusals that one field is to blame for.
    fn beside(error: AppError) -> AppError {
        match error {
            AppError::Refused { code, message } if code == "unknown-site" => {
                AppError::invalid(Problem::new("site", message))
            }
            AppError::Refused { code, message } if code == "in-use" => AppError::invalid(Problem::new("name", message)),
            other => other,
        }
    }
}
