//! What forms change.

use atelier_domain::access::Action;
use atelier_domain::compute::quota::{Resource, Scope};
use atelier_domain::paths;
use atelier_domain::text::{Problem, parse_why, shortened};
use atelier_engine::store::Person;
use atelier_studio::caller::Caller;
use atelier_studio::orders::command_id;
use atelier_studio::quota;
use atelier_studio::typed::{decimal, whole};

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

/// A limit as it is typed.
pub struct TypedLimit {
    pub whose: String,
    pub person: String,
    pub what: String,
    pub limit: String,
    pub why: String,
}

/// How forms call a scope.
pub const fn whose_key(scope: &Scope) -> &'static str {
    match scope {
        Scope::Workspace => "workspace",
        Scope::Everybody => "everybody",
        Scope::Person(_) => "person",
    }
}

/// How forms call a resource.
pub fn what_key(resource: &Resource) -> String {
    match resource {
        Resource::Cores(family) => format!("cores/{family}"),
        Resource::Gpus => "gpus".into(),
        Resource::Computes => "computes".into(),
        Resource::RunningJobs => "running-jobs".into(),
        Resource::RunningCores => "running-cores".into(),
        Resource::RunningGpus => "running-gpus".into(),
    }
}

pub async fn set_limit(id: &str, typed: &TypedLimit) -> Result<Done, AppError> {
    let caller = here()?;
    let actor = caller.authorise(Action::QuotaWrite).await?;
    let mut problems = Vec::new();
    let scope = keep(typed.scope(&caller).await, &mut problems)?;
    let resource = keep(typed.resource(&caller).await, &mut problems)?;
    let limit = keep(typed.amount(resource.as_ref()).map_err(AppError::from), &mut problems)?;
    let why = keep(parse_why(&typed.why).map_err(AppError::from), &mut problems)?;
    let (Some((scope, person)), Some(resource), Some(limit), Some(why)) = (scope, resource, limit, why) else {
        return Err(AppError::Invalid { problems });
    };
    let said = resource.amount(limit);
    let set = quota::set(&caller, command_id(id)?, scope.clone(), resource, Some(limit), why).await;
    set.map_err(beside)?;
    Ok(Done::go(paths::quota(&actor.workspace.slug), format!("{} may hold {said}.", name(&scope, person.as_ref()))))
}

pub async fn lift_limit(id: &str, typed: &TypedLimit) -> Result<Done, AppError> {
    let caller = here()?;
    let actor = caller.authorise(Action::QuotaWrite).await?;
    let (scope, person) = typed.scope(&caller).await?;
    let resource = typed.resource(&caller).await?;
    let what = match &resource {
        Resource::Cores(family) => format!("cores of the family {family}"),
        Resource::Gpus => "GPUs".into(),
        Resource::Computes => "computes".into(),
        Resource::RunningJobs => "running jobs".into(),
        Resource::RunningCores => "cores of running jobs".into(),
        Resource::RunningGpus => "GPUs of running jobs".into(),
    };
    quota::set(&caller, command_id(id)?, scope.clone(), resource, None, None).await?;
    let whose = name(&scope, person.as_ref());
    Ok(Done::go(paths::quota(&actor.workspace.slug), format!("The limit on {what} was lifted: {whose}.")))
}

fn name(scope: &Scope, person: Option<&Person>) -> String {
    match (scope, person) {
        (Scope::Workspace, _) => "The workspace".into(),
        (Scope::Person(_), Some(person)) => person.name.clone(),
        (Scope::Person(id), None) => id.to_string(),
        (Scope::Everybody, _) => "Everybody without a limit of their own".into(),
    }
}

/// Keeps a value; notes the problems of fields; gives any other error back.
fn keep<T>(read: Result<T, AppError>, problems: &mut Vec<Problem>) -> Result<Option<T>, AppError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(AppError::Invalid { problems: more }) => {
            problems.extend(more);
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

impl TypedLimit {
    async fn scope(&self, caller: &Caller) -> Result<(Scope, Option<Person>), AppError> {
        match self.whose.as_str() {
            "workspace" => Ok((Scope::Workspace, None)),
            "everybody" => Ok((Scope::Everybody, None)),
            "person" => {
                let person = quota::person_of(caller, &self.person).await?;
                Ok((Scope::Person(person.id.clone()), Some(person)))
            }
            _ => Err(Problem::new("whose", "Choose whose limit it is.").into()),
        }
    }

    async fn resource(&self, caller: &Caller) -> Result<Resource, AppError> {
        let wrong = |message: String| AppError::invalid(Problem::new("what", message));
        match self.what.as_str() {
            "gpus" => Ok(Resource::Gpus),
            "computes" => Ok(Resource::Computes),
            "running-jobs" => Ok(Resource::RunningJobs),
            "running-cores" => Ok(Resource::RunningCores),
            "running-gpus" => Ok(Resource::RunningGpus),
            "" => Err(wrong("Choose what is limited.".into())),
            other => {
                let Some(family) = other.strip_prefix("cores/") else {
                    return Err(wrong(format!("There is no limit on “{}”.", shortened(other))));
                };
                match quota::family_of(caller, family).await {
                    Err(AppError::Invalid { problems }) => {
                        Err(wrong(problems.into_iter().map(|problem| problem.message).collect()))
                    }
                    family => family.map(Resource::Cores),
                }
            }
        }
    }

    fn amount(&self, resource: Option<&Resource>) -> Result<u64, Problem> {
        match resource {
            Some(resource) if quota::is_in_cores(resource) => decimal("limit", "The number of cores", &self.limit, 3),
            _ => whole("limit", "The limit", &self.limit).map(u64::from),
        }
    }
}

/// A limit that is too low is the number's fault; what the engine calls a scope is asked for as “whose” here.
fn beside(error: AppError) -> AppError {
    match error {
        AppError::Refused { code, message } if code == "limit-below-use" => {
            AppError::invalid(Problem::new("limit", message))
        }
        AppError::Invalid { problems } => {
            let renamed = |problem: Problem| match problem.field.as_str() {
                "scope" => Problem::new("whose", problem.message),
                _ => problem,
            };
            AppError::Invalid { problems: problems.into_iter().map(renamed).collect() }
        }
        other => other,
    }
}
