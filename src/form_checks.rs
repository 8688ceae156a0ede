//! What forms of instances and schedules say while one types: the same pieces of HTML that their pages show, for the fields in
//! the query.

use atelier_domain::fields::Fields;
use atelier_studio::caller::Caller;
use atelier_studio::schedules::next::read_cron;
use atelier_studio::schedules::page::outlook;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse as _, Response};
use leptos::prelude::{AnyView, Owner, RenderHtml as _};

use crate::error::AppError;
use crate::instances::wizard::page_size::name_answer;
use crate::instances::wizard::page_summary::part as summary_part;
use crate::instances::wizard::steps::check_name;
use crate::instances::wizard::summary::quote;
use crate::schedules::pages::outlook::part as outlook_part;
use crate::schedules::pages::rules::cron_answer;
use crate::server::state::AppState;
use crate::server::{caller, downloads};

/// What an instance as it stands in the wizard would be and cost.
pub async fn instance(State(state): State<AppState>, request: Request) -> Response {
    answer(state, request, async |caller, fields| {
        let summary = quote(caller, &fields).await?;
        Ok(Box::new(move || summary_part(&summary)) as View)
    })
    .await
}

/// What the hours of an instance as they stand in the form come to.
pub async fn schedule(State(state): State<AppState>, request: Request) -> Response {
    answer(state, request, async |caller, fields| {
        let outlook = outlook(caller, fields.get("instance"), &fields).await?;
        Ok(Box::new(move || outlook_part(&outlook)) as View)
    })
    .await
}

/// Whether a name can be had.
pub async fn name(State(state): State<AppState>, request: Request) -> Response {
    answer(state, request, async |caller, fields| {
        let verdict = check_name(caller, fields.get("name")).await?;
        Ok(Box::new(move || name_answer(&verdict)) as View)
    })
    .await
}

/// What a cron expression says.
pub async fn cron(State(state): State<AppState>, request: Request) -> Response {
    answer(state, request, async |caller, fields| {
        let own = caller.actor()?.person.time_zone.clone();
        let zone = if fields.is_on("time_zone") { fields.get("time_zone") } else { &own };
        let reading = read_cron(fields.get("cron"), zone, atelier_engine::clock::now());
        Ok(Box::new(move || cron_answer(&reading, None)) as View)
    })
    .await
}

/// Made where there is an owner for it.
type View = Box<dyn FnOnce() -> AnyView + Send>;

async fn answer(
    state: AppState,
    request: Request,
    look: impl AsyncFnOnce(&Caller, Fields) -> Result<View, AppError>,
) -> Response {
    let request_id = downloads::request_id(&request);
    let query = request.uri().query().unwrap_or_default();
    let fields: Fields = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let (parts, _) = request.into_parts();
    let found = match caller::of(&state, &parts) {
        Ok(caller) => look(&caller, fields).await,
        Err(error) => Err(error),
    };
    match found {
        Ok(view) => Html(Owner::new().with(|| view().to_html())).into_response(),
        Err(error) => downloads::refused(&error, StatusCode::NOT_FOUND, &request_id),
    }
}
