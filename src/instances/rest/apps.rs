//! Applications that people add to their instances, over the API.

use atelier_domain::compute::app::{AppDraft, AppName};
use atelier_studio::instances::commands::find;
use atelier_studio::instances::custom_apps::{apps_of, put_app, remove_app, restart_app};
use axum::extract::Path;
use axum::http::StatusCode;
use serde_json::json;

use crate::server::rest::asked::{Asked, Json, NoParameters};
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::rest::view::{json, ok};

/// `GET /instances/{name}/apps/{app}`: what its owner added, in full.
pub async fn show(asked: Asked, Path((name, app)): Path<(String, String)>, _: NoParameters) -> Answered {
    let caller = &asked.caller;
    let subject = find(caller, &name).await?;
    let apps = apps_of(caller, &subject).await?;
    let found = apps.into_iter().find(|known| known.name.as_str() == app);
    let found = found.ok_or_else(|| Refusal::not_found("application"))?;
    ok(&found.draft)
}

/// `PUT /instances/{name}/apps/{app}`: adds it, or makes it that.
pub async fn put(asked: Asked, Path((name, app)): Path<(String, String)>, Json(mut draft): Json<AppDraft>) -> Answered {
    let caller = &asked.caller;
    let subject = find(caller, &name).await?;
    if !draft.name.is_empty() && draft.name != app {
        return Err(Refusal::field("name", "The name stands in the address; leave it out of the body."));
    }
    draft.name = app;
    let (kept, is_new) = put_app(caller, &subject, draft, None).await?;
    Ok(json(if is_new { StatusCode::CREATED } else { StatusCode::OK }, &kept.draft))
}

/// `DELETE /instances/{name}/apps/{app}`.
pub async fn delete(asked: Asked, Path((name, app)): Path<(String, String)>, _: NoParameters) -> Answered {
    let caller = &asked.caller;
    let subject = find(caller, &name).await?;
    let app = AppName::parse(&app).map_err(|_| Refusal::not_found("application"))?;
    remove_app(caller, &subject, &app).await?;
    ok(&json!({ "name": app, "state": "removed" }))
}

/// `POST /instances/{name}/apps/{app}/restart`.
pub async fn restart(asked: Asked, Path((name, app)): Path<(String, String)>) -> Answered {
    let caller = &asked.caller;
    let subject = find(caller, &name).await?;
    restart_app(caller, &subject, &app).await?;
    Ok(json(StatusCode::ACCEPTED, &json!({ "name": app, "state": "starting" })))
}
