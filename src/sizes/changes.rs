//! What forms change.

use atelier_domain::access::Action;
use atelier_domain::compute::size::{Family, SiteName, SizeName};
use atelier_domain::paths;
use atelier_domain::text::{Problem, parse_why};
use atelier_studio::orders::command_id;
use atelier_studio::sizes::commands::{SizeRequest, name_of};
use atelier_studio::typed::{Problems, decimal, memory, whole};

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

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
    let caller = here()?;
    let actor = caller.authorise(Action::SizeWrite).await?;
    let request = typed.parse()?;
    atelier_studio::sizes::commands::put(&caller, command_id(id)?, &request).await.map_err(beside)?;
    Ok(Done::go(paths::sizes(&actor.workspace.slug), format!("The size {} is in the catalogue.", request.name)))
}

pub async fn remove_size(id: &str, name: &str, why: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let actor = caller.authorise(Action::SizeWrite).await?;
    let name = SizeName::parse(name).map_err(|_| AppError::not_found("size"))?;
    atelier_studio::sizes::commands::remove(&caller, command_id(id)?, &name, parse_why(why)?).await?;
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
