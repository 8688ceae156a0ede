//! What a page can ask about its request. Plain functions over Leptos' context; call them before the first
//! `await`.

use std::sync::Arc;

use atelier_domain::access::{Action, Role, Whose};
use atelier_domain::account::Theme;
use atelier_studio::caller::{Actor, RequestInfo, helpers};
use atelier_studio::history::notices_of;
use atelier_studio::schedules::warnings::Warnings;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use leptos::prelude::{use_context, with_context};
use leptos_axum::ResponseOptions;

use crate::form::Flash;
use crate::server::downloads::request_id as id_of;
use crate::server::guard::NoSuchWorkspace;
use crate::server::plain_page;
use crate::server::request::{cookie, cookie_name};
use crate::server::state::AppState;
use crate::viewer::{Notice, Viewer, WorkspaceView};

/// The cookie that remembers the theme of somebody signed out.
pub const THEME_COOKIE: &str = "atelier_theme";
/// The cookie that remembers whether the navigation is folded.
pub const NAV_COOKIE: &str = "atelier_nav";

/// Who looks at the page; nobody on the set-up and sign-in pages.
pub fn viewer() -> Option<Viewer> {
    extension::<Arc<Viewer>>().map(|viewer| (*viewer).clone())
}

/// How the page looks: as its viewer chose, or as the cookie says while nobody is signed in.
pub fn theme() -> Theme {
    extension::<Arc<Viewer>>().map_or_else(cookie_theme, |viewer| viewer.theme)
}

/// What is to be shown once on this page.
pub fn flash() -> Option<Flash> {
    extension::<Arc<Flash>>().map(|flash| (*flash).clone())
}

fn cookie_theme() -> Theme {
    let is_secure = use_context::<AppState>().is_some_and(|state| state.config().is_secure());
    with_context(|parts: &Parts| cookie(&parts.headers, &cookie_name(THEME_COOKIE, is_secure)))
        .flatten()
        .and_then(|key| Theme::from_key(&key))
        .unwrap_or_default()
}

pub fn request_id() -> String {
    extension::<RequestInfo>().map(|info| info.id).unwrap_or_default()
}

/// Whether the path names a workspace that is not the viewer's.
pub fn is_foreign_workspace() -> bool {
    extension::<NoSuchWorkspace>().is_some()
}

/// The name of the only workspace, for the sign-in page.
pub fn workspace_name() -> Option<String> {
    use_context::<AppState>().and_then(|state| state.only_workspace_name())
}

pub fn set_status(status: u16) {
    if let (Some(options), Ok(status)) = (use_context::<ResponseOptions>(), StatusCode::from_u16(status)) {
        options.set_status(status);
    }
}

/// Sends the browser elsewhere on this site.
pub fn redirect(path: &str) {
    if let Some(path) = crate::server::local_path::parse(path) {
        leptos_axum::redirect(&path);
    }
}

/// Whether script fetches the page again to bring itself up to date.
pub fn is_refresh() -> bool {
    with_context(|parts: &Parts| parts.headers.contains_key("x-atelier-refresh")).unwrap_or_default()
}

/// The first value of a key in the query.
pub fn query(name: &str) -> Option<String> {
    query_all(name).into_iter().next()
}

/// Every value of a key in the query.
pub fn query_all(name: &str) -> Vec<String> {
    let read = |parts: &Parts| {
        url::form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes())
            .filter(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
            .collect()
    };
    with_context(read).unwrap_or_default()
}

/// In place: the parts hold every header and extension, and a page asks a dozen times.
fn extension<T: Clone + Send + Sync + 'static>() -> Option<T> {
    with_context(|parts: &Parts| parts.extensions.get::<T>().cloned()).flatten()
}

/// Prepares what pages ask for: the viewer and the flash. Server functions and streams pass by.
pub async fn prepare(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let is_page = matches!(*request.method(), Method::GET | Method::HEAD)
        && !atelier_domain::paths::is_function(request.uri().path())
        && !request.uri().path().ends_with("/events");
    if !is_page {
        return next.run(request).await;
    }
    let is_secure = state.config().is_secure();
    let flash_cookie = cookie_name(crate::server::flash::COOKIE, is_secure);
    if let Some(actor) = request.extensions().get::<Arc<Actor>>().cloned() {
        let nav_collapsed =
            cookie(request.headers(), &cookie_name(NAV_COOKIE, is_secure)).as_deref() == Some("collapsed");
        match make_viewer(&state, &actor, nav_collapsed).await {
            Ok(viewer) => drop(request.extensions_mut().insert(Arc::new(viewer))),
            Err(error) => {
                tracing::error!(%error, "the viewer could not be read");
                return plain_page::broken(&id_of(&request));
            }
        }
    }
    // A refresh or a prefetch is not a look: it must not use up what is shown once.
    let is_look = *request.method() == Method::GET
        && !request.headers().contains_key("x-atelier-refresh")
        && !request.headers().contains_key("sec-purpose");
    let flash = cookie(request.headers(), &flash_cookie)
        .filter(|_| is_look)
        .and_then(|id| state.flashes().take(&id, request.uri().path(), atelier_engine::clock::now()));
    let is_shown = flash.is_some();
    if let Some(flash) = flash {
        request.extensions_mut().insert(Arc::new(flash));
    }
    let mut response = next.run(request).await.into_response();
    if is_shown {
        let gone = format!("{flash_cookie}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax");
        if let Ok(value) = HeaderValue::from_str(&gone) {
            response.headers_mut().append(header::SET_COOKIE, value);
        }
    }
    response
}

async fn make_viewer(state: &AppState, actor: &Actor, nav_collapsed: bool) -> atelier_engine::store::Result<Viewer> {
    let person = &actor.person;
    let rights = person.rights();
    // The revision is taken before anything is read, so that a change in between is announced, not missed.
    let revision = state.live().newest();
    let helpers = if rights.roles().contains(&Role::Owner)
        || rights.check(Action::MemberWrite, atelier_domain::access::Whose::Others).is_ok()
    {
        Vec::new()
    } else {
        helpers(state, &actor.workspace.id).await?.to_vec()
    };
    let notices: Vec<Notice> = notices_of(state, person)
        .await?
        .iter()
        .map(|entry| Notice {
            text: format!("{} {}", entry.actor_name, entry.sentence),
            at: entry.at,
            is_new: entry.at > person.notices_read_at,
        })
        .collect();
    let unread = notices.iter().filter(|notice| notice.is_new).count();
    let warnings = if rights.may_at_all(Action::InstanceOperate) || rights.may_at_all(Action::CostRead) {
        let sees_all = rights.check(Action::CostRead, Whose::Others).is_ok();
        atelier_studio::schedules::warnings::warnings_of(state, &actor.workspace.id, &person.id, sees_all).await
    } else {
        Warnings::default()
    };
    Ok(Viewer {
        id: person.id.clone(),
        name: person.name.clone(),
        email: person.email.clone(),
        time_zone: person.time_zone.clone(),
        theme: person.theme,
        nav_collapsed,
        rights,
        workspace: WorkspaceView {
            id: actor.workspace.id.clone(),
            slug: actor.workspace.slug.clone(),
            name: actor.workspace.name.clone(),
        },
        helpers,
        revision,
        notices,
        unread: u32::try_from(unread).unwrap_or(u32::MAX),
        warnings: warnings.stops,
        budgets: warnings.budgets,
        now: atelier_engine::clock::now(),
    })
}
