//! Who gets as far as a page, a server function or a stream. Everything is refused unless it is on the list
//! here.
//!
//! In this order: a fresh server only has its set-up page; somebody signed out only has the sign-in page;
//! somebody with a temporary password only has the page that replaces it; and a workspace that is not theirs
//! does not exist.

use atelier_domain::account::AccountState;
use atelier_domain::paths;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Redirect, Response};
use tower_sessions::Session;

use crate::error::AppError;
use crate::server::actor::FindError;
use crate::server::downloads::request_id;
use crate::server::state::AppState;
use crate::server::{connections, local_path, plain_page};

/// What a signed-out person may reach. The walk-all test reads this list; it only ever shrinks or grows by a
/// decision.
pub const OPEN_TO_ALL: &[&str] = &[paths::SIGN_IN, "/fn/sign_in"];

/// What is reachable on a server without accounts, and only there.
pub const OPEN_FOR_SET_UP: &[&str] = &[paths::SET_UP, "/fn/set_up"];

/// What somebody with a temporary password may reach.
const OPEN_WITH_TEMPORARY_PASSWORD: &[&str] =
    &[paths::NEW_PASSWORD, "/fn/change_password", "/fn/sign_out", "/fn/set_theme"];

/// Lets a request through or sends it where it belongs.
pub async fn check(State(state): State<AppState>, session: Session, mut request: Request, next: Next) -> Response {
    let id = request_id(&request);
    let path = request.uri().path().to_owned();
    let has_people = match state.has_people().await {
        Ok(has_people) => has_people,
        Err(error) => return not_read(&FindError::Store(error), &id),
    };
    if !has_people {
        return match path.as_str() {
            path if OPEN_FOR_SET_UP.contains(&path) => next.run(request).await,
            _ => send_away(&request, paths::SET_UP, &AppError::SignedOut),
        };
    }
    let found = match state.actors().find(&state, &session).await {
        Ok(found) => found,
        Err(error) => return not_read(&error, &id),
    };
    let Some(actor) = found else {
        if OPEN_TO_ALL.contains(&path.as_str()) {
            return next.run(request).await;
        }
        let next_path =
            request.uri().path_and_query().and_then(|path| local_path::parse(path.as_str())).unwrap_or_default();
        return send_away(&request, &sign_in_with_return(&next_path), &AppError::SignedOut);
    };
    // What an open page does by itself keeps nobody "online" and no session alive.
    if !request.headers().contains_key("x-atelier-refresh") && !path.ends_with("/events") {
        state.presence().note(&actor.person.id, &actor.session, atelier_engine::clock::now());
    }
    let home = paths::home(&actor.workspace.slug);
    if OPEN_FOR_SET_UP.contains(&path.as_str()) || path == paths::SIGN_IN || path == "/" {
        return send_away(&request, &home, &AppError::not_found("page"));
    }
    let is_temporary = actor.person.state == AccountState::Waiting;
    if is_temporary && !OPEN_WITH_TEMPORARY_PASSWORD.contains(&path.as_str()) {
        let why = "Your password is a temporary one. Choose your own first.";
        return send_away(&request, paths::NEW_PASSWORD, &AppError::refused("account.temporary-password", why));
    }
    if !is_temporary && path == paths::NEW_PASSWORD {
        return send_away(&request, &home, &AppError::not_found("page"));
    }
    let named = path.strip_prefix("/w/").and_then(|rest| rest.split('/').next());
    if named.is_some_and(|slug| slug != actor.workspace.slug) {
        // A workspace of others does not exist for this person.
        request.extensions_mut().insert(NoSuchWorkspace);
    }
    connections::known(&request, actor.person.id.as_str());
    request.extensions_mut().insert(actor);
    next.run(request).await
}

/// Marks a request whose path names a workspace that is not the person's.
#[derive(Clone, Copy, Debug)]
pub struct NoSuchWorkspace;

/// The sign-in page that leads back to `next_path`.
pub fn sign_in_with_return(next_path: &str) -> String {
    if next_path.is_empty() || next_path == "/" || paths::is_function(next_path) {
        return paths::SIGN_IN.to_owned();
    }
    let query: String = url::form_urlencoded::Serializer::new(String::new()).append_pair("next", next_path).finish();
    format!("{}?{query}", paths::SIGN_IN)
}

/// A page is redirected; anything else gets the plain refusal.
fn send_away(request: &Request, path: &str, error: &AppError) -> Response {
    let wants_page = request
        .headers()
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .is_none_or(|accept| accept.contains("text/html") || accept == "*/*");
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_stream = request.uri().path().ends_with("/events");
    let is_form = paths::is_function(request.uri().path()) && wants_page;
    if (is_read && wants_page && !is_stream) || is_form {
        return Redirect::to(path).into_response();
    }
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::UNAUTHORIZED);
    (status, axum::Json(error.clone())).into_response()
}

fn not_read(error: &FindError, id: &str) -> Response {
    tracing::error!(%error, "the session could not be read");
    match error {
        FindError::Store(error) if error.is_away() => plain_page::away(id),
        _ => plain_page::broken(id),
    }
}
