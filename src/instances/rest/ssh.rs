//! Keys for SSH, and the switch of each instance.

use atelier_engine::store::SshKey;
use atelier_studio::caller::Caller;
use atelier_studio::clock::rfc3339;
use atelier_studio::instances::commands::{Subject, find};
use atelier_studio::instances::ssh;
use axum::extract::Path;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::server::rest::asked::{Asked, Json, NoParameters};
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{json, listed, object, ok};

fn key(key: SshKey) -> impl Serialize + use<> {
    object! {
        id: key.id.to_string(),
        name: key.name,
        kind: key.kind,
        key: key.line,
        fingerprint: key.fingerprint,
        created: rfc3339(key.created_at),
        last_used: key.used_at.map(rfc3339),
    }
}

/// `GET /ssh-keys`: one's own.
pub async fn keys(asked: Asked, _: NoParameters) -> Answered {
    listed("keys", ssh::keys(&asked.caller).await?.into_iter().map(key))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewKey {
    key: String,
    name: String,
}

/// `POST /ssh-keys`.
pub async fn add_key(asked: Asked, Json(body): Json<NewKey>) -> Answered {
    let made = ssh::add_key(&asked.caller, &body.name, &body.key).await?;
    Ok(json(StatusCode::CREATED, &key(made)))
}

/// `DELETE /ssh-keys/{id}`.
pub async fn remove_key(asked: Asked, Path(id): Path<String>, _: NoParameters) -> Answered {
    let removed = ssh::remove_key(&asked.caller, &id).await?;
    ok(&json!({ "removed": removed }))
}

async fn view(caller: &Caller, subject: &Subject) -> Answered<impl Serialize + use<>> {
    let view = ssh::view(caller, subject).await?.ok_or_else(|| Refusal::not_found("instance of yours"))?;
    let name = subject.name.as_str();
    Ok(object! {
        on: view.since.is_some(),
        since: view.since.map(rfc3339),
        open_connections: view.open,
        // Null where the server takes no SSH connections.
        connect: view.directions.map(|to| object! {
            command: to.command(name),
            config: to.snippet(name),
            host: to.host,
            port: to.port,
            user: name.to_owned(),
            host_key: to.fingerprint,
            known_host: to.known_host,
        }),
    })
}

/// `GET /instances/{name}/ssh`: for its owner.
pub async fn show(asked: Asked, Path(name): Path<String>, _: NoParameters) -> Answered {
    let subject = find(&asked.caller, &name).await?;
    ok(&view(&asked.caller, &subject).await?)
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
    ok(&view(&asked.caller, &subject).await?)
}
