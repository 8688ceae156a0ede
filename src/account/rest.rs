//! Who asks.

use axum::http::StatusCode;
use serde::Serialize;

use crate::server::rest::asked::{Asked, Parameters};
use crate::server::rest::problem::Answered;
use crate::server::rest::view::json;

#[derive(Debug, Serialize)]
struct MeView<'a> {
    version: &'static str,
    person: PersonView<'a>,
    workspace: WorkspaceView<'a>,
    /// Where a token of an instance or a job acts from: `instance desk`, `job-12`.
    from: Option<&'a str>,
    links: Links,
}

#[derive(Debug, Serialize)]
struct PersonView<'a> {
    id: &'a str,
    name: &'a str,
    email: &'a str,
    roles: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct WorkspaceView<'a> {
    id: &'a str,
    slug: &'a str,
    name: &'a str,
}

#[derive(Debug, Serialize)]
struct Links {
    sizes: &'static str,
    clusters: &'static str,
    nodes: &'static str,
    jobs: &'static str,
}

/// `GET /`.
pub async fn show(asked: Asked, parameters: Parameters) -> Answered {
    parameters.none_left(&[])?;
    let actor = asked.caller.actor()?;
    let (person, workspace) = (&actor.person, &actor.workspace);
    let view = MeView {
        version: env!("CARGO_PKG_VERSION"),
        person: PersonView {
            id: person.id.as_str(),
            name: &person.name,
            email: &person.email,
            roles: person.roles.iter().map(|role| role.key()).collect(),
        },
        workspace: WorkspaceView { id: workspace.id.as_str(), slug: &workspace.slug, name: &workspace.name },
        from: actor.origin.as_ref().map(|origin| origin.name.as_str()),
        links: Links {
            sizes: "/api/v1/sizes",
            clusters: "/api/v1/clusters",
            nodes: "/api/v1/nodes",
            jobs: "/api/v1/jobs",
        },
    };
    Ok(json(StatusCode::OK, &view))
}
