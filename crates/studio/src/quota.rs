//! Quotas: what is limited, what is held and by what, and setting a limit.

use std::collections::{BTreeMap, BTreeSet};

use atelier_domain::access::Action;
use atelier_domain::compute::quota::{LimitKey, QuotaHolder, Resource, Scope, UseKey};
use atelier_domain::compute::size::Family;
use atelier_domain::error::AppError;
use atelier_domain::text::{Problem, and_list, search_text, shortened};
use atelier_domain::world::{Answer, Order, Usage, World};
use atelier_domain::{UserId, WorkspaceId};
use atelier_engine::run::CommandId;
use atelier_engine::store::Person;

use crate::caller::Caller;
use crate::orders::{ask, order};
use crate::people::names::{Names, somebody};

const MOST_PEOPLE: usize = 200;

/// Something that holds a part of a quota.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    pub holder: QuotaHolder,
    pub name: String,
    pub amount: u64,
}

/// One limit, or what has none, with what is held of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaLine {
    pub scope: Scope,
    /// The name of the person: whose limit it is or, for everybody's, who holds most.
    pub person: String,
    /// Their e-mail address; empty where it is not known.
    pub email: String,
    pub resource: Resource,
    /// How much may be held; nothing means no limit.
    pub limit: Option<u64>,
    /// Whether the limit is this scope's own, and not everybody's.
    pub is_own: bool,
    pub held: u64,
    /// By what, the largest first.
    pub by: Vec<Holding>,
}

/// All quotas of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Of the workspace as a whole.
    pub workspace: Vec<QuotaLine>,
    /// For everybody who has no limit of their own.
    pub everybody: Vec<QuotaLine>,
    /// Of single people: who has a limit of their own, and who holds something.
    pub people: Vec<QuotaLine>,
    /// How many more lines of people there are.
    pub more: usize,
    pub resources: Vec<Resource>,
}

/// All quotas. `part` keeps only people with that in their name or address. Needs `cluster.read`.
pub async fn read(caller: &Caller, part: &str) -> Result<Quotas, AppError> {
    let actor = caller.authorise(Action::ClusterRead).await?;
    let workspace = actor.workspace.id.clone();
    let (mut quotas, lines) = ask(caller, move |world| gather(world, &workspace)).await?;
    let ids: BTreeSet<UserId> = lines.iter().chain(&quotas.everybody).filter_map(|line| whose(&line.scope)).collect();
    let people = Names::of(caller, ids).await?;
    let words = search_text(part).to_lowercase();
    let fits = |line: &QuotaLine| {
        let person = whose(&line.scope).filter(|id| people.has(id));
        words.is_empty()
            || person
                .is_some_and(|id| format!("{} {}", people.name(&id), people.email(&id)).to_lowercase().contains(&words))
    };
    let mut lines: Vec<QuotaLine> = lines.into_iter().filter(fits).collect();
    let named = |line: &mut QuotaLine| {
        if let Some(id) = whose(&line.scope) {
            (line.person, line.email) = (people.name(&id), people.email(&id));
        }
    };
    lines.iter_mut().chain(&mut quotas.everybody).for_each(named);
    // For everybody the person was only there to be named.
    quotas.everybody.iter_mut().for_each(|line| line.scope = Scope::Everybody);
    lines.sort_by(|a, b| (!a.is_own, &a.person, &a.resource).cmp(&(!b.is_own, &b.person, &b.resource)));
    quotas.more = lines.len().saturating_sub(MOST_PEOPLE);
    lines.truncate(MOST_PEOPLE);
    quotas.people = lines;
    Ok(quotas)
}

fn whose(scope: &Scope) -> Option<UserId> {
    match scope {
        Scope::Person(id) => Some(id.clone()),
        Scope::Workspace | Scope::Everybody => None,
    }
}

/// What the World knows; people have no names there.
fn gather(world: &World, workspace: &WorkspaceId) -> (Quotas, Vec<QuotaLine>) {
    let limits: BTreeMap<&LimitKey, u64> = world.limits().filter(|(key, _)| key.workspace == *workspace).collect();
    let usage: BTreeMap<&UseKey, &Usage> = world.usage().filter(|(key, _)| key.workspace == *workspace).collect();
    let resources = resources(world, limits.keys().map(|key| &key.resource), usage.keys().map(|key| &key.resource));
    let line = |scope: Scope, resource: &Resource| {
        let person = whose(&scope);
        let key = UseKey { workspace: workspace.clone(), person, resource: resource.clone() };
        let own = LimitKey { workspace: workspace.clone(), scope: scope.clone(), resource: resource.clone() };
        let used = usage.get(&key);
        QuotaLine {
            limit: world.limit(&key),
            is_own: limits.contains_key(&own),
            held: world.used(&key),
            by: used.map(|usage| holdings(world, usage)).unwrap_or_default(),
            person: String::new(),
            email: String::new(),
            resource: resource.clone(),
            scope,
        }
    };
    let mut everybody = Vec::new();
    for resource in &resources {
        let scope = Scope::Everybody;
        let key = LimitKey { workspace: workspace.clone(), scope, resource: resource.clone() };
        let Some(limit) = limits.get(&key) else { continue };
        let has_own = |person: &UserId| {
            let scope = Scope::Person(person.clone());
            limits.contains_key(&LimitKey { scope, ..key.clone() })
        };
        let most = holders_of(world, workspace, &usage, resource)
            .into_iter()
            .filter(|(person, held)| *held > 0 && !has_own(person))
            .max_by_key(|(_, held)| *held);
        let by = most.as_ref().and_then(|(person, _)| {
            let person = Some(person.clone());
            usage.get(&UseKey { workspace: workspace.clone(), person, resource: resource.clone() })
        });
        everybody.push(QuotaLine {
            held: most.as_ref().map_or(0, |(_, held)| *held),
            by: by.map(|usage| holdings(world, usage)).unwrap_or_default(),
            scope: most.map_or(Scope::Everybody, |(person, _)| Scope::Person(person)),
            person: String::new(),
            email: String::new(),
            resource: resource.clone(),
            limit: Some(*limit),
            is_own: true,
        });
    }
    let own = limits.keys().filter_map(|key| Some((whose(&key.scope)?, key.resource.clone())));
    let held = usage.keys().filter_map(|key| Some((key.person.clone()?, key.resource.clone())));
    // What somebody has running is of interest where it is limited.
    let limited = Resource::RUNNING.into_iter().filter(|resource| limits.keys().any(|key| key.resource == *resource));
    let running = limited.flat_map(|resource| {
        let people = world.people(workspace).filter(|(_, person)| person.running.jobs > 0);
        people.map(|(id, _)| (id.clone(), resource.clone())).collect::<Vec<_>>()
    });
    let people: BTreeSet<(UserId, Resource)> = own.chain(held).chain(running).collect();
    let people = people.into_iter().map(|(person, resource)| line(Scope::Person(person), &resource)).collect();
    let shared = resources.iter().filter(|resource| !resource.is_running());
    let workspace = shared.map(|resource| line(Scope::Workspace, resource)).collect();
    (Quotas { workspace, everybody, resources, ..Quotas::default() }, people)
}

/// What each person holds of it.
fn holders_of(
    world: &World,
    workspace: &WorkspaceId,
    usage: &BTreeMap<&UseKey, &Usage>,
    resource: &Resource,
) -> Vec<(UserId, u64)> {
    if resource.is_running() {
        let people = world.people(workspace);
        return people.map(|(id, person)| (id.clone(), person.running.of(resource))).collect();
    }
    let used = usage.iter().filter(|(key, _)| key.resource == *resource);
    used.filter_map(|(key, usage)| Some((key.person.clone()?, usage.total))).collect()
}

/// What can be limited: cores of every family that there is, or was; GPUs where there are any; computes; what
/// one person has running.
fn resources<'a>(
    world: &World,
    limited: impl Iterator<Item = &'a Resource>,
    used: impl Iterator<Item = &'a Resource>,
) -> Vec<Resource> {
    let mut all: BTreeSet<Resource> = limited.chain(used).cloned().collect();
    for size in world.sizes() {
        all.insert(Resource::Cores(size.family.clone()));
        if size.shape.gpus > 0 {
            all.insert(Resource::Gpus);
        }
    }
    all.insert(Resource::Computes);
    all.extend(Resource::RUNNING);
    all.into_iter().collect()
}

fn holdings(world: &World, usage: &Usage) -> Vec<Holding> {
    let mut by: Vec<Holding> = usage
        .by
        .iter()
        .map(|(holder, amount)| Holding { holder: *holder, name: world.holder_name(*holder), amount: *amount })
        .collect();
    by.sort_by(|a, b| (b.amount, &a.name).cmp(&(a.amount, &b.name)));
    by
}

/// Somebody of this workspace, by an e-mail address, an id, or `me`.
pub async fn person_of(caller: &Caller, typed: &str) -> Result<Person, AppError> {
    let typed = typed.trim();
    if typed == "me" {
        return Ok(caller.actor()?.person.clone());
    }
    let wrong = |message: String| AppError::invalid(Problem::new("person", message));
    if typed.is_empty() {
        return Err(wrong("Say whose limit it is: the e-mail address of somebody here.".into()));
    }
    somebody(caller, typed).await?.ok_or_else(|| {
        wrong(format!("Nobody here is “{}”. Give an e-mail address of this workspace.", shortened(typed)))
    })
}

/// Cores of a family that the catalogue has, or that is limited already.
pub async fn family_of(caller: &Caller, typed: &str) -> Result<Family, AppError> {
    let family = Family::parse(typed)?;
    let workspace = caller.actor()?.workspace.id.clone();
    let known: BTreeSet<String> = ask(caller, move |world| {
        let (quotas, _) = gather(world, &workspace);
        let families = quotas.resources.into_iter().filter_map(|resource| match resource {
            Resource::Cores(family) => Some(family.to_string()),
            _ => None,
        });
        families.collect()
    })
    .await?;
    if known.contains(family.as_str()) {
        return Ok(family);
    }
    let known: Vec<String> = known.into_iter().take(20).collect();
    let there_are = if known.is_empty() { "none yet".to_owned() } else { and_list(&known) };
    let message = format!("No size is of the family “{family}”. There are: {there_are}.");
    Err(AppError::invalid(Problem::new("family", message)))
}

/// Sets a limit, or lifts it. A limit below what is held is refused with the numbers. Needs `quota.write`.
pub async fn set(
    caller: &Caller,
    id: CommandId,
    scope: Scope,
    resource: Resource,
    limit: Option<u64>,
    why: Option<String>,
) -> Result<Answer, AppError> {
    caller.authorise(Action::QuotaWrite).await?;
    order(caller, id, Order::SetLimit { scope, resource, limit }, None, why).await
}
