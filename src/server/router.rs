//! The routes, and the layers that every request passes.

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use leptos::prelude::provide_context;
use leptos_axum::{LeptosRoutes as _, ResponseOptions, generate_route_list};
use tower_sessions::SessionManagerLayer;
use tower_sessions::cookie::SameSite;

use super::session_store::StoredSessions;
use super::state::AppState;
use super::{assets, events, form_posts, guard, headers, health, origin, page, request};
use crate::app::{App, shell};

/// Routes that are neither pages nor server functions and need a session.
fn guarded_routes() -> [(&'static str, MethodRouter<AppState>); 1] {
    [("/w/{workspace}/events", get(events::stream))]
}

/// Routes that machines may ask without a session; `/metrics` has its own rule.
fn open_routes() -> [(&'static str, MethodRouter<AppState>); 3] {
    [("/healthz", get(health::healthz)), ("/readyz", get(health::readyz)), ("/metrics", get(health::metrics))]
}

/// The addresses of [`guarded_routes`], for the test that walks them all.
pub fn guarded_paths() -> Vec<&'static str> {
    guarded_routes().into_iter().map(|(path, _)| path).collect()
}

/// The addresses of [`open_routes`], for the test that walks them all.
pub fn open_paths() -> Vec<&'static str> {
    open_routes().into_iter().map(|(path, _)| path).collect()
}

/// The addresses of all pages, as the router knows them.
pub fn page_paths() -> Vec<String> {
    generate_route_list(App).iter().map(|route| route.path().to_owned()).collect()
}

/// Builds the whole service.
pub fn build(state: &AppState) -> Router {
    let routes = generate_route_list(App);
    let options = state.leptos_options().clone();
    let for_fallback = state.clone();
    let mut guarded = Router::new();
    for (path, route) in guarded_routes() {
        guarded = guarded.route(path, route);
    }
    let guarded = guarded
        .leptos_routes_with_context(state, routes, give_page_its_policy, {
            let options = options.clone();
            move || shell(options.clone())
        })
        .fallback(move |request: Request| {
            let state = for_fallback.clone();
            let options = options.clone();
            async move {
                let give_context = move || {
                    provide_context(state.clone());
                    give_page_its_policy();
                };
                leptos_axum::render_app_async_with_context(give_context, move || shell(options.clone()))(request).await
            }
        })
        .layer(middleware::from_fn_with_state(state.clone(), form_posts::translate))
        .layer(middleware::from_fn_with_state(state.clone(), page::prepare))
        .layer(middleware::from_fn_with_state(state.clone(), guard::check))
        .layer(sessions(state))
        .layer(middleware::from_fn_with_state(state.clone(), origin::check))
        .layer(DefaultBodyLimit::max(form_posts::MAX_FORM));
    let mut open = Router::new();
    for (path, route) in open_routes() {
        open = open.route(path, route);
    }
    open.merge(guarded)
        .layer(middleware::from_fn(files_first))
        .layer(middleware::from_fn(request::survive_panics))
        .layer(middleware::from_fn_with_state(state.clone(), headers::secure))
        .layer(middleware::from_fn_with_state(state.clone(), request::trace))
        .with_state(state.clone())
}

/// The session cookie: HTTP only, same site, tied to this very host under TLS.
fn sessions(state: &AppState) -> SessionManagerLayer<StoredSessions> {
    let is_secure = state.config().is_secure();
    let store = StoredSessions::new(state.store().clone(), state.presence().clone(), state.config().sessions);
    SessionManagerLayer::new(store)
        .with_name(session_cookie(is_secure))
        .with_secure(is_secure)
        .with_http_only(true)
        .with_same_site(SameSite::Lax)
        .with_path("/")
}

/// The name of the session cookie; the prefix makes browsers enforce Secure, the path and the host.
pub const fn session_cookie(is_secure: bool) -> &'static str {
    if is_secure { "__Host-atelier" } else { "atelier_session" }
}

/// Called by Leptos for each page and function, after it has made the nonce.
fn give_page_its_policy() {
    let nonce = leptos::nonce::use_nonce();
    let policy = headers::content_security_policy(nonce.as_deref());
    if let (Some(options), Ok(value)) =
        (leptos::prelude::use_context::<ResponseOptions>(), HeaderValue::from_str(&policy))
    {
        options.insert_header(header::CONTENT_SECURITY_POLICY, value);
    }
}

/// Files of the site need no session: they are the same for everybody.
async fn files_first(request: Request, next: Next) -> Response {
    match assets::respond(request.method(), request.uri().path(), request.headers()) {
        Some(response) => response,
        None => next.run(request).await,
    }
}
