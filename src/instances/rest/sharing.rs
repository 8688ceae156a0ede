//! Sharing applications of instances over the API.

use atelier_domain::app_sharing::Level;
use atelier_domain::paths;
use atelier_engine::store::Person;
use atelier_studio::instances::sharing;
use atelier_studio::instances::sharing::{ShareRequest, ShareRow, SharedWithMe};
use axum::extract::Path;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::instances::rest::actions::time;
use crate::server::rest::asked::{Asked, Json, Parameters};
use crate::server::rest::problem::Answered;
use crate::server::rest::view::{When, json};

#[derive(Debug, Serialize)]
struct Who {
    id: String,
    name: String,
    email: String,
}

impl From<Person> for Who {
    fn from(person: Person) -> Self {
        Self { id: person.id.to_string(), name: person.name, email: person.email }
    }
}

#[derive(Debug, Serialize)]
struct ShareView {
    person: Who,
    app: String,
    level: Level,
    /// What it opens right now; null if it opens nothing.
    opens: Option<Level>,
    meaning: &'static str,
    until: Option<When>,
    since: When,
    used_at: Option<When>,
}

impl From<ShareRow> for ShareView {
    fn from(row: ShareRow) -> Self {
        Self {
            person: row.person.into(),
            level: row.level,
            opens: row.opens,
            meaning: row.opens.unwrap_or(row.level).meaning(&row.app),
            app: row.app,
            until: row.until.map(When),
            since: When(row.since),
            used_at: row.used_at.map(When),
        }
    }
}

/// `GET /instances/{name}/shares`: for its owner.
pub async fn list(asked: Asked, Path(name): Path<String>, parameters: Parameters) -> Answered {
    parameters.none_left(&[])?;
    let rows = sharing::list(&asked.caller, &name).await?;
    let shares: Vec<_> = rows.into_iter().map(ShareView::from).collect();
    Ok(json(StatusCode::OK, &serde_json::json!({ "shares": shares })))
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
    Ok(json(StatusCode::OK, &ShareView::from(row)))
}

/// `DELETE /instances/{name}/shares/{app}/{person}`.
pub async fn revoke(asked: Asked, Path((name, app, person)): Path<(String, String, String)>) -> Answered {
    sharing::revoke(&asked.caller, &name, &app, &person).await?;
    Ok(json(StatusCode::OK, &serde_json::json!({ "revoked": true })))
}

#[derive(Debug, Serialize)]
struct SharedView {
    instance: String,
    state: &'static str,
    owner: Who,
    app: String,
    level: Level,
    meaning: &'static str,
    until: Option<When>,
    since: When,
    /// For a browser in which its holder is signed in.
    open: String,
}

/// `GET /shared`: what others share with the caller.
pub async fn with_me(asked: Asked, parameters: Parameters) -> Answered {
    parameters.none_left(&[])?;
    let caller = &asked.caller;
    let (address, slug) = (caller.studio.settings().address.clone(), caller.actor()?.workspace.slug.clone());
    let rows = sharing::with_me(caller).await?.into_iter();
    let shared = rows.map(|row| {
        let SharedWithMe { name, state, owner, app, level, until, since, .. } = row;
        SharedView {
            open: format!("{address}{}", paths::open_app(&slug, &name, &app, "/")),
            state: state.key(),
            instance: name,
            owner: owner.into(),
            meaning: level.meaning(&app),
            app,
            level,
            until: until.map(When),
            since: When(since),
        }
    });
    Ok(json(StatusCode::OK, &serde_json::json!({ "shared": shared.collect::<Vec<_>>() })))
}
