//! Keys for SSH, and the switch of each instance.

use atelier_studio::caller::Caller;
use atelier_studio::clock::rfc3339;
use atelier_studio::instances::commands::{Subject, find};
use atelier_studio::instances::ssh;
use axum::extract::Path;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::server::rest::asked::{Asked, Json, Parameters};
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::json as answer;

#[derive(Debug, Serialize)]
struct KeyView {
    id: String,
    name: String,
    kind: String,
    key: String,
    fingerprint: String,
    created: String,
    last_used: Option<String>,
}

impl From<atelier_engine::store::SshKey> for KeyView {
    fn from(key: atelier_engine::store::SshKey) -> Self {
        Self {
            id: key.id.to_string(),
            name: key.name,
            kind: key.kind,
            key: key.line,
            fingerprint: key.fingerprint,
            created: rfc3339(key.created_at),
            last_used: key.used_at.map(rfc3339),
        }
    }
}

/// `GET /ssh-keys`: one's own.
pub async fn keys(asked: Asked, parameters: Parameters) -> Answered {
    parameters.none_left(&[])?;
    let keys: Vec<_> = ssh::keys(&asked.caller).await?.into_iter().map(KeyView::from).collect();
    Ok(answer(StatusCode::OK, &json!({ "keys": keys })))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewKey {
    key: String,
    name: String,
}

/// `POST /ssh-keys`.
pub async fn add_key(asked: Asked, Json(body): Json<NewKey>) -> Answered {
    let key = ssh::add_key(&asked.caller, &body.name, &body.key).await?;
    Ok(answer(StatusCode::CREATED, &KeyView::from(key)))
}

/// `DELETE /ssh-keys/{id}`.
pub async fn remove_key(asked: Asked, Path(id): Path<String>, parameters: Parameters) -> Answered {
    parameters.none_left(&[])?;
    let removed = ssh::remove_key(&asked.caller, &id).await?;
    Ok(answer(StatusCode::OK, &json!({ "removed": removed })))
}

#[derive(Debug, Serialize)]
struct SshView {
    on: bool,
    since: Option<String>,
    open_connections: u64,
    /// Null where the server takes no SSH connections.
    connect: Option<Connect>,
}

#[derive(Debug, Serialize)]
struct Connect {
    host: String,
    port: u16,
    user: String,
    command: String,
    config: String,
    host_key: String,
    known_host: String,
}

async fn view(caller: &Caller, subject: &Subject) -> Answered<SshView> {
    let view = ssh::view(caller, subject).await?.ok_or_else(|| Refusal::not_found("instance of yours"))?;
    let name = subject.name.as_str();
    Ok(SshView {
        on: view.since.is_some(),
        since: view.since.map(rfc3339),
        open_connections: view.open,
        connect: view.directions.map(|to| Connect {
            command: to.command(name),
            config: to.snippet(name),
            user: name.to_owned(),
            host: to.host,
            port: to.port,
            host_key: to.fingerprint,
            known_host: to.known_host,
        }),
    })
}

/// `GET /instances/{name}/ssh`: for its owner.
pub async fn show(asked: Asked, Path(name): Path<String>, parameters: Parameters) -> Answered {
    parameters.none_left(&[])?;
    let subject = find(&asked.caller, &name).await?;
    Ok(answer(StatusCode::OK, &view(&asked.caller, &subject).await?))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    on: bool,
}

/// `PUT /instances/{name}/ssh`: by its owner.
pub async fn switch(asked: Asked, Path(name): Path<String>, Json(body): Json<Switch>) -> Answered {
    let subject = find(&asked.caller, &name).await?;
    ssh::switch(&asked.caller, &subject, body.on).await?;
    Ok(answer(StatusCode::OK, &view(&asked.caller, &subject).await?))
}
