//! The last step: the instance is made, then what starts and stops it.

use atelier_domain::paths;
use atelier_studio::caller::Caller;
use atelier_studio::instances::create::{OF_SIZE, create};
use atelier_studio::schedules::commands as schedule;

use crate::error::AppError;
use crate::instances::wizard::judge::NewInstanceForm;

/// Refusals and fields by the names that fields have here.
const FIELDS: [(&str, &str); 2] = [("idle", "idle_minutes"), ("name-taken", "name")];

/// Makes the instance and its schedules. Says where it is and what happens now.
pub async fn make(caller: &Caller, form: &NewInstanceForm) -> Result<(String, String), AppError> {
    let (name, starts) = (&form.request.name, form.request.starts);
    let made = create(caller, form.id.clone(), &form.request).await;
    let made = made.map_err(|error| error.beside(&FIELDS).beside(&OF_SIZE))?;
    let next = paths::instance(&caller.actor()?.workspace.slug, name);
    let mut said = match starts {
        true => format!("{name} was created and starts now."),
        false => format!("{name} was created. It waits, stopped, for its first start."),
    };
    // It exists: what goes wrong from here on must not look as if it did not.
    if let Err(error) = schedule::add_all(caller, &form.id, made, &form.schedules).await {
        tracing::warn!(%error, "the schedules of a new instance were not added");
        said.push_str(&format!(" Its schedule could not be added: {error} Set it on its page of schedules."));
    }
    Ok((next, said))
}
