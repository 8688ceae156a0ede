//! How far tokens of instances and of clusters' jobs reach, over the API.

use atelier_domain::text::{Problem, shortened};
use atelier_domain::workload::Scope;
use atelier_studio::caller::Caller;
use atelier_studio::clock::rfc3339;
use atelier_studio::token_scope::{Noun, TokenScope, set_token_scope, token_scope};
use axum::extract::Path;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::error::AppError;
use crate::server::rest::asked::{Asked, Json, Parameters};
use crate::server::rest::problem::Answered;
use crate::server::rest::view::json;

#[derive(Debug, Serialize)]
struct ScopeView {
    scope: Scope,
    /// Since when it is `all`.
    since: Option<String>,
}

impl From<TokenScope> for ScopeView {
    fn from(found: TokenScope) -> Self {
        Self { scope: found.scope, since: found.since.map(rfc3339) }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// `own` or `all`.
    scope: String,
}

async fn show(asked: &Asked, noun: Noun, name: &str, parameters: Parameters) -> Answered {
    parameters.none_left(&[])?;
    shown(&asked.caller, noun, name).await
}

async fn shown(caller: &Caller, noun: Noun, name: &str) -> Answered {
    Ok(json(StatusCode::OK, &ScopeView::from(token_scope(caller, noun, name).await?)))
}

async fn set(asked: &Asked, noun: Noun, name: &str, wanted: &Wanted) -> Answered {
    let scope = Scope::from_key(&wanted.scope).ok_or_else(|| {
        let typed = shortened(&wanted.scope);
        AppError::invalid(Problem::new("scope", format!("The scope is “own” or “all”, not “{typed}”.")))
    })?;
    set_token_scope(&asked.caller, noun, name, scope).await?;
    shown(&asked.caller, noun, name).await
}

/// `GET /instances/{name}/token-scope`.
pub async fn of_instance(asked: Asked, Path(name): Path<String>, parameters: Parameters) -> Answered {
    show(&asked, Noun::Instance, &name, parameters).await
}

/// `GET /clusters/{name}/token-scope`.
pub async fn of_cluster(asked: Asked, Path(name): Path<String>, parameters: Parameters) -> Answered {
    show(&asked, Noun::Cluster, &name, parameters).await
}

/// `PUT /instances/{name}/token-scope`: by its owner.
pub async fn set_instance(asked: Asked, Path(name): Path<String>, Json(wanted): Json<Wanted>) -> Answered {
    set(&asked, Noun::Instance, &name, &wanted).await
}

/// `PUT /clusters/{name}/token-scope`: by its owner.
pub async fn set_cluster(asked: Asked, Path(name): Path<String>, Json(wanted): Json<Wanted>) -> Answered {
    set(&asked, Noun::Cluster, &name, &wanted).await
}
