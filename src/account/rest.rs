//! Who asks.

use crate::server::rest::asked::{Asked, NoParameters};
use crate::server::rest::problem::Answered;
use crate::server::rest::view::{object, ok};

/// `GET /`.
pub async fn show(asked: Asked, _: NoParameters) -> Answered {
    let actor = asked.caller.actor()?;
    let (person, workspace) = (&actor.person, &actor.workspace);
    let path = |noun: &str| format!("/api/v1/{noun}");
    ok(&object! {
        version: env!("CARGO_PKG_VERSION"),
        person: object! {
            id: person.id.as_str(),
            name: &person.name,
            email: &person.email,
            roles: person.roles.iter().map(|role| role.key()).collect::<Vec<_>>(),
        },
        workspace: object! { id: workspace.id.as_str(), slug: &workspace.slug, name: &workspace.name },
        // Where a token of an instance or a job acts from: `instance desk`, `job-12`.
        from: actor.origin.as_ref().map(|origin| origin.name.as_str()),
        links: object! {
            sizes: path("sizes"), clusters: path("clusters"), nodes: path("nodes"), jobs: path("jobs"),
        },
    })
}
