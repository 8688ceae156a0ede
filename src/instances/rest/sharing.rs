//! Sharing applications of instances over the API.

use atelier_domain::paths;
use atelier_engine::store::Person;
use atelier_studio::instances::sharing;
use atelier_studio::instances::sharing::{ShareRequest, ShareRow, SharedWithMe};
use axum::extract::Path;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::instances::rest::actions::time;
use crate::server::rest::asked::{Asked, Json, NoParameters};
use crate::server::rest::problem::Answered;
use crate::server::rest::view::{When, listed, object, ok};

fn who(person: Person) -> impl Serialize + use<> {
    object! { id: person.id.to_string(), name: person.name, email: person.email }
}

fn share(row: ShareRow) -> impl Serialize + use<> {
    object! {
        person: who(row.person),
        level: row.level,
        // What it opens right now; null if it opens nothing.
        opens: row.opens,
        meaning: row.opens.unwrap_or(row.level).meaning(&row.app),
        app: row.app,
        until: row.until.map(When),
        since: When(row.since),
        used_at: row.used_at.map(When),
    }
}

/// `GET /instances/{name}/shares`: for its owner.
pub async fn list(asked: Asked, Path(name): Path<String>, _: NoParameters) -> Answered {
    listed("shares", sharing::list(&asked.caller, &name).await?.into_iter().map(share))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wanted {
    /// An id, or an address.
    person: String,
    app: String,
    level: String,
    /// RFC 3339; null for no end.
    until: Option<String>,
}

/// `PUT /instances/{name}/shares`: shares an application, or changes how it is shared.
pub async fn put(asked: Asked, Path(name): Path<String>, Json(body): Json<Wanted>) -> Answered {
    let until = body.until.as_deref().map(time).transpose();
    let request = ShareRequest { person: body.person, app: body.app, level: body.level, until };
    let (_, row) = sharing::put(&asked.caller, &name, request).await?;
    ok(&share(row))
}

/// `DELETE /instances/{name}/shares/{app}/{person}`.
pub async fn revoke(asked: Asked, Path((name, app, person)): Path<(String, String, String)>) -> Answered {
    sharing::revoke(&asked.caller, &name, &app, &person).await?;
    ok(&json!({ "revoked": true }))
}

/// `GET /shared`: what others share with the caller.
pub async fn with_me(asked: Asked, _: NoParameters) -> Answered {
    let caller = &asked.caller;
    let (address, slug) = (caller.studio.settings().address.clone(), caller.actor()?.workspace.slug.clone());
    let rows = sharing::with_me(caller).await?.into_iter();
    listed(
        "shared",
        rows.map(|row| {
            let SharedWithMe { name, state, owner, app, level, until, since, .. } = row;
            object! {
                // For a browser in which its holder is signed in.
                open: format!("{address}{}", paths::open_app(&slug, &name, &app, "/")),
                instance: name,
                state: state.key(),
                owner: who(owner),
                meaning: level.meaning(&app),
                app: app,
                level: level,
                until: until.map(When),
                since: When(since),
            }
        }),
    )
}
