//! What forms change.

use atelier_domain::paths;
use atelier_studio::environments::commands as environment;
use atelier_studio::environments::commands::EnvironmentRequest;

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

pub async fn save(
    name: String,
    existing: &str,
    recipe: String,
    note: String,
    build: bool,
    why: String,
) -> Result<Done, AppError> {
    let caller = here()?;
    let request = EnvironmentRequest { name, recipe, note, build, why };
    let (name, version) = match existing {
        "" => environment::create(&caller, &request).await?,
        known => environment::add_version(&caller, known, &request).await?,
    };
    let next = paths::named_environment(&caller.actor()?.workspace.slug, name.as_str());
    let built = if build && caller.studio.environments().library().builds() { " It is being built." } else { "" };
    Ok(Done::go(next, format!("{name}:{version} is saved.{built}")))
}

pub async fn build(name: &str, version: &str, why: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let number = match version {
        "" => None,
        typed => Some(typed.parse().map_err(|_| AppError::not_found("version"))?),
    };
    let number = environment::build(&caller, name, number, why).await?;
    Ok(Done::stay(format!("{name}:{number} is being built.")))
}

pub async fn delete(name: &str, why: &str) -> Result<Done, AppError> {
    let caller = here()?;
    environment::delete(&caller, name, why).await?;
    let next = paths::environments(&caller.actor()?.workspace.slug);
    Ok(Done::go(next, format!("{name} is deleted. What was built of it goes from the disk by itself.")))
}
