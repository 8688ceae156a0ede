//! Named environments: made, versioned, built, compared, deleted; and what an instance holds, as the list of
//! one.

use atelier_engine::environments::BuildState;
use atelier_studio::environments::commands as environment;
use atelier_studio::environments::commands::{EnvironmentRequest, EnvironmentView, VersionView};
use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use serde_json::json;

use crate::server::rest::asked::{Asked, Json, NoParameters, OptionalJson, Parameters, Why};
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{When, created, json, listed, object, ok};

fn version(version: &VersionView) -> impl Serialize + use<> {
    let (state, row) = (&version.state, &version.row);
    let built = match state {
        BuildState::Ready(built) => Some(built),
        _ => None,
    };
    object! {
        version: row.version,
        recipe: row.recipe.clone(),
        note: row.note.clone(),
        author: row.author_name.clone(),
        created: When(row.created_at),
        used: row.used_at.map(When),
        hash: version.hash.map(|hash| hash.to_string()),
        state: state.key(),
        // Where a build is, in words and numbers: since when it is built, or how many are built before it.
        progress: match state {
            BuildState::Building { phase, packages, since } => Some((phase.key(), *packages, Some(*since), 0)),
            BuildState::Waiting(before) => Some(("waiting", 0, None, *before)),
            _ => None,
        }
        .map(|(phase, packages, since, before)| object! {
            phase: phase, packages: packages, since: since.map(When), before: before,
        }),
        failure: match state {
            BuildState::Failed { failure, .. } => Some(object! {
                line: failure.line,
                why: failure.why.clone(),
                help: failure.help.clone(),
                printed: failure.printed.clone(),
            }),
            _ => None,
        },
        packages: state
            .packages()
            .iter()
            .map(|(name, version)| object! { name: name.clone(), version: version.clone() })
            .collect::<Vec<_>>(),
        size_bytes: built.map(|built| built.size),
        has_kernel: built.map(|built| built.has_kernel),
    }
}

fn view(view: &EnvironmentView) -> impl Serialize + use<> {
    object! {
        name: view.row.name.to_string(),
        owner: view.row.owner_name.clone(),
        created: When(view.row.created_at),
        newest: view.versions.first().map_or(0, |version| version.row.version),
        versions: view.versions.iter().map(version).collect::<Vec<_>>(),
        // The jobs that are not over and name it.
        jobs: view.jobs.iter().map(|(job, _)| job.to_string()).collect::<Vec<_>>(),
        links: json!({ "self": path(view.row.name.as_str()) }),
    }
}

fn path(name: &str) -> String {
    format!("{}/v1/environments/{name}", crate::server::rest::ROOT)
}

/// `GET /environments`, by name.
pub async fn list(asked: Asked, _: NoParameters) -> Answered {
    let found = environment::list(&asked.caller).await?;
    listed("environments", found.iter().map(view))
}

/// `POST /environments`.
pub async fn create(asked: Asked, Json(request): Json<EnvironmentRequest>) -> Answered {
    let (name, _) = environment::create(&asked.caller, &request).await?;
    let found = environment::find(&asked.caller, name.as_str()).await?;
    Ok(created(&path(name.as_str()), &view(&found)))
}

/// `GET /environments/{name}`.
pub async fn show(asked: Asked, Path(name): Path<String>, _: NoParameters) -> Answered {
    ok(&view(&environment::find(&asked.caller, &name).await?))
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
    let (name, number) = environment::add_version(&asked.caller, &name, &request).await?;
    let found = environment::find(&asked.caller, name.as_str()).await?;
    let shown = found.version(Some(number)).ok_or_else(|| Refusal::not_found("version"))?;
    Ok(created(&format!("{}/versions/{number}", path(name.as_str())), &version(shown)))
}

async fn find(asked: &Asked, name: &str, version: &str) -> Answered<VersionView> {
    let view = environment::find(&asked.caller, name).await?;
    let number = version.parse().map_err(|_| Refusal::not_found("version"))?;
    view.version(Some(number)).cloned().ok_or_else(|| Refusal::not_found("version"))
}

/// `GET /environments/{name}/versions/{version}`.
pub async fn show_version(asked: Asked, Path((name, number)): Path<(String, String)>, _: NoParameters) -> Answered {
    ok(&version(&find(&asked, &name, &number).await?))
}

/// `POST /environments/{name}/versions/{version}/build`.
pub async fn build(
    asked: Asked,
    Path((name, number)): Path<(String, String)>,
    OptionalJson(why): OptionalJson<Why>,
) -> Answered {
    let wanted = find(&asked, &name, &number).await?.row.version;
    environment::build(&asked.caller, &name, Some(wanted), &why.why).await?;
    Ok(json(StatusCode::ACCEPTED, &version(&find(&asked, &name, &number).await?)))
}

/// `GET /environments/{name}/versions/{version}/log`, as text.
pub async fn log(asked: Asked, Path((name, number)): Path<(String, String)>, _: NoParameters) -> Answered {
    let found = find(&asked, &name, &number).await?;
    let text = environment::log(&asked.caller, &found).await.ok_or_else(|| Refusal::not_found("build log"))?;
    let mut response = Response::new(text.into());
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

/// `GET /environments/compare?before=churn:2&after=churn:3`.
pub async fn compare(asked: Asked, mut parameters: Parameters) -> Answered {
    let mut text = |name: &str| parameters.read(name, |text| Some(text.to_owned()), "an environment such as churn:3");
    let (before, after) = (text("before")?.unwrap_or_default(), text("after")?.unwrap_or_default());
    parameters.none_left(&["before", "after"])?;
    let environment::Compared { before, after, is_built, diff } =
        environment::compare(&asked.caller, &before, &after).await?;
    ok(&object! {
        before: before,
        after: after,
        // Whether installed packages are compared; else what is listed, since one of the two is not built.
        is_built: is_built,
        #[serde(flatten)]
        diff: diff,
    })
}

/// `GET /instances/{name}/freeze`: what its owner has installed, as the list of an environment.
pub async fn freeze(asked: Asked, Path(name): Path<String>, _: NoParameters) -> Answered {
    ok(&environment::freeze(&asked.caller, &name).await?)
}
