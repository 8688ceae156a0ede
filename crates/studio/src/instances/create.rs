//! A new instance as people ask for it.

use std::collections::BTreeSet;

use atelier_domain::access::{Action, Whose};
use atelier_domain::account::AccountState;
use atelier_domain::compute::InstanceId;
use atelier_domain::compute::idle::{IdlePolicy, IdleRules, Source};
use atelier_domain::compute::size::{ComputeName, SizeName};
use atelier_domain::compute::tags::Tags;
use atelier_domain::error::AppError;
use atelier_domain::text::{Problem, shortened};
use atelier_domain::time::Span;
use atelier_domain::world::{Answer, NewInstance, Order};
use atelier_engine::run::CommandId;
use atelier_engine::store::Person;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::instances::scripts;
use crate::instances::scripts::ScriptsRequest;
use crate::orders::{ask, order};
use crate::people::names::somebody;
use crate::typed::free_name;

/// An instance as people ask for it. Its name and its size have no default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InstanceRequest {
    pub name: String,
    pub size: String,
    /// Whose it will be: `me`, an id, or an e-mail address; the caller's own if empty.
    pub owner: String,
    /// After how many minutes without activity it stops; the workspace's default if left out, never if 0.
    pub idle_minutes: Option<u32>,
    /// The kinds of activity that count; all of them if left out.
    pub idle_counts: Option<BTreeSet<Source>>,
    pub keeps_quota: bool,
    pub scripts: ScriptsRequest,
    pub tags: Tags,
    pub starts: bool,
}

impl Default for InstanceRequest {
    fn default() -> Self {
        Self {
            name: String::new(),
            size: String::new(),
            owner: String::new(),
            idle_minutes: None,
            idle_counts: None,
            keeps_quota: false,
            scripts: ScriptsRequest::default(),
            tags: Tags::default(),
            starts: true,
        }
    }
}

/// Makes an instance.
pub async fn create(caller: &Caller, id: CommandId, request: &InstanceRequest) -> Result<InstanceId, AppError> {
    let actor = caller.actor()?;
    caller.authorise_for(Action::InstanceCreate, Whose::Own).await?;
    let owner = owner_of(caller, &request.owner).await;
    if !matches!(&owner, Ok(owner) if owner.id == actor.person.id) {
        caller.authorise(Action::InstanceCreateFor).await?;
    }
    let mut problems = Vec::new();
    let mut take = |problem: Problem| problems.push(problem);
    let name = name_of(&request.name).map_err(&mut take).ok();
    let size = size_of(&request.size).map_err(&mut take).ok();
    let owner = match owner {
        Err(AppError::Invalid { problems }) => {
            problems.into_iter().for_each(&mut take);
            None
        }
        other => Some(other?),
    };
    request.tags.check().unwrap_or_else(&mut take);
    let workspace = actor.workspace.id.clone();
    let rules = ask(caller, move |world| world.idle_rules(&workspace)).await?;
    let idle = idle_of(&rules, request.idle_minutes, request.idle_counts.as_ref());
    rules.judge(idle.as_ref()).unwrap_or_else(&mut take);
    request.scripts.check().into_iter().for_each(&mut take);
    let (Some(name), Some(size), Some(owner), true) = (name, size, owner, problems.is_empty()) else {
        return Err(AppError::Invalid { problems });
    };
    let new = NewInstance {
        name,
        size,
        owner_name: owner.name.as_str().into(),
        owner: owner.id,
        scripts: scripts::keep(caller, &request.scripts).await?,
        tags: request.tags.clone(),
        keeps_quota: request.keeps_quota,
        idle,
        starts: request.starts,
    };
    match order(caller, id, Order::CreateInstance(Box::new(new)), None, None).await? {
        Answer::Instance(instance) => Ok(instance),
        other => caller.checked(Err(format!("a new instance was answered with {other:?}"))),
    }
}

/// Refusals that the size is to blame for, for [`AppError::beside`].
pub const OF_SIZE: [(&str, &str); 4] =
    [("unknown-size", "size"), ("quota-none", "size"), ("quota-too-small", "size"), ("capacity-too-small", "size")];

/// The name of an instance to be made.
pub fn name_of(typed: &str) -> Result<ComputeName, Problem> {
    ComputeName::parse(typed).and_then(|name| free_name("name", name, "instances"))
}

fn size_of(typed: &str) -> Result<SizeName, Problem> {
    if typed.trim().is_empty() {
        return Err(Problem::new("size", "Choose what the node is."));
    }
    SizeName::parse(typed)
}

/// The idle time that is meant: the workspace's default if nothing is said, none if 0.
pub fn idle_of(rules: &IdleRules, minutes: Option<u32>, counts: Option<&BTreeSet<Source>>) -> Option<IdlePolicy> {
    let window = match minutes {
        None => rules.default,
        Some(0) => None,
        Some(minutes) => Some(Span::minutes(minutes)),
    };
    let counts = || counts.cloned().unwrap_or_else(|| Source::ALL.into_iter().collect());
    window.map(|window| IdlePolicy { window, counts: counts() })
}

/// Whose it will be. Somebody who could not open it would have nothing of it.
async fn owner_of(caller: &Caller, typed: &str) -> Result<Person, AppError> {
    let actor = caller.actor()?;
    let typed = typed.trim();
    if typed.is_empty() || typed == "me" || typed == actor.person.id.as_str() {
        return Ok(actor.person.clone());
    }
    let wrong = |message: String| AppError::invalid(Problem::new("owner", message));
    let Some(person) = somebody(caller, typed).await? else {
        return Err(wrong(format!("Nobody here is “{}”. Give an e-mail address of this workspace.", shortened(typed))));
    };
    if person.state == AccountState::Disabled {
        return Err(wrong(format!(
            "The account of {} is disabled. Enable it first, or choose somebody else.",
            person.name
        )));
    }
    if person.rights().check(Action::InstanceConnect, Whose::Own).is_err() {
        let key = Action::InstanceConnect.key();
        let message = format!(
            "{} could not open it: their roles do not include {key}. Give them Data Scientist first.",
            person.name
        );
        return Err(wrong(message));
    }
    Ok(person)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_the_default_unless_somebody_says_otherwise() {
        let rules = IdleRules::default();
        let window = |minutes| idle_of(&rules, minutes, None).map(|idle| idle.window);
        assert_eq!(window(None), rules.default);
        assert_eq!(window(Some(0)), None);
        assert_eq!(window(Some(90)), Some(Span::minutes(90)));
        let only = BTreeSet::from([Source::Kernel]);
        assert_eq!(idle_of(&rules, None, Some(&only)).map(|idle| idle.counts), Some(only));
    }

    #[test]
    fn the_forms_address_is_nobodys_name() {
        assert!(name_of("NEW").is_err_and(|problem| problem.message.contains("address of the form")));
        assert_eq!(name_of("Mara-Fusion").map(|name| name.to_string()), Ok("mara-fusion".into()));
    }
}
