//! Named environments: made, versioned, built, compared, deleted; and what an instance holds, as the list of
//! one.

use atelier_domain::environment::PackagesDiff;
use atelier_engine::environments::BuildState;
use atelier_studio::environments::commands as environment;
use atelier_studio::environments::commands::{EnvironmentRequest, EnvironmentView, VersionView};
use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};

use crate::server::rest::asked::{Asked, Json, OptionalJson, Parameters};
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{When, created, json};

#[derive(Debug, Serialize)]
struct Listed {
    environments: Vec<View>,
}

#[derive(Debug, Serialize)]
struct View {
    name: String,
    owner: String,
    created: When,
    newest: u32,
    versions: Vec<Version>,
    /// The jobs that are not over and name it.
    jobs: Vec<String>,
    links: Links,
}

#[derive(Debug, Serialize)]
struct Links {
    #[serde(rename = "self")]
    own: String,
}

#[derive(Debug, Serialize)]
struct Version {
    version: u32,
    recipe: String,
    note: String,
    author: String,
    created: When,
    used: Option<When>,
    hash: Option<String>,
    state: &'static str,
    /// Where a build is, in words and numbers; why it failed.
    progress: Option<Progress>,
    failure: Option<FailureView>,
    packages: Vec<Package>,
    size_bytes: Option<u64>,
    has_kernel: Option<bool>,
}

#[derive(Debug, Serialize)]
struct Progress {
    phase: &'static str,
    packages: usize,
    /// Since when it is built; none while it waits.
    since: Option<When>,
    /// How many are built before it.
    before: usize,
}

#[derive(Debug, Serialize)]
struct FailureView {
    line: Option<usize>,
    why: String,
    help: String,
    printed: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Package {
    name: String,
    version: String,
}

impl Version {
    fn of(version: &VersionView) -> Self {
        let state = &version.state;
        let packages = state.packages().iter();
        let packages = packages.map(|(name, version)| Package { name: name.clone(), version: version.clone() });
        let (size_bytes, has_kernel) = match state {
            BuildState::Ready(built) => (Some(built.size), Some(built.has_kernel)),
            _ => (None, None),
        };
        Self {
            version: version.row.version,
            recipe: version.row.recipe.clone(),
            note: version.row.note.clone(),
            author: version.row.author_name.clone(),
            created: When(version.row.created_at),
            used: version.row.used_at.map(When),
            hash: version.hash.map(|hash| hash.to_string()),
            state: state.key(),
            progress: match state {
                BuildState::Building { phase, packages, since } => {
                    Some(Progress { phase: phase.key(), packages: *packages, since: Some(When(*since)), before: 0 })
                }
                BuildState::Waiting(before) => {
                    Some(Progress { phase: "waiting", packages: 0, since: None, before: *before })
                }
                _ => None,
            },
            failure: match state {
                BuildState::Failed { failure, .. } => Some(FailureView {
                    line: failure.line,
                    why: failure.why.clone(),
                    help: failure.help.clone(),
                    printed: failure.printed.clone(),
                }),
                _ => None,
            },
            packages: packages.collect(),
            size_bytes,
            has_kernel,
        }
    }
}

impl View {
    fn of(view: &EnvironmentView) -> Self {
        Self {
            name: view.row.name.to_string(),
            owner: view.row.owner_name.clone(),
            created: When(view.row.created_at),
            newest: view.versions.first().map_or(0, |version| version.row.version),
            versions: view.versions.iter().map(Version::of).collect(),
            jobs: view.jobs.iter().map(|(job, _)| job.to_string()).collect(),
            links: Links { own: path(view.row.name.as_str()) },
        }
    }
}

fn path(name: &str) -> String {
    format!("{}/v1/environments/{name}", crate::server::rest::ROOT)
}

/// `GET /environments`, by name.
pub async fn list(asked: Asked, parameters: Parameters) -> Answered {
    parameters.none_left(&[])?;
    let found = environment::list(&asked.caller).await?;
    Ok(json(StatusCode::OK, &Listed { environments: found.iter().map(View::of).collect() }))
}

/// `POST /environments`.
pub async fn create(asked: Asked, Json(request): Json<EnvironmentRequest>) -> Answered {
    let (name, _) = environment::create(&asked.caller, &request).await?;
    let view = environment::find(&asked.caller, name.as_str()).await?;
    Ok(created(&path(name.as_str()), &View::of(&view)))
}

/// `GET /environments/{name}`.
pub async fn show(asked: Asked, Path(name): Path<String>, parameters: Parameters) -> Answered {
    parameters.none_left(&[])?;
    Ok(json(StatusCode::OK, &View::of(&environment::find(&asked.caller, &name).await?)))
}

/// Why, for the history.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Why {
    why: String,
}

/// `DELETE /environments/{name}`.
pub async fn delete(asked: Asked, Path(name): Path<String>, OptionalJson(why): OptionalJson<Why>) -> Answered {
    environment::delete(&asked.caller, &name, &why.why).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `POST /environments/{name}/versions`. The same list and note as the newest make no other one.
pub async fn add_version(asked: Asked, Path(name): Path<String>, Json(request): Json<EnvironmentRequest>) -> Answered {
    if !request.name.is_empty() && !request.name.eq_ignore_ascii_case(&name) {
        return Err(Refusal::field("name", "The name stands in the address; leave it out, or say the same."));
    }
    let (name, version) = environment::add_version(&asked.caller, &name, &request).await?;
    let view = environment::find(&asked.caller, name.as_str()).await?;
    let shown = view.version(Some(version)).ok_or_else(|| Refusal::not_found("version"))?;
    Ok(created(&format!("{}/versions/{version}", path(name.as_str())), &Version::of(shown)))
}

async fn find(asked: &Asked, name: &str, version: &str) -> Answered<VersionView> {
    let view = environment::find(&asked.caller, name).await?;
    let number = version.parse().map_err(|_| Refusal::not_found("version"))?;
    view.version(Some(number)).cloned().ok_or_else(|| Refusal::not_found("version"))
}

/// `GET /environments/{name}/versions/{version}`.
pub async fn show_version(
    asked: Asked,
    Path((name, version)): Path<(String, String)>,
    parameters: Parameters,
) -> Answered {
    parameters.none_left(&[])?;
    Ok(json(StatusCode::OK, &Version::of(&find(&asked, &name, &version).await?)))
}

/// `POST /environments/{name}/versions/{version}/build`.
pub async fn build(
    asked: Asked,
    Path((name, version)): Path<(String, String)>,
    OptionalJson(why): OptionalJson<Why>,
) -> Answered {
    let number = find(&asked, &name, &version).await?.row.version;
    environment::build(&asked.caller, &name, Some(number), &why.why).await?;
    Ok(json(StatusCode::ACCEPTED, &Version::of(&find(&asked, &name, &version).await?)))
}

/// `GET /environments/{name}/versions/{version}/log`, as text.
pub async fn log(asked: Asked, Path((name, version)): Path<(String, String)>, parameters: Parameters) -> Answered {
    parameters.none_left(&[])?;
    let found = find(&asked, &name, &version).await?;
    let text = environment::log(&asked.caller, &found).await.ok_or_else(|| Refusal::not_found("build log"))?;
    let mut response = Response::new(text.into());
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

#[derive(Debug, Serialize)]
struct DiffView {
    before: String,
    after: String,
    /// Whether installed packages are compared; else what is listed, since one of the two is not built.
    is_built: bool,
    #[serde(flatten)]
    diff: PackagesDiff,
}

/// `GET /environments/compare?before=churn:2&after=churn:3`.
pub async fn compare(asked: Asked, mut parameters: Parameters) -> Answered {
    let mut text = |name: &str| parameters.read(name, |text| Some(text.to_owned()), "an environment such as churn:3");
    let (before, after) = (text("before")?.unwrap_or_default(), text("after")?.unwrap_or_default());
    parameters.none_left(&["before", "after"])?;
    let environment::Compared { before, after, is_built, diff } =
        environment::compare(&asked.caller, &before, &after).await?;
    Ok(json(StatusCode::OK, &DiffView { before, after, is_built, diff }))
}

/// `GET /instances/{name}/freeze`: what its owner has installed, as the list of an environment.
pub async fn freeze(asked: Asked, Path(name): Path<String>, parameters: Parameters) -> Answered {
    parameters.none_left(&[])?;
    Ok(json(StatusCode::OK, &environment::freeze(&asked.caller, &name).await?))
}
