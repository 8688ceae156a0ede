//! Transfers of instances over the API.

use atelier_domain::compute::verb::Verb;
use atelier_domain::text::parse_why;
use atelier_studio::instances::transfer;
use axum::extract::Path;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::instances::rest::actions::shown;
use crate::server::rest::asked::{Asked, Json, NoParameters};
use crate::server::rest::problem::Answered;
use crate::server::rest::view::ok;

/// `GET /instances/{name}/transfer`: what giving it away would take out of its home.
pub async fn question(asked: Asked, Path(name): Path<String>, _: NoParameters) -> Answered {
    let (_, taken_out) = transfer::question(&asked.caller, &name).await?;
    ok(&json!({ "taken_out": taken_out }))
}

/// To whom, and why.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wanted {
    to: String,
    why: String,
}

/// `POST /instances/{name}/transfer`. On its way when this is answered.
pub async fn give(asked: Asked, Path(name): Path<String>, Json(body): Json<Wanted>) -> Answered {
    let why = parse_why(&body.why)?;
    let id = asked.id_for(Verb::TransferInstance.key(), &(&name, &body));
    let (subject, _, _) = transfer::transfer(&asked.caller, id, &name, &body.to, why).await?;
    shown(&asked.caller, Verb::TransferInstance, subject.id).await
}
