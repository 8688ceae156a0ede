//! Prices for forms while one types: the same piece of HTML that the form's page shows, for the fields in the query.

use atelier_studio::caller::Caller;
use atelier_studio::clusters::quote::{Quoted, quote_new_cluster, quote_scaling};
use atelier_studio::jobs::quote::quote_job;
use atelier_studio::jobs::typed::Values;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse as _, Response};
use leptos::prelude::{Owner, RenderHtml as _};

use crate::clusters::pages::price;
use crate::error::AppError;
use crate::server::state::AppState;
use crate::server::{caller, downloads};

/// The price of a job.
pub async fn job(State(state): State<AppState>, request: Request) -> Response {
    answer(state, request, async |caller, values| quote_job(caller, &values).await).await
}

/// The price of a cluster that is to be made, or to scale otherwise.
pub async fn cluster(State(state): State<AppState>, request: Request) -> Response {
    answer(state, request, async |caller, values| {
        let text = |field: &str| values.get(field).and_then(|all| all.first()).map_or("", String::as_str);
        let scale = [text("min"), text("max"), text("warm")];
        match text("cluster") {
            "" => quote_new_cluster(caller, text("size"), scale).await,
            name => quote_scaling(caller, name, scale).await,
        }
    })
    .await
}

async fn answer(
    state: AppState,
    request: Request,
    quote: impl AsyncFnOnce(&Caller, Values) -> Result<Quoted, AppError>,
) -> Response {
    let request_id = downloads::request_id(&request);
    let mut values = Values::new();
    let query = request.uri().query().unwrap_or_default();
    for (field, value) in url::form_urlencoded::parse(query.as_bytes()) {
        values.entry(field.into_owned()).or_default().push(value.into_owned());
    }
    let (parts, _) = request.into_parts();
    let quoted = match caller::of(&state, &parts) {
        Ok(caller) => quote(&caller, values).await,
        Err(error) => Err(error),
    };
    match quoted {
        Ok(quoted) => Html(Owner::new().with(|| price::part(&quoted).to_html())).into_response(),
        Err(error) => downloads::refused(&error, StatusCode::NOT_FOUND, &request_id),
    }
}
