//! What operators change in the catalogue of sizes.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};
#[cfg(feature = "ssr")]
use {
    crate::error::AppError,
    crate::server::caller::here,
    atelier_domain::access::Action,
    atelier_domain::compute::resources::Resources,
    atelier_domain::compute::size::{Family, Price, SiteName, Size, SizeName},
    atelier_domain::paths,
    atelier_domain::text::{Problem, parse_why},
    atelier_studio::orders,
    atelier_studio::sizes::commands,
    atelier_studio::typed::{Problems, decimal, memory, whole},
};

use crate::done::Done;
use crate::error::FnError;

/// A size as it is typed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SizeForm {
    pub name: String,
    pub family: String,
    pub site: String,
    pub cores: String,
    pub memory: String,
    pub gpus: String,
    pub price: String,
}

#[cfg(feature = "ssr")]
impl SizeForm {
    fn parse(&self) -> Result<Size, AppError> {
        let mut problems = Problems::default();
        // The name is the field `name` here; elsewhere a size is chosen in a field `size`.
        let name = commands::name_of(&self.name).map_err(|problem| Problem::new("name", problem.message));
        let name = problems.take(name);
        let family = problems.take(Family::parse(&self.family));
        let site = problems.take(SiteName::parse(&self.site));
        let cores = problems.take(decimal("cores", "The number of cores", &self.cores, 3));
        let memory = problems.take(memory("memory", "The memory in GiB", &self.memory));
        let gpus = if self.gpus.trim().is_empty() { "0" } else { &self.gpus };
        let gpus = problems.take(whole("gpus", "The number of GPUs", gpus));
        let price = problems.take(decimal("price", "The price", &self.price, 6));
        let (Some(name), Some(family), Some(site), Some(cores), Some(memory), Some(gpus), Some(price)) =
            (name, family, site, cores, memory, gpus, price)
        else {
            return Err(problems.into_error());
        };
        let shape = Resources { cores, memory, gpus: u64::from(gpus) };
        Ok(Size { name, family, site, shape, price: Price(price) })
    }
}

/// Adds a size, or changes the one of that name. Needs `size.write`.
#[server(prefix = "/fn", endpoint = "put_size")]
pub async fn put_size(
    #[server(default)] command_id: String,
    #[server(flatten)] form: SizeForm,
) -> Result<Done, FnError> {
    let caller = here()?;
    let actor = caller.authorise(Action::SizeWrite).await?;
    let size = form.parse()?;
    let said = format!("The size {} is in the catalogue.", size.name);
    commands::put(&caller, orders::command_id(&command_id)?, size).await.map_err(|error| error.beside(&FIELDS))?;
    Ok(Done::go(paths::sizes(&actor.workspace.slug), said))
}

/// Takes a size out of the catalogue, if nothing is made of it. Needs `size.write`.
#[server(prefix = "/fn", endpoint = "remove_size")]
pub async fn remove_size(
    #[server(default)] command_id: String,
    name: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    let actor = caller.authorise(Action::SizeWrite).await?;
    let name = SizeName::parse(&name).map_err(|_| AppError::not_found("size"))?;
    commands::remove(&caller, orders::command_id(&command_id)?, &name, parse_why(&why)?).await?;
    Ok(Done::go(paths::sizes(&actor.workspace.slug), format!("The size {name} was removed from the catalogue.")))
}

/// Refusals that one field is to blame for.
#[cfg(feature = "ssr")]
const FIELDS: [(&str, &str); 2] = [("unknown-site", "site"), ("in-use", "name")];
