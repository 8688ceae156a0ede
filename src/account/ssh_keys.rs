//! What forms change.

use atelier_studio::instances::commands::find;
use atelier_studio::instances::ssh;

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

pub async fn add(name: &str, key: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let key = ssh::add_key(&caller, name, key).await?;
    Ok(Done::stay(format!("The key “{}” was added. It opens your instances for which SSH is on.", key.name)))
}

pub async fn remove(key: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let name = ssh::remove_key(&caller, key).await?;
    Ok(Done::stay(format!("The key “{name}” was removed. Connections that came in with it end now.")))
}

pub async fn switch(instance: &str, is_on: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let subject = find(&caller, instance).await?;
    let is_on = is_on == "on";
    ssh::switch(&caller, &subject, is_on).await?;
    Ok(Done::stay(match is_on {
        true => format!("{} can be entered by SSH now.", subject.name),
        false => format!("{} cannot be entered by SSH any more. Open connections end now.", subject.name),
    }))
}
