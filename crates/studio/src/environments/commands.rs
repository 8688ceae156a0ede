//! Named environments: made, built, compared, deleted and frozen, by pages and by the API alike.

use std::collections::{BTreeMap, BTreeSet};

use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::JobId;
use atelier_domain::compute::job::EndedAs;
use atelier_domain::compute::size::ComputeName;
use atelier_domain::environment::{
    EnvironmentHash, EnvironmentRef, MAX_NOTE, PackagesDiff, Pinned, Recipe, normalised,
};
use atelier_domain::error::AppError;
use atelier_domain::text::{Problem, and_list, counted, parse_why};
use atelier_engine::environments::{BuildFailure, BuildState, Failure, frozen};
use atelier_engine::store::{EnvironmentVersion, NamedEnvironment, NewVersion};
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::instances::commands as instance;
use crate::orders::ask;

/// Addresses of pages; an environment of such a name would have none.
const RESERVED: [&str; 3] = ["new", "compare", "delete"];
/// So many users are named.
const NAMED: usize = 5;

/// A version as people ask for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EnvironmentRequest {
    pub name: String,
    /// The list: requirements, one a line, or conda's.
    pub recipe: String,
    pub note: String,
    /// Whether it is built at once; else at its first use.
    pub build: bool,
    pub why: String,
}

/// A version and how it does.
#[derive(Clone, Debug)]
pub struct VersionView {
    pub row: EnvironmentVersion,
    pub listed: usize,
    /// What it is made of; none if there is no Python to stand on.
    pub hash: Option<EnvironmentHash>,
    pub state: BuildState,
}

/// An environment with its versions and who uses it.
#[derive(Clone, Debug)]
pub struct EnvironmentView {
    pub row: NamedEnvironment,
    /// Its versions, the newest first.
    pub versions: Vec<VersionView>,
    /// The jobs that are not over and name it, with their version.
    pub jobs: Vec<(JobId, u32)>,
}

impl EnvironmentView {
    /// The version of that number; the newest if none is said.
    pub fn version(&self, number: Option<u32>) -> Option<&VersionView> {
        match number {
            Some(number) => self.versions.iter().find(|version| version.row.version == number),
            None => self.versions.first(),
        }
    }

    /// Who uses it, in words; empty if nobody does.
    pub fn users(&self) -> String {
        if self.jobs.is_empty() {
            return String::new();
        }
        let mut names: Vec<String> = self.jobs.iter().take(NAMED).map(|(job, _)| job.to_string()).collect();
        let more = self.jobs.len().saturating_sub(NAMED);
        names.extend((more > 0).then(|| format!("{more} more")));
        and_list(&names)
    }
}

/// All environments of the workspace. Needs `environment.read`.
pub async fn list(caller: &Caller) -> Result<Vec<EnvironmentView>, AppError> {
    let workspace = caller.authorise(Action::EnvironmentRead).await?.workspace.id.clone();
    let rows = caller.checked(caller.store().named_environments(&workspace).await)?;
    let versions = caller.checked(caller.store().environment_versions(&workspace, None).await)?;
    describe(caller, rows, versions).await
}

/// One environment. Needs `environment.read`.
pub async fn find(caller: &Caller, name: &str) -> Result<EnvironmentView, AppError> {
    let workspace = caller.authorise(Action::EnvironmentRead).await?.workspace.id.clone();
    let nobody = || AppError::not_found("environment");
    let name = ComputeName::parse(name).map_err(|_| nobody())?;
    let row = caller.checked(caller.store().named_environment(&workspace, &name).await)?.ok_or_else(nobody)?;
    let versions = caller.checked(caller.store().environment_versions(&workspace, Some(&name)).await)?;
    describe(caller, vec![row], versions).await?.pop().ok_or_else(nobody)
}

async fn describe(
    caller: &Caller,
    rows: Vec<NamedEnvironment>,
    versions: Vec<EnvironmentVersion>,
) -> Result<Vec<EnvironmentView>, AppError> {
    let named = caller.studio.environments().named();
    let mut read = Vec::with_capacity(versions.len());
    for version in versions {
        let listed = Recipe::parse(&version.recipe, None).map_or(0, |recipe| recipe.lines().len());
        let hash = named.hash_of(&version).await;
        read.push((version, listed, hash));
    }
    let hashes: BTreeSet<EnvironmentHash> =
        read.iter().filter_map(|(_, _, hash)| hash.as_ref().ok().copied().flatten()).collect();
    let states = caller.checked(named.states(&hashes).await)?;
    let workspace = caller.actor()?.workspace.id.clone();
    let mut jobs: BTreeMap<ComputeName, Vec<(JobId, u32)>> = ask(caller, move |world| {
        let mut found: BTreeMap<ComputeName, Vec<(JobId, u32)>> = BTreeMap::new();
        let made = world.jobs().map(|job| (job.id, &job.workspace, &job.spec));
        let unmade = world.arrays().filter(|array| !array.rest.is_empty());
        let unmade = unmade.map(|array| (array.first, &array.workspace, &array.spec));
        for (id, _, spec) in made.chain(unmade).filter(|(_, of, _)| **of == workspace) {
            if let Some(pinned) = &spec.environment {
                found.entry(pinned.name.clone()).or_default().push((id, pinned.version));
            }
        }
        found
    })
    .await?;
    let mut all: Vec<EnvironmentView> = rows
        .into_iter()
        .map(|row| EnvironmentView { jobs: jobs.remove(&row.name).unwrap_or_default(), row, versions: Vec::new() })
        .collect();
    for (version, listed, hash) in read {
        let Some(view) = all.iter_mut().find(|view| view.row.name == version.name) else { continue };
        let (hash, state) = match hash {
            Ok(Some(hash)) => (Some(hash), states.get(&hash).cloned().unwrap_or(BuildState::Absent)),
            Ok(None) => (None, BuildState::Absent),
            Err(Failure { why, help, .. }) => {
                let failure = BuildFailure { why, help, line: None, printed: Vec::new() };
                (None, BuildState::Failed { failure, at: version.created_at })
            }
        };
        view.versions.push(VersionView { row: version, listed, hash, state });
    }
    Ok(all)
}

/// Reads what somebody wrote, for this server's Python.
async fn read(caller: &Caller, recipe: &str) -> Result<Recipe, Problem> {
    let python = caller.studio.environments().named().python().await.ok();
    Recipe::parse(recipe, python.as_ref().map(|python| python.version.as_str()))
}

/// Makes an environment with its first version. Needs `environment.write`.
pub async fn create(caller: &Caller, request: &EnvironmentRequest) -> Result<(ComputeName, u32), AppError> {
    caller.authorise_for(Action::EnvironmentWrite, Whose::Own).await?;
    let mut problems = Vec::new();
    let name = match ComputeName::parse(&request.name) {
        Ok(name) if RESERVED.contains(&name.as_str()) => {
            problems.push(Problem::new("name", format!("“{name}” is the address of a page. Choose another name.")));
            None
        }
        Ok(name) => Some(name),
        Err(problem) => {
            problems.push(problem);
            None
        }
    };
    save(caller, name, request, Whose::Own, true, problems).await
}

/// Makes the next version of an environment. Needs `environment.write` on it.
pub async fn add_version(
    caller: &Caller,
    name: &str,
    request: &EnvironmentRequest,
) -> Result<(ComputeName, u32), AppError> {
    let (view, whose) = mine(caller, name).await?;
    save(caller, Some(view.row.name), request, whose, false, Vec::new()).await
}

/// An environment that the caller wants to change.
async fn mine(caller: &Caller, name: &str) -> Result<(EnvironmentView, Whose), AppError> {
    let view = find(caller, name).await?;
    let whose = caller.actor()?.whose(&view.row.owner);
    caller.authorise_for(Action::EnvironmentWrite, whose).await?;
    Ok((view, whose))
}

async fn save(
    caller: &Caller,
    name: Option<ComputeName>,
    request: &EnvironmentRequest,
    whose: Whose,
    is_new: bool,
    mut problems: Vec<Problem>,
) -> Result<(ComputeName, u32), AppError> {
    let recipe = read(caller, &request.recipe).await.map_err(|problem| problems.push(problem)).ok();
    let note = request.note.trim();
    let count = note.chars().count();
    if count > MAX_NOTE || note.chars().any(char::is_control) {
        let message = format!("A note is one line of at most {MAX_NOTE} characters; this has {count}.");
        problems.push(Problem::new("note", message));
    }
    let why = parse_why(&request.why).map_err(|problem| problems.push(problem)).ok();
    let (Some(name), Some(recipe), Some(why), true) = (name, recipe, why, problems.is_empty()) else {
        return Err(AppError::Invalid { problems });
    };
    let actor = caller.actor()?;
    let (workspace, author) = (actor.workspace.id.clone(), caller.author(why)?);
    let named = caller.studio.environments().named();
    let hash = named.hash(&recipe).await.ok().filter(|_| request.build && named.builds());
    let new = NewVersion {
        name: &name,
        is_new,
        recipe: recipe.text(),
        note,
        packages: u32::try_from(recipe.lines().len()).unwrap_or(u32::MAX),
    };
    let mut tx = caller.begin(Action::EnvironmentWrite, whose).await?;
    let by = (&actor.person.id, actor.person.name.as_str());
    let version = caller.checked(tx.add_environment_version(&workspace, &author, by, &new).await)?;
    let version = version.map_err(AppError::invalid)?;
    if let Some(hash) = hash.filter(|hash| named.ready(*hash).is_none()) {
        caller.checked(tx.want_environment_build(&workspace, &author, (&name, version), hash).await)?;
    }
    caller.checked(tx.commit().await)?;
    match hash {
        Some(hash) if named.ready(hash).is_none() => named.need(hash),
        _ => named.refresh_kernels().await,
    }
    Ok((name, version))
}

/// Has a version built. Needs `environment.write` on its environment.
pub async fn build(caller: &Caller, name: &str, version: Option<u32>, why: &str) -> Result<u32, AppError> {
    let (view, whose) = mine(caller, name).await?;
    let why = parse_why(why)?;
    let found = view.version(version).ok_or_else(|| AppError::not_found("version"))?;
    let number = found.row.version;
    let refuse = |code: &str, message: String| Err(AppError::refused(code, message));
    let named = caller.studio.environments().named();
    if !named.builds() {
        let message = "Building is switched off on this server, by the setting environment, or it makes no nodes.";
        return refuse("environment-off", message.into());
    }
    let hash = match (found.hash, &found.state) {
        (_, BuildState::Ready(_)) => {
            let message = format!("{}:{number} is built already, and a version never changes.", view.row.name);
            return refuse("environment-ready", message);
        }
        (_, BuildState::Building { .. } | BuildState::Waiting(_)) => {
            return refuse("environment-building", format!("{}:{number} is being built already.", view.row.name));
        }
        (None, BuildState::Failed { failure, .. }) => {
            return refuse("environment-failed", format!("{} {}", failure.why, failure.help));
        }
        (None, _) => return Err(AppError::not_found("version")),
        (Some(hash), _) => hash,
    };
    let (workspace, author) = (caller.actor()?.workspace.id.clone(), caller.author(why)?);
    let mut tx = caller.begin(Action::EnvironmentWrite, whose).await?;
    caller.checked(tx.want_environment_build(&workspace, &author, (&view.row.name, number), hash).await)?;
    caller.checked(tx.commit().await)?;
    named.need(hash);
    Ok(number)
}

/// Deletes an environment with all versions, unless something uses it. Needs `environment.write` on it.
pub async fn delete(caller: &Caller, name: &str, why: &str) -> Result<(), AppError> {
    let (view, whose) = mine(caller, name).await?;
    let why = parse_why(why)?;
    if let Some(message) = in_use(caller, &view).await {
        return Err(AppError::refused("environment-in-use", message));
    }
    let (workspace, author) = (caller.actor()?.workspace.id.clone(), caller.author(why)?);
    let mut tx = caller.begin(Action::EnvironmentWrite, whose).await?;
    if !caller.checked(tx.delete_named_environment(&workspace, &author, &view.row.name).await)? {
        return Err(AppError::not_found("environment"));
    }
    caller.checked(tx.commit().await)?;
    caller.studio.environments().named().refresh_kernels().await;
    Ok(())
}

/// What uses an environment, as the reason why it cannot be deleted.
pub async fn in_use(caller: &Caller, view: &EnvironmentView) -> Option<String> {
    if !view.jobs.is_empty() {
        let count = counted(view.jobs.len() as u64, "job uses", "jobs use");
        let users = view.users();
        return Some(format!("{count} it: {users}. Wait until they are over, or cancel them."));
    }
    let running = caller.studio.environments().named().running().await;
    let used = view.versions.iter().find(|version| version.hash.is_some_and(|hash| running.contains(&hash)))?;
    let number = used.row.version;
    Some(format!("A notebook or a program runs with version {number} of it. Shut that kernel down first."))
}

/// Two versions and what differs.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The one before, such as `churn:2`.
    pub before: String,
    pub after: String,
    /// Whether the installed packages are compared; else what is listed, since one of them is not built.
    pub is_built: bool,
    pub diff: PackagesDiff,
}

/// Compares two versions, of one environment or of two. Needs `environment.read`.
pub async fn compare(caller: &Caller, before: &str, after: &str) -> Result<Compared, AppError> {
    let one = named(caller, before, "before").await?;
    let two = named(caller, after, "after").await?;
    let installed = (one.state.packages(), two.state.packages());
    let is_built = !installed.0.is_empty() && !installed.1.is_empty();
    let diff = if is_built {
        PackagesDiff::between(installed.0, installed.1)
    } else {
        PackagesDiff::between(&listed(&one.row), &listed(&two.row))
    };
    let shown = |version: &EnvironmentVersion| format!("{}:{}", version.name, version.version);
    Ok(Compared { before: shown(&one.row), after: shown(&two.row), is_built, diff })
}

/// The packages of a list with what is asked of their versions.
fn listed(version: &EnvironmentVersion) -> Vec<(String, String)> {
    let Ok(recipe) = Recipe::parse(&version.recipe, None) else { return Vec::new() };
    let list = recipe.requirements();
    let pair = |line: &str| {
        let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c))).unwrap_or(line.len());
        let asked = if line[end..].is_empty() { "any" } else { &line[end..] };
        (line[..end].to_owned(), asked.to_owned())
    };
    list.lines().map(pair).collect()
}

async fn named(caller: &Caller, text: &str, field: &str) -> Result<VersionView, AppError> {
    let wanted = EnvironmentRef::parse(text, field).map_err(AppError::invalid)?;
    let none = || {
        let message = format!("There is no environment “{}” here.", text.trim());
        AppError::invalid(Problem::new(field, message))
    };
    match find(caller, wanted.name.as_str()).await {
        Ok(view) => view.version(wanted.version).cloned().ok_or_else(none),
        Err(AppError::NotFound { .. }) => Err(none()),
        Err(other) => Err(other),
    }
}

/// The version that a job is to run with, as it was named; with a problem where it cannot be.
pub async fn pin(caller: &Caller, text: &str, field: &str) -> Result<Result<Option<Pinned>, Problem>, AppError> {
    if text.trim().is_empty() {
        return Ok(Ok(None));
    }
    let wanted = match EnvironmentRef::parse(text, field) {
        Ok(wanted) => wanted,
        Err(problem) => return Ok(Err(problem)),
    };
    let refuse = |message: String| Ok(Err(Problem::new(field, message)));
    let workspace = caller.actor()?.workspace.id.clone();
    let found = caller.store().environment_version(&workspace, &wanted.name, wanted.version).await;
    let Some(version) = caller.checked(found)? else {
        let which = match wanted.version {
            Some(number) => format!("There is no version {number} of an environment “{}” here.", wanted.name),
            None => format!("There is no environment “{}” here.", wanted.name),
        };
        return refuse(format!("{which} The page Environments lists what there is."));
    };
    let shown = format!("{}:{}", version.name, version.version);
    let named = caller.studio.environments().named();
    let hash = match named.hash_of(&version).await {
        Ok(Some(hash)) => hash,
        Ok(None) => return refuse(format!("The list of {shown} cannot be read any more. Make a new version of it.")),
        Err(failure) => return refuse(format!("{shown} cannot be used: {failure}")),
    };
    named.claim(hash);
    let ended = match caller.checked(named.state(hash).await)? {
        BuildState::Ready(_) => Some(EndedAs::Succeeded),
        BuildState::Failed { failure, .. } if failure.line.is_some() => {
            let (why, help) = (failure.why, failure.help);
            return refuse(format!(
                "The environment {shown} could not be built. {why} {help} Then make a new version of it."
            ));
        }
        _ if !named.builds() => {
            return refuse(format!("The environment {shown} is not built, and this server builds none."));
        }
        _ => None,
    };
    named.note_use(&workspace, &version, hash).await;
    Ok(Ok(Some(Pinned { name: version.name, version: version.version, hash, ended })))
}

/// How far the build is that a job waits for, in numbers.
pub async fn progress(caller: &Caller, hash: EnvironmentHash) -> Result<Option<String>, AppError> {
    let named = caller.studio.environments().named();
    Ok(match caller.checked(named.state(hash).await)? {
        BuildState::Building { phase, packages, since } => {
            let seconds = (atelier_engine::clock::now().0 - since.0).max(0) / 1_000;
            let known = match packages {
                0 => String::new(),
                count => format!(", {} so far", counted(count as u64, "package", "packages")),
            };
            Some(format!("It is being built since {seconds} s: {}{known}.", phase.words()))
        }
        BuildState::Waiting(before) => Some(format!(
            "{} built before it.",
            counted(before as u64, "other environment is", "other environments are")
        )),
        _ => None,
    })
}

/// The log of a version's last build, as text; none if there is none. Needs `environment.read`.
pub async fn log(caller: &Caller, version: &VersionView) -> Option<String> {
    let path = caller.studio.environments().named().log(version.hash?)?;
    let read = tokio::task::spawn_blocking(move || std::fs::read(path)).await.ok()?.ok()?;
    Some(String::from_utf8_lossy(&read).into_owned())
}

/// What an instance holds, as the list of an environment.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FrozenView {
    pub instance: String,
    /// What its owner installed, with versions.
    pub packages: Vec<(String, String)>,
    /// The same from elsewhere than the index, which a list cannot name.
    pub elsewhere: Vec<(String, String)>,
    /// The list, to be saved as it is or changed before.
    pub recipe: String,
}

/// Reads what the caller's own instance holds. Needs `instance.connect` on it.
pub async fn freeze(caller: &Caller, name: &str) -> Result<FrozenView, AppError> {
    let subject = instance::find(caller, name).await?;
    instance::authorise(caller, &subject, Action::InstanceConnect).await?;
    let id = subject.id;
    let layer = ask(caller, move |world| world.instance(id).map(|instance| instance.layer)).await?;
    let layer = layer.ok_or_else(|| AppError::not_found("instance"))?;
    let folder = caller.studio.fleet().folders().instance(id).join("layers").join(layer.to_string());
    let read = tokio::task::spawn_blocking(move || frozen(&folder)).await;
    let found = caller.checked(caller.checked(read)?)?;
    let environments = caller.studio.environments();
    let base = environments.base().in_use();
    let list = caller.checked(environments.base().requirements().await)?;
    let mut lines = vec![format!("# Frozen from the instance {}: what its owner installed", subject.name)];
    lines.extend(found.packages.iter().map(|(name, version)| format!("{name}=={version}")));
    for (name, version) in &found.elsewhere {
        lines
            .push(format!("# {name}=={version} came from an address or a folder; name a package of the index instead"));
    }
    let is_own = |name: &str| found.packages.iter().any(|(own, _)| own == name);
    let of_base: Vec<String> = base
        .iter()
        .flat_map(|base| &base.packages)
        .map(|(name, version)| (normalised(name), version))
        .filter(|(name, _)| list.has(name) && !is_own(name) && !matches!(name.as_str(), "jupyterlab" | "ipykernel"))
        .map(|(name, version)| format!("{name}=={version}"))
        .collect();
    if !of_base.is_empty() {
        lines.push("# From the environment that all instances start with".to_owned());
        lines.extend(of_base);
    }
    Ok(FrozenView {
        instance: subject.name.to_string(),
        packages: found.packages,
        elsewhere: found.elsewhere,
        recipe: lines.join("\n"),
    })
}

/// The version whose kernel has that name, such as `churn:2` for `churn-2`.
pub async fn of_kernel(caller: &Caller, kernel: &str) -> Result<Option<String>, AppError> {
    let Some((name, version)) = kernel.rsplit_once('-') else { return Ok(None) };
    let found = list(caller).await?.into_iter().find(|view| view.row.name.as_str() == name);
    let number = found.and_then(|view| Some(view.version(Some(version.parse().ok()?))?.row.version));
    Ok(number.map(|number| format!("{name}:{number}")))
}

/// The version that holds just what an instance of the caller's holds; the newest if there are several.
pub async fn same_as(caller: &Caller, instance: &str) -> Result<Option<String>, AppError> {
    let frozen = freeze(caller, instance).await?;
    let (Ok(recipe), true) = (read(caller, &frozen.recipe).await, frozen.elsewhere.is_empty()) else { return Ok(None) };
    let Ok(hash) = caller.studio.environments().named().hash(&recipe).await else { return Ok(None) };
    let all = list(caller).await?;
    let same = all.iter().flat_map(|view| &view.versions).filter(|version| version.hash == Some(hash));
    let newest = same.max_by_key(|version| version.row.created_at);
    Ok(newest.map(|version| format!("{}:{}", version.row.name, version.row.version)))
}
