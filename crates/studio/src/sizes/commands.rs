//! The catalogue of sizes.

use atelier_domain::access::Action;
use atelier_domain::compute::resources::Resources;
use atelier_domain::compute::size::{Family, Price, SiteName, Size, SizeName};
use atelier_domain::error::AppError;
use atelier_domain::text::Problem;
use atelier_domain::world::{Answer, Order};
use atelier_engine::run::CommandId;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::orders::{ask, order};

/// The address of the form; a size of that name would have none.
const RESERVED: &str = "new";

/// A size as people ask for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SizeRequest {
    /// What it is called.
    pub name: String,
    /// Which quota it counts against.
    pub family: String,
    /// Where its nodes are made.
    pub site: String,
    /// Cores of a node.
    pub cores: f64,
    /// Memory of a node in MiB.
    pub memory_mib: u64,
    /// GPUs of a node.
    pub gpus: u64,
    /// What an hour of a node costs.
    pub price_per_hour: f64,
}

/// All sizes, the cheapest first.
pub async fn list(caller: &Caller) -> Result<Vec<Size>, AppError> {
    caller.authorise(Action::ClusterRead).await?;
    let mut sizes: Vec<Size> = ask(caller, |world| world.sizes().cloned().collect()).await?;
    sizes.sort_by(|a, b| (a.price, &a.name).cmp(&(b.price, &b.name)));
    Ok(sizes)
}

/// Adds a size or changes it; nodes that exist stay as they are.
pub async fn put(caller: &Caller, id: CommandId, request: &SizeRequest) -> Result<Answer, AppError> {
    caller.authorise(Action::SizeWrite).await?;
    let mut problems = Vec::new();
    let name = name_of(&request.name).map_err(|problem| problems.push(problem)).ok();
    let family = Family::parse(&request.family).map_err(|problem| problems.push(problem)).ok();
    let site = SiteName::parse(&request.site).map_err(|problem| problems.push(problem)).ok();
    if request.price_per_hour < 0.0 {
        problems.push(Problem::new("price", format!("A price is 0 or more; this is {}.", request.price_per_hour)));
    }
    let (Some(name), Some(family), Some(site), true) = (name, family, site, problems.is_empty()) else {
        return Err(AppError::Invalid { problems });
    };
    let shape = Resources {
        cores: (request.cores * 1_000.0).round().clamp(0.0, 1e12) as u64,
        memory: request.memory_mib,
        gpus: request.gpus,
    };
    let price = Price((request.price_per_hour * 1e6).round().clamp(0.0, 1e18) as u64);
    let size = Size { name, family, site, shape, price };
    size.check()?;
    order(caller, id, Order::PutSize(size), None, None).await
}

/// The name of a size to be made.
pub fn name_of(typed: &str) -> Result<SizeName, Problem> {
    let name = SizeName::parse(typed)?;
    if name.as_str() == RESERVED {
        return Err(Problem::new("size", "“new” is the address of the form for sizes. Choose another name."));
    }
    Ok(name)
}

/// Takes a size out of the catalogue.
pub async fn remove(caller: &Caller, id: CommandId, name: &SizeName, why: Option<String>) -> Result<Answer, AppError> {
    caller.authorise(Action::SizeWrite).await?;
    order(caller, id, Order::RemoveSize(name.clone()), None, why).await
}
