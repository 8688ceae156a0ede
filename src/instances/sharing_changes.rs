//! What forms change.

use atelier_domain::text::{Problem, shortened};
use atelier_studio::clock;
use atelier_studio::instances::sharing;
use atelier_studio::instances::sharing::ShareRequest;

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

pub async fn share(instance: &str, person: String, app: String, level: String, until: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let zone = caller.actor()?.person.time_zone.clone();
    let until = match until.trim() {
        "" => Ok(None),
        typed => clock::parse_local(typed, &zone).map(Some).ok_or_else(|| {
            let start = shortened(typed);
            Problem::new("until", format!("A day and a time look like 2026-03-19T19:30; this is “{start}”."))
        }),
    };
    let request = ShareRequest { person, app, level, until };
    let (subject, row) = sharing::put(&caller, instance, request).await?;
    let end = row.until.map(|until| format!(" until {}", clock::date_and_time(until, &zone))).unwrap_or_default();
    let (label, level, name) = (&row.label, row.level.key(), &row.person.name);
    Ok(Done::stay(format!("{label} of {} is shared with {name} to {level}{end}.", subject.name)))
}

pub async fn revoke(instance: &str, app: &str, person: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let (name, label) = sharing::revoke(&caller, instance, app, person).await?;
    Ok(Done::stay(format!("{label} is not shared with {name} any more; what they had open is closed.")))
}
