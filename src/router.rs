//! The routes, and the layers that every request passes.

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use leptos::prelude::provide_context;
use leptos_axum::{LeptosRoutes as _, ResponseOptions, generate_route_list};
use tower_sessions::SessionManagerLayer;
use tower_sessions::cookie::SameSite;

use crate::app::{App, shell};
use crate::clusters::http::preview_chart;
use crate::cost::http::csv as cost_file;
use crate::instances::http::{log_streams as instance_logs, scripts as instance_scripts};
use crate::instances::wizard::post as new_instance;
use crate::jobs::http::{log_streams as job_logs, outputs as job_outputs, submit};
use crate::server::session_store::StoredSessions;
use crate::server::state::AppState;
use crate::server::{
    agent_streams, agents, apps, assets, events, form_posts, guard, headers, health, origin, page, request, rest,
};

/// Routes that are neither pages nor server functions and need a session.
fn guarded_routes() -> [(&'static str, MethodRouter<AppState>); 20] {
    [
        ("/w/{workspace}/events", get(events::stream)),
        ("/w/{workspace}/cost.csv", get(cost_file::download)),
        ("/w/{workspace}/preview.svg", get(preview_chart::show)),
        // Reads its body piece by piece and has its own limits.
        ("/w/{workspace}/jobs/upload", post(submit::take).layer(DefaultBodyLimit::disable())),
        ("/w/{workspace}/jobs/{id}/log", get(job_logs::download)),
        ("/w/{workspace}/jobs/{id}/log/events", get(job_logs::follow)),
        ("/w/{workspace}/jobs/{id}/outputs/{attempt}/{rank}/{*path}", get(job_outputs::download)),
        // Scripts come with it, with their own limits.
        ("/w/{workspace}/compute/instances/new/step", post(new_instance::take).layer(DefaultBodyLimit::disable())),
        ("/w/{workspace}/files/download", get(crate::files::http::download::file)),
        ("/w/{workspace}/files/zip", get(crate::files::http::download::zip)),
        ("/w/{workspace}/files/image", get(crate::files::http::download::image)),
        ("/w/{workspace}/files/notebook-image", get(crate::files::http::download::notebook_image)),
        // These read their bodies piece by piece and have their own limits.
        ("/w/{workspace}/files/upload", post(crate::files::http::take::form).layer(DefaultBodyLimit::disable())),
        ("/w/{workspace}/files/save", post(crate::files::http::save::take).layer(DefaultBodyLimit::disable())),
        ("/w/{workspace}/files/uploads", post(crate::files::http::pieces::portal_begin)),
        (
            "/w/{workspace}/files/uploads/{id}",
            get(crate::files::http::pieces::portal_piece)
                .put(crate::files::http::pieces::portal_piece)
                .delete(crate::files::http::pieces::portal_piece)
                .layer(DefaultBodyLimit::disable()),
        ),
        ("/w/{workspace}/instances/{name}/enter/{app}", get(crate::server::apps::open)),
        ("/w/{workspace}/instances/{name}/logs/{log}", get(instance_logs::download)),
        ("/w/{workspace}/instances/{name}/logs/{log}/events", get(instance_logs::follow)),
        (
            "/w/{workspace}/instances/{name}/scripts",
            post(instance_scripts::take).layer(DefaultBodyLimit::max(instance_scripts::MOST)),
        ),
    ]
}

/// Routes that machines may ask without a session; `/metrics` has its own rule.
fn open_routes() -> [(&'static str, MethodRouter<AppState>); 5] {
    [
        ("/agent", get(agents::connect)),
        ("/agent/stream", get(agent_streams::connect)),
        ("/healthz", get(health::healthz)),
        ("/readyz", get(health::readyz)),
        ("/metrics", get(health::metrics)),
    ]
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
    let for_fallback = state.clone();
    let mut guarded = Router::new();
    for (path, route) in guarded_routes() {
        guarded = guarded.route(path, route);
    }
    let guarded = guarded
        .leptos_routes_with_context(state, routes, give_page_its_policy, shell)
        .fallback(move |request: Request| {
            let state = for_fallback.clone();
            async move {
                let give_context = move || {
                    provide_context(state.clone());
                    give_page_its_policy();
                };
                leptos_axum::render_app_async_with_context(give_context, shell)(request).await
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
    #[cfg(debug_assertions)]
    if crate::server::test_clock::is_wanted() {
        open = open.route(crate::server::test_clock::PATH, post(crate::server::test_clock::advance));
    }
    open.nest(rest::ROOT, rest::build(state, crate::rest::routes()))
        .merge(guarded)
        .layer(middleware::from_fn(files_first))
        .layer(middleware::from_fn(request::refuse_nul))
        .layer(middleware::from_fn(request::survive_panics))
        .layer(middleware::from_fn_with_state(state.clone(), headers::secure))
        .layer(middleware::from_fn_with_state(state.clone(), request::trace))
        // Last, so first: what goes to applications is counted by its own side, and nothing else looks at it.
        .layer(middleware::from_fn_with_state(state.clone(), apps::split))
        .with_state(state.clone())
}

/// The session cookie: HTTP only, same site, tied to this very host under TLS.
fn sessions(state: &AppState) -> SessionManagerLayer<StoredSessions> {
    let is_secure = state.config().is_secure();
    let (store, presence, actors) = (state.store().clone(), state.presence().clone(), state.actors().clone());
    let store = StoredSessions::new(store, presence, actors, state.config().sessions);
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
