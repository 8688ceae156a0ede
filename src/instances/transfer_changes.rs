//! What forms change.

use atelier_domain::paths;
use atelier_domain::text::parse_why;
use atelier_domain::world::Answer;
use atelier_studio::orders::command_id;

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

pub async fn transfer(id: &str, name: &str, to: &str, why: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let (id, why) = (command_id(id)?, parse_why(why)?);
    let (subject, person, answer) = atelier_studio::instances::transfer::transfer(&caller, id, name, to, why).await?;
    let next = paths::instance(&caller.actor()?.workspace.slug, subject.name.as_str());
    Ok(Done::go(
        next,
        match answer {
            Answer::Already => format!("{} is {}’s already.", subject.name, person.name),
            _ => format!(
                "{} is {}’s now. It can be started when its home is clean, in a moment.",
                subject.name, person.name
            ),
        },
    ))
}
