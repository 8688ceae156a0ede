//! The REST API, `/api/v1`: the same commands and the same rights as the portal, for programs.
//!
//! Who asks is known by a bearer token alone. Cookies are not looked at, so a foreign page cannot do anything
//! with them and no origin needs to be checked; there is no session either. Every refusal is a problem in
//! JSON.

pub mod asked;
pub mod people;
pub mod problem;
pub mod view;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use atelier_domain::compute::JobId;
use atelier_studio::caller::Actor;
use atelier_studio::tokens::NotLetIn;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::MethodRouter;
use futures::FutureExt as _;

use crate::server::downloads::request_id;
use crate::server::request::panic_text;
use crate::server::rest::problem::{Answered, Refusal};
use crate::server::state::AppState;

/// Addresses under [`ROOT`] and what answers there.
pub type Routes = Vec<(&'static str, MethodRouter<AppState>)>;

/// Where the API lives.
pub const ROOT: &str = "/api";

/// Builds the API, to be nested under [`ROOT`].
pub fn build(state: &AppState, routes: Routes) -> Router<AppState> {
    let mut router = Router::new();
    for (path, route) in routes {
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
    let id = request_id(&request);
    let given = bearer(&request);
    let job = request.headers().get(atelier_studio::workloads::JOB).and_then(|said| JobId::parse(said.to_str().ok()?));
    let response = match enter(&state, given, job, &id).await {
        Ok(actor) => {
            crate::server::connections::known(&request, actor.person.id.as_str());
            request.extensions_mut().insert(actor);
            match AssertUnwindSafe(next.run(request)).catch_unwind().await {
                Ok(response) => response,
                Err(panic) => {
                    tracing::error!(panic = panic_text(&*panic), "a request of the API panicked");
                    broken(&id).into_response()
                }
            }
        }
        Err(refusal) => refusal.into_response(),
    };
    finished(response, &id)
}

/// Writes a refusal out. What axum itself refuses (an address that is not text, say) has a status and no
/// words of ours.
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

/// What could not be read: because the database is away, or because something is wrong.
fn not_read(error: &atelier_engine::store::Error, id: &str) -> Refusal {
    if error.is_away() { crate::error::AppError::database_away().into() } else { broken(id) }
}

async fn enter(state: &AppState, given: Option<String>, job: Option<JobId>, id: &str) -> Answered<Arc<Actor>> {
    let refused = |code: &str, detail: String| Refusal::new(StatusCode::UNAUTHORIZED, code, detail);
    let Some(given) = given else {
        let detail =
            "Send a personal token with the header Authorization: Bearer atl_…; you make one on your profile page.";
        return Err(refused("token.missing", detail.into()));
    };
    if atelier_studio::workloads::is_one(&given) {
        return match state.workloads().enter(state, &given, job).await {
            Ok(Ok(actor)) => Ok(actor),
            Ok(Err(atelier_studio::workloads::NotLetIn::Strange)) => Err(refused(
                "workload.unknown",
                "This server has not made such a token of an instance or a job.".into(),
            )),
            Ok(Err(atelier_studio::workloads::NotLetIn::Judged(why))) => Err(refused(why.code(), why.to_string())),
            Ok(Err(atelier_studio::workloads::NotLetIn::TemporaryPassword)) => Err(temporary_password()),
            Err(error) => {
                tracing::error!(%error, "who acts through an instance or a job could not be looked up");
                Err(not_read(&error, id))
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
            Err(not_read(&error, id))
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
