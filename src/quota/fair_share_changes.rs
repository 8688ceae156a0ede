//! What forms change.

use atelier_domain::access::Action;
use atelier_domain::compute::fair_share::QueuePolicy;
use atelier_domain::paths;
use atelier_domain::text::parse_why;
use atelier_domain::world::Answer;
use atelier_studio::clusters::commands as cluster;
use atelier_studio::orders::command_id;
use atelier_studio::typed::Problems;
use atelier_studio::{fair_shares as share, quota};

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

pub async fn set_share(id: &str, person: &str, weight: &str, why: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let actor = caller.authorise(Action::QuotaWrite).await?;
    let mut problems = Problems::new();
    let person = match quota::person_of(&caller, person).await {
        Ok(person) => Some(person),
        Err(AppError::Invalid { problems: more }) => {
            problems.0.extend(more);
            None
        }
        Err(other) => return Err(other),
    };
    let weight = problems.take(share::weight_of(weight));
    let why = problems.take(parse_why(why));
    let (Some(person), Some(weight), Some(why)) = (person, weight, why) else {
        return Err(problems.into_error());
    };
    let answer = share::set_weight(&caller, command_id(id)?, person.id.clone(), weight, why).await?;
    let said = match answer {
        Answer::Already => format!("{} has the weight {weight} already.", person.name),
        _ => format!("{} has the weight {weight} now.", person.name),
    };
    Ok(Done::go(paths::shares(&actor.workspace.slug), said))
}

pub async fn set_half_life(id: &str, half_life: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let actor = caller.authorise(Action::QuotaWrite).await?;
    let half_life = share::half_life_of(half_life)?;
    share::set_half_life(&caller, command_id(id)?, half_life, None).await?;
    Ok(Done::go(paths::shares(&actor.workspace.slug), format!("What was used {half_life} ago counts half.")))
}

pub async fn set_queue_policy(id: &str, name: &str, order: &str, backfill: &str, why: &str) -> Result<Done, AppError> {
    let caller = here()?;
    caller.authorise(Action::ClusterScale).await?;
    let cluster = if name.is_empty() { None } else { Some(cluster::find(&caller, name).await?) };
    let mut problems = Problems::new();
    let order = problems.take(share::order_of(order));
    let why = problems.take(parse_why(why));
    let (Some(order), Some(why)) = (order, why) else { return Err(problems.into_error()) };
    let policy = QueuePolicy { order, backfill: !backfill.is_empty() };
    share::set_policy(&caller, command_id(id)?, cluster, policy, why).await?;
    let whose = if name.is_empty() { "Serverless jobs are".to_owned() } else { format!("The queue of {name} is") };
    let passing = if policy.backfill { "small jobs may pass" } else { "nobody passes" };
    Ok(Done::stay(format!("{whose} served {}; {passing}.", share::said_order(order))))
}
