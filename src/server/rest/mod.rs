//! The REST API, `/api/v1`: the same commands and the same rights as the portal, for programs.
//!
//! Who asks is known by a bearer token alone. Cookies are not looked at, so a foreign page cannot do anything with them and
//! no origin needs to be checked; there is no session either. Every refusal is a problem in JSON.

mod asked;
mod budgets;
mod cache;
mod cluster_view;
mod clusters;
mod cost;
mod environments;
mod files;
mod instance_actions;
mod instance_apps;
mod instance_view;
mod instances;
mod job_actions;
mod job_view;
mod jobs;
mod log;
mod me;
mod minimums;
mod nodes;
mod people;
mod problem;
mod quota;
mod schedules;
pub mod secret;
mod shares;
mod sharing;
mod sizes;
mod ssh;
mod transfer;
mod view;
mod what_if;
mod workload;
mod workspace_files;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use atelier_domain::compute::JobId;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, delete, get, post};
use futures::FutureExt as _;

pub use cache::TokenCache;
pub use workload::Workloads;

use self::cache::NotLetIn;
use self::problem::{Answered, Refusal};
use super::actor::Actor;
use super::request::RequestInfo;
use super::state::AppState;

/// Where the API lives.
pub const ROOT: &str = "/api";

/// Every address under [`ROOT`].
fn routes() -> Vec<(&'static str, MethodRouter<AppState>)> {
    vec![
        ("/v1", get(me::show)),
        ("/v1/", get(me::show)),
        ("/v1/sizes", get(sizes::list)),
        ("/v1/sizes/{name}", get(sizes::show).put(sizes::put).delete(sizes::delete)),
        ("/v1/clusters", get(clusters::list).post(clusters::create)),
        ("/v1/clusters/{name}", get(clusters::show).patch(clusters::change).delete(clusters::delete)),
        ("/v1/clusters/{name}/pause", post(clusters::pause)),
        ("/v1/clusters/{name}/resume", post(clusters::resume)),
        ("/v1/clusters/{name}/schedules", get(minimums::list).post(minimums::add)),
        ("/v1/clusters/{name}/schedules/{id}", get(minimums::show).patch(minimums::change).delete(minimums::delete)),
        ("/v1/clusters/{name}/nodes", get(nodes::of_cluster)),
        ("/v1/instances/{name}/schedules", get(schedules::list).post(schedules::add)),
        (
            "/v1/instances/{name}/schedules/{id}",
            get(schedules::show).patch(schedules::change).delete(schedules::delete),
        ),
        ("/v1/instances/{name}/schedules/{id}/skip", post(schedules::skip)),
        ("/v1/schedules/preview", post(schedules::preview)),
        ("/v1/instances", get(instances::list).post(instances::create)),
        ("/v1/instances/{name}", get(instances::show).patch(instances::change).delete(instances::delete)),
        ("/v1/instances/{name}/start", post(instance_actions::start)),
        ("/v1/instances/{name}/stop", post(instance_actions::stop)),
        ("/v1/instances/{name}/restart", post(instance_actions::restart)),
        ("/v1/instances/{name}/rebuild", post(instance_actions::rebuild)),
        ("/v1/instances/{name}/resize", post(instance_actions::resize)),
        ("/v1/instances/{name}/extend", post(instance_actions::extend)),
        ("/v1/instances/{name}/postpone", post(instance_actions::postpone)),
        ("/v1/instances/{name}/skip-stop", post(instance_actions::skip_stop)),
        ("/v1/instances/{name}/accept-scripts", post(instance_actions::accept)),
        ("/v1/instances/{name}/scripts", get(instance_actions::scripts).put(instance_actions::set_scripts)),
        ("/v1/instances/{name}/apps", get(instance_actions::apps)),
        (
            "/v1/instances/{name}/apps/{app}",
            get(instance_apps::show).put(instance_apps::put).delete(instance_apps::delete),
        ),
        ("/v1/instances/{name}/apps/{app}/restart", post(instance_apps::restart)),
        ("/v1/instances/{name}/freeze", get(environments::freeze)),
        ("/v1/environments", get(environments::list).post(environments::create)),
        ("/v1/environments/compare", get(environments::compare)),
        ("/v1/environments/{name}", get(environments::show).delete(environments::delete)),
        ("/v1/environments/{name}/versions", post(environments::add_version)),
        ("/v1/environments/{name}/versions/{version}", get(environments::show_version)),
        ("/v1/environments/{name}/versions/{version}/build", post(environments::build)),
        ("/v1/environments/{name}/versions/{version}/log", get(environments::log)),
        ("/v1/instances/{name}/ssh", get(ssh::show).put(ssh::switch)),
        ("/v1/ssh-keys", get(ssh::keys).post(ssh::add_key)),
        ("/v1/ssh-keys/{id}", axum::routing::delete(ssh::remove_key)),
        ("/v1/instances/{name}/transfer", get(transfer::question).post(transfer::give)),
        ("/v1/instances/{name}/shares", get(sharing::list).put(sharing::put)),
        ("/v1/instances/{name}/shares/{app}/{person}", axum::routing::delete(sharing::revoke)),
        ("/v1/shared", get(sharing::with_me)),
        ("/v1/budgets", get(budgets::list).put(budgets::put)),
        ("/v1/quota", get(quota::list).put(quota::put)),
        ("/v1/shares", get(shares::list).put(shares::put)),
        ("/v1/cost", get(cost::show)),
        ("/v1/nodes", get(nodes::list)),
        ("/v1/nodes/{id}", get(nodes::show)),
        ("/v1/nodes/{id}/evict", post(job_actions::evict_node)),
        // Reads its body piece by piece and has limits of its own.
        ("/v1/files", post(files::keep).layer(DefaultBodyLimit::disable()).get(workspace_files::list)),
        ("/v1/files/stat/{*path}", get(workspace_files::stat)),
        (
            "/v1/files/content/{*path}",
            get(workspace_files::get)
                .put(workspace_files::put)
                .delete(workspace_files::delete)
                .layer(DefaultBodyLimit::disable()),
        ),
        ("/v1/files/folders", post(workspace_files::make_folder)),
        ("/v1/files/move", post(workspace_files::shift)),
        ("/v1/files/zip/{*path}", get(workspace_files::zip)),
        ("/v1/files/uploads", post(workspace_files::begin)),
        (
            "/v1/files/uploads/{id}",
            get(workspace_files::look)
                .put(workspace_files::add)
                .delete(workspace_files::abandon)
                .layer(DefaultBodyLimit::disable()),
        ),
        ("/v1/files/usage", get(workspace_files::usage)),
        ("/v1/files/trash", get(workspace_files::trash).delete(workspace_files::empty_trash)),
        ("/v1/files/trash/{id}", delete(workspace_files::purge)),
        ("/v1/files/trash/{id}/restore", post(workspace_files::restore)),
        ("/v1/jobs", get(jobs::list).post(jobs::submit)),
        ("/v1/jobs/what-if", post(what_if::try_job)),
        ("/v1/jobs/{id}", get(jobs::show)),
        ("/v1/jobs/{id}/cancel", post(jobs::cancel)),
        ("/v1/jobs/{id}/hold", post(job_actions::hold)),
        ("/v1/jobs/{id}/release", post(job_actions::release)),
        ("/v1/jobs/{id}/move", post(job_actions::shift)),
        ("/v1/jobs/{id}/evict", post(job_actions::evict)),
        ("/v1/jobs/{id}/log", get(log::read)),
    ]
}

/// The addresses of the API, for the test that walks them all.
pub fn paths() -> Vec<String> {
    routes().into_iter().map(|(path, _)| format!("{ROOT}{path}")).collect()
}

/// Builds the API, to be nested under [`ROOT`].
pub fn build(state: &AppState) -> Router<AppState> {
    let mut router = Router::new();
    for (path, route) in routes() {
        router = router.route(path, route);
    }
    router
        .method_not_allowed_fallback(no_such_method)
        .fallback(no_such_address)
        .layer(middleware::from_fn_with_state(state.clone(), guard))
        .layer(DefaultBodyLimit::max(asked::MAX_BODY))
}

/// Lets in who has a token, and writes every refusal as a problem.
async fn guard(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let id = request.extensions().get::<RequestInfo>().map(|info| info.id.clone()).unwrap_or_default();
    let given = bearer(&request);
    let job = request.headers().get(workload::JOB).and_then(|said| JobId::parse(said.to_str().ok()?));
    let response = match enter(&state, given, job, &id).await {
        Ok(actor) => {
            request.extensions_mut().insert(actor);
            match AssertUnwindSafe(next.run(request)).catch_unwind().await {
                Ok(response) => response,
                Err(panic) => {
                    let text = panic.downcast_ref::<String>().map(String::as_str);
                    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                    tracing::error!(panic = text.unwrap_or("without a message"), "a request of the API panicked");
                    broken(&id).into_response()
                }
            }
        }
        Err(refusal) => refusal.into_response(),
    };
    finished(response, &id)
}

/// Writes a refusal out. What axum itself refuses (an address that is not text, say) has a status and no words of ours.
fn finished(mut response: Response, id: &str) -> Response {
    if let Some(refusal) = response.extensions_mut().remove::<Refusal>() {
        return refusal.written(id);
    }
    let status = response.status();
    let is_ours = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().ends_with(b"json"));
    if status.is_client_error() && !is_ours {
        return Refusal::new(status, "not-understood", "The request was not understood.").written(id);
    }
    if status.is_server_error() && !is_ours {
        return broken(id).written(id);
    }
    response
}

fn broken(id: &str) -> Refusal {
    crate::error::AppError::Internal { request: id.to_owned() }.into()
}

async fn enter(state: &AppState, given: Option<String>, job: Option<JobId>, id: &str) -> Answered<Arc<Actor>> {
    let refused = |code: &str, detail: String| Refusal::new(StatusCode::UNAUTHORIZED, code, detail);
    let Some(given) = given else {
        let detail =
            "Send a personal token with the header Authorization: Bearer atl_…; you make one on your profile page.";
        return Err(refused("token.missing", detail.into()));
    };
    if workload::is_one(&given) {
        return match state.workloads().enter(state, &given, job).await {
            Ok(Ok(actor)) => Ok(actor),
            Ok(Err(workload::NotLetIn::Strange)) => Err(refused(
                "workload.unknown",
                "This server has not made such a token of an instance or a job.".into(),
            )),
            Ok(Err(workload::NotLetIn::Judged(why))) => Err(refused(why.code(), why.to_string())),
            Ok(Err(workload::NotLetIn::TemporaryPassword)) => Err(temporary_password()),
            Err(error) => {
                tracing::error!(%error, "who acts through an instance or a job could not be looked up");
                Err(broken(id))
            }
        };
    }
    match state.tokens().enter(state, &given).await {
        Ok(Ok(actor)) => Ok(actor),
        Ok(Err(NotLetIn::Unknown)) => {
            let detail = "There is no such token: it was never made, was revoked, or its owner's account is disabled.";
            Err(refused("token.unknown", detail.into()))
        }
        Ok(Err(NotLetIn::Expired { name })) => Err(refused(
            "token.expired",
            format!("The token “{name}” has expired. Make a new one on your profile page."),
        )),
        Ok(Err(NotLetIn::TemporaryPassword)) => Err(temporary_password()),
        Err(error) => {
            tracing::error!(%error, "a token could not be looked up");
            Err(broken(id))
        }
    }
}

fn temporary_password() -> Refusal {
    let detail = "Your password is a temporary one. Sign in and choose your own first; then your tokens work.";
    Refusal::new(StatusCode::FORBIDDEN, "account.temporary-password", detail)
}

/// The secret of `Authorization: Bearer …`.
fn bearer(request: &Request) -> Option<String> {
    let said = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, secret) = said.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim().to_owned())
}

async fn no_such_address() -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        "not-found",
        "There is nothing at this address. docs/api.md lists what there is.",
    )
}

async fn no_such_method(method: Method) -> Refusal {
    let detail = format!("{method} is not possible at this address. docs/api.md lists what is.");
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "no-such-method", detail)
}
