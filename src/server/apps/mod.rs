//! Applications at their own addresses.
//!
//! Notebook servers run people's code, so their pages must be strangers to the portal: another origin, other
//! cookies. A request is told apart by its host before anything else looks at it ([`split`]), and nothing
//! falls back from one to the other.

mod access;
mod activity;
mod codes;
mod connection;
mod enter;
mod headers;
pub mod host;
mod pages;
mod pool;
mod ports;
mod proxy;
mod read_only;
mod same_origin;
mod terminal;
mod typing;
mod visits;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http_body::Body as _;

pub use crate::server::apps::access::{Access, access_of, tend_shares};
pub use crate::server::apps::codes::Codes;
pub use crate::server::apps::enter::{ENTER, open};
use crate::server::apps::host::Address;
pub use crate::server::apps::host::Place;
pub use crate::server::apps::pool::Pool;
pub use crate::server::apps::ports::{AppPort, PortRange, Ports};
pub use crate::server::apps::visits::{AppVisits, keep};
use crate::server::request;
use crate::server::state::AppState;

/// How many requests applications got. Looked up once: this is on the way of each of them.
static REQUESTS: std::sync::OnceLock<metrics::Counter> = std::sync::OnceLock::new();

/// The application that this product serves itself.
pub const TERMINAL: &str = "terminal";

/// The name of the cookie at an application's address. Cookies do not tell ports apart, so their names do.
fn cookie_name(is_secure: bool, port: Option<AppPort>) -> String {
    let name = if is_secure { "__Host-atelier-app" } else { "atelier_app" };
    port.map_or_else(|| name.to_owned(), |port| format!("{name}-{}", port.0))
}

/// Sends a request to the portal or to an application, by its host alone, or by its port alone where
/// applications have ports.
pub async fn split(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let address = match (request.extensions().get::<AppPort>(), state.app_ports()) {
        (Some(port), Some(ports)) => ports.place(port.0).map_or(Address::Nobody, Address::App),
        (Some(_), None) => Address::Nobody,
        (None, Some(_)) => Address::Portal,
        (None, None) => host::read(host::of(request.uri(), request.headers()), &state.config().apps_domain),
    };
    match address {
        Address::Portal => next.run(request).await,
        Address::App(place) => {
            REQUESTS.get_or_init(|| metrics::counter!("atelier_app_requests_total")).increment(1);
            serve(&state, place, request).await
        }
        Address::Nobody => (StatusCode::MISDIRECTED_REQUEST, "There is nothing at this address.").into_response(),
    }
}

async fn serve(state: &AppState, place: Place, mut request: Request) -> Response {
    let path = request.uri().path();
    if path == ENTER {
        return enter::redeem(state, &place, request).await;
    }
    let origin = origin(state, host::of(request.uri(), request.headers()));
    if let Err(why) = same_origin::check(request.method(), request.headers(), &origin) {
        tracing::info!(%place, why, "a request to an application was refused");
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    let cookie = cookie_name(state.config().is_secure(), request.extensions().get().copied());
    let secret = request::cookie(request.headers(), &cookie).unwrap_or_default();
    let found = state.app_visits().find(state, &secret, &place).await;
    if let Some(visit) = &found {
        crate::server::connections::known(&request, visit.user.as_str());
    }
    let Some(visit) = found else {
        return turned_away(state, &place, &request);
    };
    if visit.node.is_none() && is_navigation(request.method(), request.headers()) {
        // Whoever opens what sleeps is asked whether to wake it.
        return turned_away(state, &place, &request);
    }
    // The terminal is our own page, and drops by itself what somebody types who may only look.
    if visit.access.is_read_only() && place.app != TERMINAL {
        let (method, has_body) = (request.method().clone(), !request.body().is_end_stream());
        if let Err(why) = read_only::check(&method, request.headers_mut(), has_body) {
            return (StatusCode::FORBIDDEN, why).into_response();
        }
    }
    if place.app == TERMINAL {
        return terminal::serve(state, &visit, &place, request).await;
    }
    proxy::pass_on(state, &visit, &place, request).await
}

/// Who is not let in and came by a link goes to the portal, which lets in whom it knows; what a page does by
/// itself is refused.
fn turned_away(state: &AppState, place: &Place, request: &Request) -> Response {
    if !is_navigation(request.method(), request.headers()) {
        let text = "You are signed out here, or this is not yours. Open the application from Atelier again.";
        return (StatusCode::UNAUTHORIZED, text).into_response();
    }
    let here = request.uri().path_and_query().and_then(|path| crate::server::local_path::parse(path.as_str()));
    let way =
        atelier_domain::paths::open_app(&place.workspace, &place.instance, &place.app, here.as_deref().unwrap_or("/"));
    let portal = portal(state, host::of(request.uri(), request.headers()));
    pages::go(&format!("{portal}{way}"))
}

fn is_navigation(method: &Method, headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    *method == Method::GET
        && !headers.contains_key(header::UPGRADE)
        && match text("sec-fetch-mode") {
            Some(mode) => mode == "navigate",
            None => text("accept").is_some_and(|accept| accept.contains("text/html")),
        }
}

/// The origin of a host as browsers write it.
fn origin(state: &AppState, host: &str) -> String {
    let scheme = if state.config().is_secure() { "https" } else { "http" };
    format!("{scheme}://{}", host.to_ascii_lowercase())
}

/// Where the portal is, seen from an application's address.
fn portal(state: &AppState, host: &str) -> String {
    if state.config().public_url.is_some() {
        return state.config().address();
    }
    if state.app_ports().is_some() {
        return origin(state, &format!("{}:{}", host::without_port(host), state.config().listen.port()));
    }
    let port = host.rsplit_once(':').map(|(_, port)| format!(":{port}")).unwrap_or_default();
    origin(state, &format!("{}{port}", state.config().apps_domain))
}

/// Where an application is, seen from a page of the portal at `host`.
pub fn address(state: &AppState, host: &str, place: &Place) -> String {
    let public_url = state.config().public_url.as_ref();
    if let Some(ports) = state.app_ports() {
        let host = public_url.and_then(|url| url.host_str()).unwrap_or_else(|| host::without_port(host));
        return origin(state, &format!("{host}:{}", ports.of(place)));
    }
    let port = match public_url {
        Some(url) => url.port().map(|port| format!(":{port}")),
        None => {
            host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map(|(_, port)| format!(":{port}"))
        }
    };
    origin(state, &format!("{place}.{}{}", state.config().apps_domain, port.unwrap_or_default()))
}
