//! From the portal into an application: a code that counts once, and the cookie that it becomes.

use std::sync::Arc;

use atelier_engine::clock;
use atelier_engine::store::AppSession;
use atelier_studio::caller::Actor;
use atelier_studio::secret;
use axum::Extension;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;

use crate::server::apps::access::access_of;
use crate::server::apps::codes::Ticket;
use crate::server::apps::host::Place;
use crate::server::apps::{address, cookie_name, host, pages};
use crate::server::guard::NoSuchWorkspace;
use crate::server::local_path;
use crate::server::state::AppState;

/// Where codes are shown, at an application's address.
pub const ENTER: &str = "/_atelier/enter";

/// What the portal's address says.
#[derive(Debug, Deserialize)]
pub struct Wanted {
    /// Where to in the application.
    next: Option<String>,
}

/// From the portal: the owner of a running instance, or somebody with whom the application is shared, goes on
/// to the application's own address, with a code. Everything else is told by the page that leads here.
pub async fn open(
    State(state): State<AppState>,
    Extension(actor): Extension<Arc<Actor>>,
    strange: Option<Extension<NoSuchWorkspace>>,
    Path((workspace, instance, app)): Path<(String, String, String)>,
    Query(wanted): Query<Wanted>,
    request: Request,
) -> Response {
    let next = wanted.next.as_deref().and_then(local_path::parse).unwrap_or_else(|| "/".to_owned());
    // The page knows how to say what is missing, also that it is nobody's business.
    let page = pages::go(&atelier_domain::paths::open_app(&workspace, &instance, &app, &next));
    let (name, place_of) = (instance.clone(), actor.workspace.id.clone());
    let found = state.engine().ask(move |world| {
        let one = world.instances().find(|one| one.workspace == place_of && one.name.as_str() == name)?;
        Some((one.id, one.owner.clone()))
    });
    let (None, Ok(Some((id, owner)))) = (strange, found.await) else { return page };
    if !crate::server::apps::visits::is_offered(&state, id, &app).await {
        return page;
    }
    match access_of(&state, &actor.person, &owner, id, &app).await {
        Ok(Some(_)) => {}
        Ok(None) => return page,
        Err(error) => {
            tracing::error!(%error, "whether an application is shared could not be read");
            return page;
        }
    }
    let place = Place { app, instance, workspace };
    let at = address(&state, host::of(request.uri(), request.headers()), &place);
    let ticket = Ticket { user: actor.person.id.clone(), session: actor.session.clone(), place, instance: id };
    let code = state.app_codes().issue(ticket);
    let query: String = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("code", &code)
        .append_pair("next", &next)
        .finish();
    pages::go(&format!("{at}{ENTER}?{query}"))
}

#[derive(Debug, Deserialize)]
struct Shown {
    code: String,
    next: Option<String>,
}

/// At the application's address: the code becomes a cookie.
pub async fn redeem(state: &AppState, place: &Place, request: Request) -> Response {
    let shown = Query::<Shown>::try_from_uri(request.uri()).ok().map(|query| query.0);
    let next = shown.as_ref().and_then(|shown| shown.next.as_deref()).and_then(local_path::parse);
    let next = next.unwrap_or_else(|| "/".to_owned());
    let ticket = shown.and_then(|shown| state.app_codes().redeem(&shown.code, place));
    let Some(ticket) = ticket else {
        // Gone back to, or too old: the portal makes another one for whom it knows.
        let way = atelier_domain::paths::open_app(&place.workspace, &place.instance, &place.app, &next);
        return pages::go(&format!(
            "{}{way}",
            crate::server::apps::portal(state, host::of(request.uri(), request.headers()))
        ));
    };
    let (given, hash) = secret::fresh();
    let session = AppSession {
        id: hash,
        session: ticket.session,
        user: ticket.user,
        instance: ticket.instance,
        app: place.app.clone(),
    };
    match state.store().create_app_session(&session, clock::now()).await {
        Ok(true) => {}
        Ok(false) => return (StatusCode::UNAUTHORIZED, "You have been signed out meanwhile.").into_response(),
        Err(error) => {
            tracing::error!(%error, "a session at an application could not be written");
            let text = "This could not be written down. Try again in a moment.";
            return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
        }
    }
    let is_secure = state.config().is_secure();
    let secure = if is_secure { "; Secure" } else { "" };
    let name = cookie_name(is_secure, request.extensions().get().copied());
    let cookie = format!("{name}={given}; Path=/; HttpOnly; SameSite=Lax{secure}");
    let mut answer = pages::go(&next);
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        answer.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    answer.headers_mut().insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    answer
}
